package pipeline

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// catalogsOf finds the catalogs of releases whose chart is in this repository, at the revision that
// each release names. The layout's catalog is the chart's if it is below the chart's folder. Where
// the layout names none there, it is the chart's catalogs/<group>.yaml. Remote charts are fetched
// if there is a remote, except charts that are built into the program.
func (p *Pipelines) catalogsOf(st *fleetstate.State, s *snapshot.Snapshot, remote source.Remote) catalog.FindReleaseCatalog {
	hubs := map[string]*expand.Hub{}
	return func(hub, group string, source release.Source) *catalog.ReleaseCatalog {
		if source.Chart != "" {
			if remote == nil || charts.IsOwn(source.RepoURL, source.Chart, source.TargetRevision) {
				return nil
			}
			return p.chartCatalog(remote, source, group, st.Fleet.Layout)
		}
		catalogs := st.Fleet.Layout.Groups[group].Catalogs
		folder := strings.Trim(source.Path, "/")
		i := slices.IndexFunc(catalogs, func(file string) bool { return strings.HasPrefix(file, folder+"/") })
		if folder == "" || i < 0 && len(catalogs) > 0 && !st.Fleet.Layout.Groups[group].OwnCatalogs {
			return nil
		}
		isListed, file := i >= 0, path.Join(folder, "catalogs", group+".yaml")
		if isListed {
			file = catalogs[i]
		}
		if hubs[hub] == nil {
			hubs[hub] = p.hub(st, s, nil, hub, nil, nil)
		}
		switch other, missing := hubs[hub].At(source.RepoURL, source.TargetRevision, source.Path); {
		case other != nil && !isListed && other.File(file) == nil:
			return nil // the chart has no such catalog
		case missing != "":
			return &catalog.ReleaseCatalog{Name: source.TargetRevision, File: file, Missing: missing}
		case other == nil, other == s && isListed:
			return nil
		default:
			return p.releaseCatalog(other, file, source.TargetRevision, st.Fleet.Layout)
		}
	}
}

// releaseCatalog reads the catalog in a file of another revision, once for both states of a plan,
// which query it concurrently.
func (p *Pipelines) releaseCatalog(other *snapshot.Snapshot, file, name string, layout *fleet.Layout) *catalog.ReleaseCatalog {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := other.Revision + " " + file + " " + layout.Shape
	if p.catalogs[key] == nil {
		of := catalog.ReleaseCatalog{Name: name, File: file, Commit: other.Revision}
		p.catalogs[key] = catalog.ReadReleaseCatalog(of, other.File(file), fmt.Sprintf("%.7s:%s", other.Revision, file), layout.DuplicateKeys)
	}
	return p.catalogs[key]
}

// chartCatalog reads the catalog of a group in a remote chart; nil where it has none.
func (p *Pipelines) chartCatalog(remote source.Remote, of release.Source, group string, layout *fleet.Layout) *catalog.ReleaseCatalog {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := of.Chart + "-" + of.TargetRevision
	out := catalog.ReleaseCatalog{Name: name, File: path.Join(name, "catalogs", group+".yaml")}
	archive, err := remote.Chart(source.Reference{RepoURL: of.RepoURL, Name: of.Chart, Version: of.TargetRevision})
	var file *snapshot.File
	if err == nil {
		file, err = archive.File("catalogs/" + group + ".yaml")
	}
	key := strings.Join([]string{"chart", archive.Digest, out.File, layout.Shape}, " ")
	switch {
	case err != nil:
		out.Missing = err.Error()
		return &out
	case file == nil:
		return nil
	case p.catalogs[key] == nil: // Argosy's own format, whatever format the layout's catalogs have
		p.catalogs[key] = catalog.ReadReleaseCatalog(out, file, out.File, layout.DuplicateKeys)
	}
	return p.catalogs[key]
}

// missingCatalogs returns problems for catalogs of releases at revisions that cannot be read, where
// the catalog that replaces them has changed.
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

// unknownCatalogs returns problems for groups whose components the plan leaves out because only the
// catalog of their release's chart describes them. At one revision, that chart is neither in the
// repository nor built into this program.
func unknownCatalogs(p *plan.Plan, head *fleetstate.State, fetched bool) (out []problem.Problem) {
	hint := "; --render fetches it"
	if fetched {
		hint = ""
	}
	for _, h := range p.Hubs {
		for _, group := range slices.Sorted(maps.Keys(h.Unknown)) {
			list := head.Fleet.Versions.Of(group)
			found := problem.Problem{
				Reason: problem.NotExpanded, Severity: problem.Warning, Pos: list.Pos, Hub: h.Name, Subject: fmt.Sprintf("group %q of hub %q", group, h.Name),
				Found: fmt.Sprintf("the catalog of its release is not known here: whether %d of its Applications change is unknown%s", h.Unknown[group], hint),
			}
			for _, r := range list.Releases {
				if pos, ok := r.Places["version"]; ok {
					found.Pos = pos
				}
			}
			out = append(out, found)
		}
	}
	return out
}

// unlistedComponents warns of added, removed or changed components that their release's catalog
// lacks, on a hub whose roots are in another repository. The ApplicationSets of a release do not
// query for them; the roots may.
func unlistedComponents(p *plan.Plan, head *fleetstate.State, hub string) (out []problem.Problem) {
	for _, h := range p.Hubs {
		for _, group := range slices.Sorted(maps.Keys(h.Unlisted)) {
			if h.Name == hub {
				out = append(out, problem.Problem{
					Reason: problem.NotExpanded, Severity: problem.Warning, Pos: head.Fleet.Versions.Of(group).Pos, Hub: hub, Subject: fmt.Sprintf("group %q of hub %q", group, hub),
					Found: fmt.Sprintf("the catalog of its release lacks components, and the hub's roots are not in this repository: whether %d of its Applications change is unknown", h.Unlisted[group]),
				})
			}
		}
	}
	return out
}
