package query

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/labels"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// View is a kind of query that the plugin responds to.
type View string

// The views.
const (
	Members    View = "members"
	Releases   View = "releases"
	Components View = "components"
	Agents     View = "agents"
	Grants     View = "grants"
)

// Views are all views, sorted.
var Views = []string{string(Agents), string(Components), string(Grants), string(Members), string(Releases)}

// Query is what an ApplicationSet asks; its fields are the plugin's input.parameters.
type Query struct {
	View View
	// Hub is required here; the server fills its own in.
	Hub string
	// Group is required for Releases and Components.
	Group string
	// Component restricts Components to one.
	Component string
	// Release restricts Components to the clusters on one release of the group.
	Release string
	// Base is a catalog entry as encoding/json decodes it with UseNumber; nil for the layout's
	// catalog.
	Base map[string]any
	// Selector restricts the clusters by their labels.
	Selector any
	// Owner is whose engine queries: "hub" (also when empty), or a member's name.
	Owner string
	// ApplicationSet is the name of the requesting ApplicationSet, which is not a parameter; empty
	// when it is not known.
	ApplicationSet string
}

// Parse reads input.parameters (a JSON object); an absent hub is defaultHub. The error is a
// *problem.QueryError of kind BadRequest.
func Parse(parameters []byte, defaultHub string) (Query, error) {
	dec := json.NewDecoder(bytes.NewReader(parameters))
	dec.UseNumber()
	var raw map[string]any
	if err := dec.Decode(&raw); err != nil {
		return Query{}, problem.BadRequest("input.parameters: expected an object")
	}
	r := Query{}
	text := map[string]*string{"view": (*string)(&r.View), "hub": &r.Hub, "group": &r.Group, "component": &r.Component, "release": &r.Release, "owner": &r.Owner}
	known := []string{"view", "hub", "group", "component", "release", "base", "selector", "owner"}
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		v, to := raw[key], text[key]
		s, isText := v.(string)
		m, isObject := v.(map[string]any)
		switch {
		case v == nil:
		case key == "selector":
			r.Selector = v
		case key == "base" && !isObject:
			return Query{}, problem.BadRequest("input.parameters.base: expected an object, a catalog entry")
		case key == "base" && deeper(m, yamldoc.MaxDepth):
			return Query{}, problem.BadRequest("input.parameters.base: values nested deeper than the limit; expected at most %d levels", yamldoc.MaxDepth)
		case key == "base":
			r.Base = m
		case to == nil:
			return Query{}, problem.BadRequest("input.parameters: unknown key %q%s; expected %s", key, problem.Hint(key, known), strings.Join(known, ", "))
		case !isText:
			return Query{}, problem.BadRequest("input.parameters.%s: expected a string", key)
		default:
			*to = s
		}
	}
	r.Hub = cmp.Or(r.Hub, defaultHub)
	return r, nil
}

// deeper reports whether a value decoded by encoding/json has more than some levels. A request is
// small, yet its values are written once for each cluster and indented by their depth.
func deeper(v any, levels int) bool {
	below := func(v any) bool { return deeper(v, levels-1) }
	switch v := v.(type) {
	case map[string]any:
		return levels < 0 || slices.ContainsFunc(slices.Collect(maps.Values(v)), below)
	case []any:
		return levels < 0 || slices.ContainsFunc(v, below)
	}
	return levels < 0
}

// Checked is a query that has been checked.
type Checked struct {
	Query
	// Requester is the owner of the querying engine: fleet.OwnerHub or a member's name.
	Requester string
	// Desired asks for the state when all removals are done: for plans, and for engines that remove
	// in one step.
	Desired bool
	// SubjectsOnly asks only for the subjects of the sets: any number of sets, without values.
	SubjectsOnly  bool
	LabelSelector labels.Selector
	// BaseEntry is the query's catalog entry, nil for the layout's.
	BaseEntry *yamldoc.Node
}

// Check validates a query against the fleet.
func Check(st *fleetstate.State, r Query) (Checked, *problem.QueryError) {
	q := Checked{Query: r}
	if !slices.Contains(Views, string(r.View)) {
		return q, problem.BadRequest("view %q is not known%s; expected one of %s", r.View, problem.Hint(string(r.View), Views), strings.Join(Views, ", "))
	}
	if r.Hub == "" {
		return q, problem.BadRequest("no hub given: set input.parameters.hub, or the server's --hub")
	}
	if len(st.Fleet.Members(r.Hub)) == 0 {
		return q, problem.BadRequest("hub %q has no member files%s; expected %s", r.Hub, problem.Hint(r.Hub, st.Fleet.Hubs()), st.Fleet.Layout.Members)
	}
	if q.Requester = st.OwnerName(r.Hub, r.Owner); q.Requester != fleet.OwnerHub && st.Fleet.Member(r.Hub, q.Requester) == nil {
		return q, problem.BadRequest("owner %q is not a member of hub %q%s", q.Requester, r.Hub, problem.Hint(q.Requester, st.Fleet.MemberNames(r.Hub)))
	}
	if err := checkGroup(st, r); err != nil {
		return q, err
	}
	var err error
	if q.LabelSelector, err = labels.ParseSelector(r.Selector); err != nil {
		return q, problem.BadRequest("input.parameters.%v", err)
	}
	if q.Base != nil {
		if q.BaseEntry, err = st.Resolver().BaseEntry(q.Base); err != nil {
			return q, problem.BadRequest("input.parameters.%v", err)
		}
	}
	return q, nil
}

func checkGroup(st *fleetstate.State, r Query) *problem.QueryError {
	groups := st.Groups()
	needs := r.View == Releases || r.View == Components
	switch {
	case needs && r.Group == "":
		return problem.BadRequest("view %q needs a group; expected one of %s", r.View, strings.Join(groups, ", "))
	case needs && !slices.Contains(groups, r.Group):
		return problem.BadRequest("group %q is not in the layout%s; expected one of %s", r.Group, problem.Hint(r.Group, groups), strings.Join(groups, ", "))
	case r.View != Components && (r.Component != "" || r.Base != nil || r.Release != ""):
		return problem.BadRequest("component, base and release belong to view %q, not to %q", Components, r.View)
	case r.Base != nil && r.Component == "":
		return problem.BadRequest("base needs a component: it is one component's catalog entry")
	case r.Component != "" && !labels.IsName(r.Component):
		return problem.BadRequest("component %q is not a DNS-1123 label", r.Component)
	}
	return nil
}

// Unavailable returns the error for problems of members that cannot be computed, with the
// repositories of the files.
func Unavailable(st *fleetstate.State, problems []problem.Problem) *problem.QueryError {
	if s := st.Resolver().Snapshot; len(s.Parts()) > 0 {
		problems = problem.Relocate(problems, s.Locate)
	}
	return problem.Unavailable(problems)
}
