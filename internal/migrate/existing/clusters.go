package existing

import (
	"context"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/factsfile"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/hub"
)

// ReadClusters returns the clusters of Named, of the files of cluster Secrets and facts, and of a
// live hub; nil without any.
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
	for _, text := range s.Named {
		name, label, isLabelled := strings.Cut(text, "=")
		key, value, isPair := strings.Cut(label, "=")
		if name == "" || isLabelled && (!isPair || key == "") {
			return nil, problem.Usage([]string{"for example --cluster prod-eu=environment=prod"}, "--cluster %q; expected NAME or NAME=LABEL=VALUE", text)
		}
		i := slices.IndexFunc(out, func(c expand.Cluster) bool { return c.Name == name })
		if i < 0 {
			i, out = len(out), append(out, expand.Cluster{Name: name})
		}
		if isPair {
			if out[i].Labels == nil {
				out[i].Labels = map[string]string{}
			}
			out[i].Labels[key] = value
		}
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
