package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/mount"
	"github.com/argosy-hub/argosy/internal/fleetstate"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
)

// fetched stands for the repository that the layout names, instead of a folder.
const fetched = "git"

// complete returns a snapshot with Layout instead of its own layout, joined with its mounts.
func (r Repository) complete(ctx context.Context, s *snapshot.Snapshot, limits source.Limits, isBase bool) (*snapshot.Snapshot, error) {
	s, err := r.withLayout(s)
	if err != nil {
		return nil, err
	}
	return r.join(ctx, s, limits, isBase)
}

// join joins a fleet repository with its mounts, as far as the command was given them. If mounts
// have problems, the snapshot holds what is within their bounds.
func (r Repository) join(ctx context.Context, main *snapshot.Snapshot, limits source.Limits, isBase bool) (*snapshot.Snapshot, error) {
	given, err := named("--mount", r.Mounts)
	if err != nil {
		return nil, err
	}
	revisions, err := named("--mount-base", r.MountBase)
	if err != nil {
		return nil, err
	}
	for p := range revisions {
		if given[p] == "" || given[p] == fetched {
			return nil, problem.Usage([]string{fmt.Sprintf("give --mount %s=DIR, too", p)}, "--mount-base %s: there is no folder to read the revision from", p)
		}
	}
	mounts, err := fleetstate.MountsOf(nil, main)
	if err != nil || mounts == nil && len(given) == 0 {
		return main, nil //nolint:nilerr // whoever builds a state of it reports the error, with all others
	}
	for p := range given {
		if mounts.Find(p) == nil && !isBase && !r.base.has(p) { // a change may add and remove one
			return nil, problem.Usage([]string{"mounts: of fleet/layout.yaml has them"}, "--mount %s: the layout has no such mount", p)
		}
	}
	var parts []snapshot.Part
	var problems problem.List
	if mounts == nil {
		return main, nil
	}
	if !limits.Charts {
		limits.Files, limits.Bytes = source.MountLimits.Files, source.MountLimits.Bytes
	}
	for _, s := range mounts.Scopes {
		dir, ok := given[s.Path]
		if !ok {
			if r.Warn != nil {
				r.Warn(s.Unread(problem.Warning, "", fmt.Sprintf("--mount %s=DIR reads a checkout of it, --mount %s=git its branch", s.Path, s.Path)))
			}
			parts = append(parts, snapshot.NewPart(s.Path, s.URL, "", nil))
			continue
		}
		if dir == fetched && !r.base.names(s.URL) {
			return nil, problem.Usage([]string{fmt.Sprintf("--mount %s=%s fetches it, --mount %s=DIR reads a checkout", s.Path, s.URL, s.Path)},
				"--mount %s: %s is not fetched, because the base does not name it", s.Path, s.URL)
		}
		revision := ""
		if isBase {
			revision = revisions[s.Path]
		}
		read, err := readMount(ctx, s, dir, revision, limits)
		if err != nil {
			return nil, problem.Usage(nil, "--mount %s: %w", s.Path, err)
		}
		part, found := s.Read(read, snapshot.Part{})
		parts, problems = append(parts, part), append(problems, found...)
	}
	if len(problem.Errors(problems)) > 0 {
		return main.Join(parts), problem.FailureOf(problems, problem.MountBounds, problem.Pos{})
	}
	return main.Join(parts), nil
}

// baseMounts are the mounts of a plan's base; nil where nothing is compared.
type baseMounts struct{ table *mount.Table }

func newBaseMounts(s *snapshot.Snapshot) *baseMounts {
	table, err := fleetstate.MountsOf(nil, s.Main())
	if err != nil { // a base that cannot be read names nothing
		table = nil
	}
	return &baseMounts{table}
}

// names reports whether a repository may be fetched: a change names none of its own.
func (b *baseMounts) names(url string) bool {
	return b == nil || b.table != nil && slices.ContainsFunc(b.table.Scopes, func(s *mount.Scope) bool { return s.URL == url })
}

// has reports whether the base has a mount.
func (b *baseMounts) has(path string) bool { return b != nil && b.table.Find(path) != nil }

// readMount reads a mount's folder, or a revision of it. Of a repository, it reads the branch that
// the layout names.
func readMount(ctx context.Context, s *mount.Scope, dir, revision string, limits source.Limits) (*snapshot.Snapshot, error) {
	if revision != "" {
		return git.Revision(ctx, dir, revision, limits)
	}
	o := git.Options{Location: dir, Ref: s.Ref, Limits: limits}
	if dir == fetched {
		o.Location = s.URL
	}
	from, err := location.Open(o)
	if err != nil {
		return nil, err
	}
	read, err := from.Snapshot(ctx)
	if err := errors.Join(err, from.Close()); err != nil {
		return nil, err
	}
	return read, nil
}

// named reads the values PATH=VALUE of a flag.
func named(flag string, values []string) (map[string]string, error) {
	out, err := location.Named(flag, values)
	if err != nil {
		return nil, problem.Usage([]string{"for example " + flag + " apps/cart=../cart"}, "%w", err)
	}
	return out, nil
}
