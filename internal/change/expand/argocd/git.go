package argocd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argoproj/argo-cd/v2/applicationset/generators"
	"github.com/argoproj/argo-cd/v2/applicationset/services"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/checkout"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// gitGenerator is Argo CD's git generator, over snapshots instead of the repo-server.
type gitGenerator struct {
	generators.Generator
	from *repositories
}

func newGit(open expand.Open) gitGenerator {
	from := &repositories{open: open, folders: map[*snapshot.Snapshot][]string{}}
	return gitGenerator{generators.NewGitGenerator(from, ""), from}
}

// GenerateParams is Argo CD's but for two differences. It does not check signatures, which would
// need the project, and it leaves out the files that Argo CD leaves out from 3.0 on.
func (g gitGenerator) GenerateParams(of *v1alpha1.ApplicationSetGenerator, set *v1alpha1.ApplicationSet, c client.Client) ([]map[string]any, error) {
	unchecked := *set
	unchecked.Spec.Template.Spec.Project = "{{"
	from, own := *g.from, of.DeepCopy()
	own.Git.Files = slices.DeleteFunc(own.Git.Files, func(item v1alpha1.GitFileGeneratorItem) bool {
		pattern, out := strings.CutPrefix(item.Path, exclusion)
		if out {
			from.excluded = append(from.excluded, pattern)
		}
		return out
	})
	return generators.NewGitGenerator(&from, "").GenerateParams(own, &unchecked, c)
}

// exclusion begins the patterns of excluded files: v2 has no such field, and would read them.
const exclusion = "\x00"

// withExclusions returns a tree whose git generators mark the patterns that they exclude. It copies
// what changes.
func withExclusions(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withExclusions(v[i])
		}
		return out
	case manifest.Tree:
		out := maps.Clone(v)
		for _, key := range []string{"spec", "generators", "git", "matrix", "merge", "files"} {
			if below, ok := v[key]; ok {
				out[key] = withExclusions(below)
			}
		}
		if p, ok := v["path"].(string); ok && v["exclude"] == true {
			out["path"] = exclusion + p
		}
		return out
	}
	return v
}

// repositories is the part of the repo-server that the git generator queries.
//
// Source: argo-cd v2.14 and v3.2, reposerver/repository/repository.go, GetGitFiles and
// GetGitDirectories.
type repositories struct {
	open     expand.Open
	folders  map[*snapshot.Snapshot][]string
	excluded []string // patterns of files
}

var _ services.Repos = (*repositories)(nil)

// GetDirectories returns all folders but hidden ones, each before its contents.
func (r *repositories) GetDirectories(_ context.Context, repoURL, revision string, _, _ bool) ([]string, error) {
	s, err := r.open(repoURL, revision)
	if err != nil {
		return nil, err
	}
	known, ok := r.folders[s]
	if !ok {
		known = checkout.Folders(s)
		r.folders[s] = known
	}
	return known, nil
}

// GetFiles returns the files that match a Git pattern, as `git ls-files` matches by default: *
// matches slashes, too, and the name of a folder matches everything in it.
func (r *repositories) GetFiles(_ context.Context, repoURL, revision, pattern string, _, _ bool) (map[string][]byte, error) {
	s, err := r.open(repoURL, revision)
	if err != nil {
		return nil, err
	}
	only, err := checkout.Parse(pattern)
	if err != nil {
		return nil, err
	}
	var excluded []checkout.Pattern
	for _, pattern := range r.excluded {
		not, err := checkout.Parse(pattern)
		if err != nil {
			return nil, err
		}
		excluded = append(excluded, not)
	}
	out := map[string][]byte{}
	for p := range checkout.Files(s, only.Within()) {
		file := s.File(p)
		switch {
		case !only.Matches(p) || slices.ContainsFunc(excluded, func(not checkout.Pattern) bool { return not.Matches(p) }):
		case file == nil && slices.Contains(s.Beside().LinkedFolders, p):
			return nil, fmt.Errorf("%s is a symbolic link to a folder, and no file", p)
		case file == nil:
			return nil, source.NotFollowed{Text: fmt.Sprintf("generator git is not followed: it reads %s, whose name ends in neither .yaml, .yml nor .json", p)}
		case file.Err != nil:
			return nil, file.Err
		default:
			out[p] = file.Data
		}
	}
	return out, nil
}
