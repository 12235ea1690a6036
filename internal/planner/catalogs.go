package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/expand"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/release"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// catalogsOf finds the catalogs of releases whose chart is in this repository, at the revision that
// each release names. The layout's catalog is the chart's if it is below the chart's folder.
func (p *Pipelines) catalogsOf(st *fleetstate.State, s *snapshot.Snapshot) catalog.FindReleaseCatalog {
	hubs := map[string]*expand.Hub{}
	return func(hub, group string, source release.Source) *catalog.ReleaseCatalog {
		catalogs := st.Fleet.Layout.Groups[group].Catalogs
		i := slices.IndexFunc(catalogs, func(file string) bool { return strings.HasPrefix(file, strings.Trim(source.Path, "/")+"/") })
		if i < 0 {
			return nil
		}
		file := catalogs[i]
		if hubs[hub] == nil {
			hubs[hub] = p.hub(st, s, hub, nil, nil)
		}
		switch other, missing := hubs[hub].At(source.RepoURL, source.TargetRevision, source.Path); {
		case missing != "":
			return &catalog.ReleaseCatalog{Name: source.TargetRevision, File: file, Missing: missing}
		case other == nil, other == s:
			return nil
		default:
			return p.releaseCatalog(other, file, source.TargetRevision, st.Fleet.Layout)
		}
	}
}

// releaseCatalog reads the catalog in a file of another revision, once for both states of a plan,
// which ask for it side by side.
func (p *Pipelines) releaseCatalog(other *snapshot.Snapshot, file, name string, layout *fleet.Layout) *catalog.ReleaseCatalog {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := other.Revision + " " + file + " " + layout.Shape
	if p.catalogs[key] == nil {
		p.catalogs[key] = catalog.ReadReleaseCatalog(other, file, name, layout.Mapping, layout.DuplicateKeys)
	}
	return p.catalogs[key]
}

// missingCatalogs are the catalogs of releases at revisions that cannot be read, where the one that
// is taken for them has changed.
func missingCatalogs(head *fleetstate.State, before, after *snapshot.Snapshot, only string) []problem.Problem {
	var out []problem.Problem
	for at, catalogs := range head.ReleaseCatalogs().Missing() {
		if only != "" && at[0] != only {
			continue
		}
		for _, c := range catalogs {
			if was, is := before.File(c.File), after.File(c.File); was == nil || is == nil || was.Digest == is.Digest {
				continue
			}
			out = append(out, problem.Problem{
				Reason: problem.NotExpanded, Severity: problem.Warning, Pos: problem.Pos{File: c.File}, Hub: at[0], Subject: fmt.Sprintf("group %q of hub %q", at[1], at[0]),
				Found: fmt.Sprintf("%s at revision %s, for which this revision's is taken: %s", c.File, c.Name, c.Missing),
				Hints: []string{fmt.Sprintf("git fetch origin %[1]s:refs/remotes/origin/%[1]s, or take another revision for it: --revision %[1]s=REV", c.Name)},
			})
		}
	}
	return problem.Sorted(out)
}
