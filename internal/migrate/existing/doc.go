// Package existing reads the inputs of a fleet before Argosy: repositories of ApplicationSets and
// value files, cluster Secrets, and the objects of Argo CD, in files or on a live hub. The commands
// import, verify and adopt use it.
//
//	s := existing.Source{From: "../gitops", Clusters: []string{"clusters.yaml"}}
//	repositories, err := s.Open(ctx)
//	clusters, err := s.ReadClusters(ctx)
//
// It changes nothing that it reads, and reads no credentials.
package existing
