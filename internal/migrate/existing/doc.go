// Package existing reads what a fleet runs on before it is Argosy's: repositories of
// ApplicationSets and value files, cluster Secrets, and the objects of Argo CD, in files or on a
// live hub. Commands compare with it, or make a fleet of it. It changes nothing that it reads, and
// reads no credentials.
package existing
