package generator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// View is a question that the plugin answers.
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

// Request is one question; the fields are the plugin's input.parameters.
type Request struct {
	View View
	// Hub is required here; the server fills its own in.
	Hub string
	// Group is required for Releases and Components.
	Group string
	// Component restricts Components to one.
	Component string
	// Release restricts Components to the clusters on one release of the group.
	Release string
	// Base is a catalog entry as encoding/json decodes it with UseNumber; nil for the layout's catalog.
	Base map[string]any
	// Selector restricts the clusters by their labels.
	Selector any
	// Owner is whose engine asks: "hub" (also when empty), or a member's name.
	Owner string
	// ApplicationSet is the name of the ApplicationSet that asks, which is none of the parameters; empty when nobody knows.
	ApplicationSet string
}

// Kind tells whose fault an Error is.
type Kind int

const (
	// BadRequest means that the request itself cannot be answered.
	BadRequest Kind = iota + 1
	// Unavailable means that the fleet cannot be computed as it is.
	Unavailable
)

// maxMessage bounds an error's text, in bytes: it becomes a condition of the ApplicationSet, and varying text makes
// Argo CD reconcile in a loop (rule G5; argo-cd#21887).
const maxMessage = 600

// Error is why a request has no answer.
type Error struct {
	Kind     Kind
	Message  string
	Problems []problem.Problem
}

// Error is the message, at most maxMessage bytes, the same for the same cause.
func (e *Error) Error() string {
	if len(e.Message) > maxMessage {
		return strings.ToValidUTF8(e.Message[:maxMessage-3], "") + "..."
	}
	return e.Message
}

func badRequest(format string, args ...any) *Error {
	return &Error{Kind: BadRequest, Message: fmt.Sprintf(format, args...)}
}

// unavailable is the error of members that cannot be computed.
func unavailable(ps []problem.Problem) *Error {
	ps = problem.Sorted(ps)
	first := ps[0]
	message := first.Error()
	if first.Cluster != "" && !strings.Contains(message, fmt.Sprintf("%q", first.Cluster)) {
		message = fmt.Sprintf("member %q of hub %q: %s", first.Cluster, first.Hub, message)
	}
	if len(ps) > 1 {
		message += fmt.Sprintf(" (and %d more)", len(ps)-1)
	}
	return &Error{Kind: Unavailable, Message: message, Problems: ps}
}

// ParseRequest reads input.parameters (a JSON object); an absent hub is defaultHub. The error is an *Error of kind
// BadRequest.
func ParseRequest(parameters []byte, defaultHub string) (Request, error) {
	dec := json.NewDecoder(bytes.NewReader(parameters))
	dec.UseNumber()
	var raw map[string]any
	if err := dec.Decode(&raw); err != nil {
		return Request{}, badRequest("input.parameters: expected an object")
	}
	r := Request{Hub: defaultHub}
	known := []string{"view", "hub", "group", "component", "release", "base", "selector", "owner"}
	keys := make([]string, 0, len(raw))
	for key := range raw {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		v := raw[key]
		if v == nil {
			continue
		}
		switch key {
		case "base":
			m, ok := v.(map[string]any)
			if !ok {
				return Request{}, badRequest("input.parameters.base: expected an object, a catalog entry")
			}
			if deeper(m, yamldoc.MaxDepth) {
				return Request{}, badRequest("input.parameters.base: values nested deeper than the limit; expected at most %d levels", yamldoc.MaxDepth)
			}
			r.Base = m
			continue
		case "selector":
			r.Selector = v
			continue
		}
		s, ok := v.(string)
		if !ok && slices.Contains(known, key) {
			return Request{}, badRequest("input.parameters.%s: expected a string", key)
		}
		switch key {
		case "view":
			r.View = View(s)
		case "hub":
			if s != "" {
				r.Hub = s
			}
		case "group":
			r.Group = s
		case "component":
			r.Component = s
		case "release":
			r.Release = s
		case "owner":
			r.Owner = s
		default:
			return Request{}, badRequest("input.parameters: unknown key %q%s; expected %s", key, hint(key, known), strings.Join(known, ", "))
		}
	}
	return r, nil
}

// deeper says whether what encoding/json decoded has more than so many levels. A request is small, yet its values are
// written once for each cluster and indented by their depth.
func deeper(v any, levels int) bool {
	if levels < 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, below := range v {
			if deeper(below, levels-1) {
				return true
			}
		}
	case []any:
		for _, below := range v {
			if deeper(below, levels-1) {
				return true
			}
		}
	}
	return false
}

func hint(name string, known []string) string {
	if h := problem.Nearest(name, known); len(h) > 0 {
		return ", " + h[0]
	}
	return ""
}

// query is a request that has been checked.
type query struct {
	Request
	owner    string // fleet.OwnerHub or a member's name
	planned  bool   // what is to be when all removals are done: for plans, and where removal is one step
	bare     bool   // what the sets are about is asked for alone: of any number, and without values
	selector labels.Selector
}

// query validates a request against the fleet.
func (st *State) query(r Request) (query, *Error) {
	q := query{Request: r, owner: r.Owner}
	if !slices.Contains(Views, string(r.View)) {
		return q, badRequest("view %q is not known%s; expected one of %s", r.View, hint(string(r.View), Views), strings.Join(Views, ", "))
	}
	if r.Hub == "" {
		return q, badRequest("no hub given: set input.parameters.hub, or the server's --hub")
	}
	if len(st.Fleet.Members(r.Hub)) == 0 {
		return q, badRequest("hub %q has no member files%s; expected %s", r.Hub, hint(r.Hub, st.Fleet.Hubs()), st.Fleet.Layout.Members)
	}
	if self := st.hubs[r.Hub]; q.owner == "" || self != nil && q.owner == self.Name {
		q.owner = fleet.OwnerHub
	}
	if q.owner != fleet.OwnerHub && st.Fleet.Member(r.Hub, q.owner) == nil {
		names := make([]string, 0, len(st.Fleet.Members(r.Hub)))
		for _, m := range st.Fleet.Members(r.Hub) {
			names = append(names, m.Name)
		}
		return q, badRequest("owner %q is no member of hub %q%s", q.owner, r.Hub, hint(q.owner, names))
	}
	if err := st.checkGroup(r); err != nil {
		return q, err
	}
	var err error
	if q.selector, err = labels.ParseSelector(r.Selector); err != nil {
		return q, badRequest("input.parameters.%v", err)
	}
	return q, nil
}

func (st *State) checkGroup(r Request) *Error {
	groups := st.groups
	needs := r.View == Releases || r.View == Components
	switch {
	case needs && r.Group == "":
		return badRequest("view %q needs a group; expected one of %s", r.View, strings.Join(groups, ", "))
	case needs && !slices.Contains(groups, r.Group):
		return badRequest("group %q is not in the layout%s; expected one of %s", r.Group, hint(r.Group, groups), strings.Join(groups, ", "))
	case r.View != Components && (r.Component != "" || r.Base != nil || r.Release != ""):
		return badRequest("component, base and release belong to view %q, not to %q", Components, r.View)
	case r.Base != nil && r.Component == "":
		return badRequest("base needs a component: it is one component's catalog entry")
	case r.Component != "" && !labels.IsName(r.Component):
		return badRequest("component %q is no DNS-1123 label", r.Component)
	}
	return nil
}
