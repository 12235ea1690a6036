package overview

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/service/access"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
)

// maxListed bounds the clusters that are listed for one version.
const maxListed = 100

// Versions says which clusters have which version of a component.
type Versions struct {
	Component
	Selection
	// Clusters counts the clusters that the filter selects and for which a catalog knows the
	// component.
	Clusters int       `json:"clusters"`
	Versions []Version `json:"versions"`
	// Without are the clusters that do not run it, by the reason.
	Without []Version `json:"without"`
}

// Version is one version, or one reason not to have any.
type Version struct {
	Version string `json:"version,omitempty"`
	State   string `json:"state"`
	// Count counts the clusters; Clusters lists the first of them.
	Count    int       `json:"count"`
	Clusters []Cluster `json:"clusters"`
}

// Versions returns the versions of the component that the filter names.
func (x *Index) Versions(scope access.Reader, f Filter) (Versions, error) {
	s, c := x.Select(scope, f), Component{f.Group, f.Component}
	if !slices.Contains(s.seen, c) {
		var names []string
		for _, other := range s.seen {
			names = append(names, other.Group+"/"+other.Name)
		}
		name := f.Group + "/" + f.Component
		return Versions{}, problem.BadRequest("no component is called %q%s", name, problem.Hint(name, names))
	}
	out := Versions{Component: c, Selection: s, Versions: []Version{}, Without: []Version{}}
	for _, r := range s.rows {
		d, ok := r.of(c)
		if !ok {
			continue
		}
		out.Clusters++
		list, version := &out.Without, ""
		if d.state == explain.Deployed {
			list, version = &out.Versions, d.version()
		}
		v := counted(list, version, d.state)
		if v.Count++; len(v.Clusters) < maxListed {
			v.Clusters = append(v.Clusters, x.cluster(r.cluster))
		}
	}
	byCount := func(a, b Version) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Version, b.Version), strings.Compare(a.State, b.State))
	}
	slices.SortFunc(out.Versions, byCount)
	slices.SortFunc(out.Without, byCount)
	return out, nil
}

// counted finds a version in a list, or adds it.
func counted(list *[]Version, version, state string) *Version {
	i := slices.IndexFunc(*list, func(v Version) bool { return v.Version == version && v.State == state })
	if i < 0 {
		i = len(*list)
		*list = append(*list, Version{Version: version, State: state, Clusters: []Cluster{}})
	}
	return &(*list)[i]
}
