package existing

import (
	"context"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/factsfile"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/hub"
)

// ReadClusters reads the clusters of files of Secrets, of facts, and of a live hub; nil if none are
// given.
func (s *Source) ReadClusters(ctx context.Context) ([]expand.Cluster, error) {
	files, err := readFiles("clusters", s.Clusters)
	if err != nil {
		return nil, err
	}
	var out []expand.Cluster
	for _, file := range files {
		found, err := Secrets(file)
		if err != nil {
			return nil, problem.Usage(nil, "--clusters: %w", err)
		}
		if len(found) == 0 {
			return nil, problem.Usage([]string{"kubectl get secrets -n argocd -l argocd.argoproj.io/secret-type=cluster -o yaml"}, "--clusters %s: no cluster Secret in it", file.Path)
		}
		out = append(out, found...)
	}
	if len(s.Facts) > 0 {
		known, err := factsfile.Read(s.Facts)
		if err != nil {
			return nil, err
		}
		out = append(out, FromFacts(known)...)
	}
	if s.Context == "" {
		return out, nil
	}
	var known facts.Set
	err = s.ask(ctx, func(ctx context.Context, o hub.Options) (err error) {
		known, _, err = hub.List(ctx, o, hub.Also{})
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, c := range FromFacts(known) {
		if !slices.ContainsFunc(out, func(given expand.Cluster) bool { return given.Name == c.Name }) {
			out = append(out, c) // a file says more of a cluster than the hub's metadata
		}
	}
	return out, nil
}
