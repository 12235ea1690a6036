package overview

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/service/access"

	"github.com/Masterminds/semver/v3"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
)

// maxOutliers bounds each list of Outliers.
const maxOutliers = 200

// Outliers holds what looks unintended.
type Outliers struct {
	Selection
	// Differing have another version than most clusters of their environment. TotalDiffering counts
	// all.
	Differing      []Differing `json:"differing"`
	TotalDiffering int         `json:"totalDiffering"`
	// Unpinned are versions that may change without a commit.
	Unpinned []Unpinned `json:"unpinned"`
	// Unused are the releases that no cluster has; only for readers who see all clusters.
	Unused []UnusedRelease `json:"unused"`
}

// Differing is a component whose version differs.
type Differing struct {
	Component
	Cluster Cluster `json:"cluster"`
	Version string  `json:"version"`
	Usual   string  `json:"usual"`
	// Have is how many of Total clusters of the environment have the usual version.
	Have  int `json:"have"`
	Total int `json:"total"`
}

// Unpinned is a version that is a range, a branch or empty.
type Unpinned struct {
	Component
	Version  string `json:"version"`
	RepoURL  string `json:"repoURL"`
	Clusters int    `json:"clusters"`
	// First is one of the clusters.
	First Cluster `json:"first"`
}

// UnusedRelease is a release that no cluster has.
type UnusedRelease struct {
	Group    string      `json:"group"`
	Release  string      `json:"release"`
	Position problem.Pos `json:"position"`
}

// Outliers returns the outliers among the clusters that a filter selects. The majority counts all
// visible clusters.
func (x *Index) Outliers(scope access.Reader, f Filter) Outliers {
	out := Outliers{Selection: x.Select(scope, f), Differing: []Differing{}, Unpinned: []Unpinned{}, Unused: []UnusedRelease{}}
	usual := majorities(out.all)
	at := map[Unpinned]int{}
	for _, name := range out.components {
		for _, r := range out.rows {
			d, ok := r.of(name)
			if !ok || d.state != explain.Deployed {
				continue
			}
			if m, ok := usual[place{r.cluster.Member.Environment, name}]; ok && m.version != d.version() {
				if out.TotalDiffering++; len(out.Differing) < maxOutliers {
					out.Differing = append(out.Differing, Differing{name, x.cluster(r.cluster), d.version(), m.version, m.count, m.total})
				}
			}
			if isPinned(d) {
				continue
			}
			key := Unpinned{Component: name, Version: d.chart.Version, RepoURL: d.chart.RepoURL}
			i, seen := at[key]
			if !seen {
				if len(out.Unpinned) == maxOutliers {
					continue
				}
				i, at[key] = len(out.Unpinned), len(out.Unpinned)
				key.First = x.cluster(r.cluster)
				out.Unpinned = append(out.Unpinned, key)
			}
			out.Unpinned[i].Clusters++
		}
	}
	if scope.SeesEverything() {
		out.Unused = x.unused(f)
	}
	return out
}

// isPinned reports whether a version always means the same. A folder without a version is in the
// fleet repository itself, at the revision that is served.
func isPinned(d desired) bool {
	v := d.chart.Version
	if v == "" {
		return d.chart.Path != ""
	}
	if _, err := semver.NewVersion(v); err == nil {
		return strings.Count(v, ".") >= 2
	}
	return isCommit(v)
}

// isCommit reports whether a version is the hash of a commit.
func isCommit(v string) bool { return len(v) == 40 && strings.Trim(v, "0123456789abcdef") == "" }

// unused returns the releases of the versions file that no cluster has.
func (x *Index) unused(f Filter) []UnusedRelease {
	used := map[[2]string]bool{}
	for _, r := range x.rows {
		for name, g := range r.cluster.Groups {
			used[[2]string{name, g.Release.Type}] = true
		}
	}
	out := []UnusedRelease{}
	for _, group := range x.st.Fleet.Layout.GroupNames() {
		if f.Group != "" && f.Group != group {
			continue
		}
		for _, r := range x.st.Fleet.Versions.Of(group).Releases {
			if r.Type != release.DefaultType && !used[[2]string{group, r.Type}] {
				out = append(out, UnusedRelease{group, r.Type, r.Pos})
			}
		}
	}
	slices.SortFunc(out, func(a, b UnusedRelease) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Release, b.Release))
	})
	return out
}
