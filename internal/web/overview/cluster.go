package overview

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/service/access"
)

// ClusterPage is one cluster with all its components.
type ClusterPage struct {
	Cluster
	Model      string `json:"model"`
	Engine     string `json:"engine"`
	Lifecycle  string `json:"lifecycle"`
	Registered bool   `json:"registered"`
	Revision   string `json:"revision"`
	// APIServer says whether the member's API server responds, as far as the service knows.
	APIServer string      `json:"apiServer"`
	File      problem.Pos `json:"position"`
	// Holds say why it, or a component of it, does not follow the newest commit.
	Holds      []hold.Hold     `json:"holds"`
	Components []ComponentCell `json:"components"`
	Labels     []explain.Label `json:"labels"`
}

// ComponentCell is a component of a cluster.
type ComponentCell struct {
	Component
	Cell
}

// Cluster describes a cluster. The error is a *problem.QueryError.
func (x *Index) Cluster(scope access.Reader, live Live, hub, name string) (ClusterPage, error) {
	c, err := access.FindCluster(x.st, scope, hub, name)
	if err != nil {
		return ClusterPage{}, err
	}
	m := c.Member
	out := ClusterPage{
		Cluster: x.cluster(c), Model: m.Model(), Engine: m.Engine, Lifecycle: c.Desired().Member.Lifecycle, Registered: c.Registered,
		Revision: x.st.ResolverOf(c).Snapshot.Revision, File: problem.Pos{File: c.Desired().Member.Pos.File}, APIServer: live.apiServer(c), Components: []ComponentCell{}, Labels: []explain.Label{},
	}
	if !m.Remote {
		out.Engine = x.st.HubEngine(m.Hub)
	}
	r := x.rowOf(c)
	usual := majorities(x.visible(scope))
	for _, name := range componentsOf(scope, []row{r}) {
		out.Components = append(out.Components, ComponentCell{name, x.cell(r, name, live, usual)})
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels.All)) {
		value := c.Labels.All[key]
		out.Labels = append(out.Labels, explain.Label{Key: key, Value: &value, Position: c.Labels.Origins[key], Live: c.Labels.Live(key)})
	}
	return out, nil
}

// apiServer says whether a cluster's API server responds. A server that has never responded may be
// one that only the engine can reach.
func (l Live) apiServer(c *fleetstate.Cluster) string {
	switch {
	case l.Unreachable == nil, !l.isOf(c):
		return "not probed by this service"
	case c.Facts.Address == "":
		return "not probed: the engine's word counts"
	}
	switch since, why := l.Unreachable(c.Member.Name); {
	case why == "":
		return "responds"
	case since.IsZero():
		return why + "; it has not responded to this service yet. If only the engine reaches it, set externalSecret.probe: false"
	default:
		return "does not respond: " + why
	}
}

// Why is the explanation of a component on a cluster, with its running state.
type Why struct {
	Explanation explain.Explanation `json:"explanation"`
	Running     Running             `json:"running"`
	Cluster     Cluster             `json:"cluster"`
	// Holds say why the component does not follow the newest commit there.
	Holds []hold.Hold `json:"holds"`
	// Changes are the newest commits that changed a value, by its path.
	Changes map[string]LastChange `json:"changes,omitempty"`
}

// Why explains a component. It returns the errors of explain.Component.
func (x *Index) Why(scope access.Reader, live Live, t explain.Target, path []string) (Why, error) {
	c, err := access.FindCluster(x.st, scope, t.Hub, t.Cluster)
	if err != nil {
		return Why{}, err
	}
	if !scope.SeesGroup(t.Group) {
		return Why{}, problem.BadRequest("group %q is outside of this token's scope", t.Group)
	}
	t.Hub = c.Member.Hub
	e, err := explain.Component(x.st, t, path)
	if err != nil {
		return Why{}, err
	}
	return Why{Explanation: e, Running: x.running(live, c, t.Group, t.Component), Cluster: x.cluster(c)}, nil
}
