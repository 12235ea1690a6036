package plan

import (
	"cmp"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Action is what happens to a cluster or an Application.
type Action string

// The actions.
const (
	Create Action = "create"
	Change Action = "change"
	Move   Action = "move"
	Remove Action = "remove"
)

// Cause is why something is removed.
type Cause = lifecycle.Reason

// The causes. Moved also means to another hub, or a release that no cluster is on any more.
const (
	Moved    = lifecycle.Moved
	Disabled = lifecycle.Disabled
	Retired  = lifecycle.Retired
	Lost     = lifecycle.Lost
)

// The revisions that a plan compares.
const (
	Base = "base"
	Head = "head"
)

// Plan is what changes between two states, hub by hub.
type Plan struct {
	Hubs []Hub
	// Broken are members that cannot be computed, of either state.
	Broken []Broken
}

// Broken is a member that cannot be computed at one of the revisions.
type Broken struct {
	Hub      string `json:"hub"`
	Cluster  string `json:"cluster"`
	Revision string `json:"revision" jsonschema:"enum=base,enum=head"`
	// Kept means that the member keeps its state of the base. Otherwise it is not in the plan.
	Kept bool `json:"kept"`
	// Problems say why, sorted; there is at least one.
	Problems []problem.Problem `json:"-"`
}

// Hub is what changes for the members of one hub.
type Hub struct {
	Name string `json:"name"`
	// Clusters lists the clusters that change, or whose Applications change, by name.
	Clusters []Cluster `json:"clusters"`
	// Objects are what else changes at the end of the pipeline, by kind and name; absent if there
	// are none.
	Objects []Object `json:"objects,omitempty"`
	// Secrets are what the clusters newly read and write by External Secrets, and no longer; absent
	// if there are none.
	Secrets []SecretAccess `json:"secrets,omitempty"`
	// Rollouts are the orders in which ApplicationSets with steps sync what changes; absent if
	// there are none.
	Rollouts []Rollout `json:"rollouts,omitempty"`
	// Rings are the orders in which rollout policies let clusters take what changes; absent if
	// there are none.
	Rings []Rings `json:"rings,omitempty"`
	// Holds are the manual holds that the change adds, changes or removes, or that keep something
	// of it from happening, by name, removed ones last; absent if there are none.
	Holds []Hold `json:"holds,omitempty"`
	// Waiting are draining members for which something would change, by name; absent if there are
	// none.
	Waiting []Waiting `json:"waiting,omitempty"`
	// NotRequested are Applications that neither revision's ApplicationSets query for: nothing
	// makes them, and they are not counted elsewhere. Absent if there are none.
	NotRequested []NotRequested `json:"notRequested,omitempty"`
	// Unknown counts by group the Applications that are unknown at one of the revisions, because
	// the catalog of their release is.
	Unknown map[string]int `json:"-"`
	// Unlisted counts by group the Applications that change, of components that the catalog of
	// their release lacks at both revisions. No ApplicationSet queries for them, and they are not
	// in Clusters.
	Unlisted map[string]int `json:"-"`
	// UnchangedClusters and UnchangedApplications count all others.
	UnchangedClusters     int `json:"-"`
	UnchangedApplications int `json:"-"`
	// IsOfFluxAlone means that they are Kustomizations and HelmReleases, without a fleet.
	IsOfFluxAlone bool `json:"-"`
}

// NotRequested counts the Applications of a view, and of a group where the view has groups, that no
// ApplicationSet of the hub queries for.
type NotRequested struct {
	View         query.View `json:"view" jsonschema:"enum=members,enum=releases,enum=components,enum=agents"`
	Group        string     `json:"group,omitempty"`
	Applications int        `json:"applications"`
}

// Waiting is a draining member that would change, but not before it is active again.
type Waiting struct {
	Name string `json:"name"`
	// Applications are how many of its Applications would change; Itself means that its labels,
	// annotations or settings would.
	Applications int  `json:"applications"`
	Itself       bool `json:"itself"`
	// Position is where the member file declares it draining.
	Position problem.Pos `json:"position,omitzero"`
}

// Cluster is what changes for one cluster.
type Cluster struct {
	Name        string `json:"name"`
	Tenant      string `json:"tenant,omitempty"`
	Environment string `json:"environment,omitempty"`
	// Action is absent when only Applications change.
	Action Action `json:"action,omitempty" jsonschema:"enum=create,enum=change,enum=remove"`
	// Cause is why the cluster is removed. Position is the line that retires it, the deleted file,
	// or the file to which it has moved.
	Cause    Cause       `json:"cause,omitempty" jsonschema:"enum=moved,enum=retired,enum=lost"`
	Position problem.Pos `json:"position,omitzero"`
	// Member is the member file, of a removed cluster the base's; absent for a hub without one.
	Member problem.Pos `json:"member,omitzero"`
	// Differences lists the changes of a changed cluster: settings of its member file, labels and
	// annotations.
	Differences []Difference `json:"differences"`
	// Applications lists the Applications that change, in order.
	Applications []Application `json:"applications"`
}

// Application is what changes for one Application. A removed Application is as at the base, any
// other as at the head.
type Application struct {
	Name   string `json:"name"`
	Action Action `json:"action" jsonschema:"enum=create,enum=change,enum=move,enum=remove"`
	// Cause is why the Application is removed.
	Cause Cause `json:"cause,omitempty" jsonschema:"enum=moved,enum=disabled,enum=retired,enum=lost"`
	// Deletion is what becomes of the workloads when the Application is removed: they are deleted
	// with it (cascade) or stay (orphan).
	Deletion string `json:"deletion,omitempty" jsonschema:"enum=cascade,enum=orphan"`
	// Detail says more about the cause, and Position is its place.
	Detail   string      `json:"detail,omitempty"`
	Position problem.Pos `json:"position,omitzero"`
	// View is the view that serves the Application.
	View      query.View `json:"view" jsonschema:"enum=members,enum=releases,enum=components,enum=agents"`
	Group     string     `json:"group,omitempty"`
	Component string     `json:"component,omitempty"`
	// Owner is whose engine owns the Application, "hub" or a member's name; of a removed one, whose
	// did.
	Owner   string `json:"owner"`
	Engine  string `json:"engine" jsonschema:"enum=argocd,enum=flux"`
	Release string `json:"release,omitempty"`
	// Chart is the component's chart and its version, or for Git the path and revision.
	Chart   string `json:"chart,omitempty"`
	Version string `json:"version,omitempty"`
	// Clusters lists the clusters on the release, for view releases.
	Clusters []string `json:"clusters,omitempty"`
	// WaitsFor are the components of the cluster, as "group/component", that change in the same
	// plan and that it waits for (dependsOn).
	WaitsFor []string `json:"waitsFor,omitempty"`
	// HeldBy names the manual hold that keeps the Application as it is: the change does not happen
	// on merge.
	HeldBy string `json:"heldBy,omitempty"`
	// RenamedFrom and RenamedTo name the other Application of a rename: the same chart of the same
	// group.
	RenamedFrom string `json:"renamedFrom,omitempty"`
	RenamedTo   string `json:"renamedTo,omitempty"`
	// Differences lists the changes of a changed or moved Application. A registration that differs
	// only in the labels and annotations that it writes lists none, because the cluster does.
	Differences []Difference `json:"differences"`

	chart     catalog.Chart
	dependsOn []string
}

// newApplication returns an Application of a plan with an action.
func newApplication(a inventory.Application, action Action) Application {
	return Application{
		Name: a.Name, Action: action, View: a.View, Group: a.Group, Component: a.Component,
		Owner: a.Owner, Engine: a.Engine, Release: a.Release, chart: a.Chart, dependsOn: a.DependsOn,
		Chart: cmp.Or(a.Chart.Name, a.Chart.Path), Version: a.Chart.Version, Clusters: a.Clusters,
		Differences: []Difference{},
	}
}

// Kind is what a Difference is about.
type Kind string

// The kinds.
const (
	Setting    Kind = "setting"    // of the member file, the catalog entry or the release
	Label      Kind = "label"      // of the cluster
	Annotation Kind = "annotation" // of the cluster
	Value      Kind = "value"      // of the chart's values
	Field      Kind = "field"      // of a rendered object
)

// Difference is one thing that is not as it was.
type Difference struct {
	Kind Kind `json:"kind" jsonschema:"enum=setting,enum=label,enum=annotation,enum=value,enum=field"`
	// Name is the setting's, label's or annotation's name, or the path of the value
	// (hierarchy.FormatPath).
	Name string `json:"name"`
	// Old and New are absent where there is nothing; null is a value.
	Old *Side `json:"old,omitempty"`
	New *Side `json:"new,omitempty"`
}

// Side is a value and the place that sets it, if that is known.
type Side struct {
	Value    any         `json:"value"`
	Position problem.Pos `json:"position,omitzero"`
}
