package scaffold

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// Hold describes a new manual hold.
type Hold struct {
	// Name is the name of the file; empty for one made of the first cluster and component.
	Name string
	// Clusters are the held clusters, and Components what is held of them: group/component,
	// group/*, or "*".
	Clusters, Components    []string
	Owner, Reason, TimeZone string
	// Until is the last day.
	Until string
	Now   time.Time
}

// NewHold drafts the file of a hold. It refuses clusters and components that the fleet does not
// have.
func NewHold(ctx context.Context, r Repository, h Hold) (*Draft, error) {
	d, st, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.check(st); err != nil {
		return nil, err
	}
	h.Name = cmp.Or(h.Name, h.defaultName())
	if err := checkNames(named{"name", h.Name}); err != nil {
		return nil, err
	}
	file := path.Join(fleet.HoldFolder, h.Name+".yaml")
	if d.before.File(file) != nil {
		return nil, problem.Usage(h.wayOut(st), "%s is there already; %s", file, nothingWritten)
	}
	if _, err := time.Parse(time.DateOnly, h.Until); err != nil {
		h.Until = strconv.Quote(h.Until)
	}
	d.texts(h, map[string]string{file: "hold.yaml"})
	after, err := d.try()
	if err != nil {
		return nil, err
	}
	if held := holdOf(after, h.Name); held.EndedAt(h.Now) {
		return nil, refuse("--until: %s is past; expected the last day of the hold, today or later", h.Until)
	}
	d.Summary = fmt.Sprintf("%s on %s stays as it is until the end of %s (%s)\n", strings.Join(h.Components, ", "), strings.Join(h.Clusters, ", "), h.Until, cmp.Or(h.TimeZone, "UTC"))
	d.Next = []string{planned, commit("Hold " + h.Components[0] + " on " + h.Clusters[0])}
	return d, nil
}

// check refuses clusters that the fleet does not have, and components that none of them has.
func (h Hold) check(st *fleetstate.State) error {
	var names, components []string
	for m, c := range st.Clusters() {
		names = append(names, m.Name)
		for name, g := range c.Desired().Groups {
			for _, component := range g.Components() {
				if slices.Contains(h.Clusters, m.Name) {
					components = append(components, name+"/"+component)
				}
			}
		}
	}
	for _, name := range h.Clusters {
		if !slices.Contains(names, name) {
			return refuse("no member is called %q%s", name, problem.Hint(name, names))
		}
	}
	slices.Sort(components)
	components = slices.Compact(append(components, fleetstate.FleetGroup+"/"+fleetstate.Registration))
	for _, name := range h.Components {
		group, component, _ := strings.Cut(name, "/")
		if name == fleet.Any {
			continue
		}
		if err := oneOf(name, group, "groups of the layout", st.Fleet.Layout.GroupNames()); err != nil {
			return err
		}
		if component != fleet.Any {
			if err := oneOf("COMPONENT", name, "components of "+strings.Join(h.Clusters, ", "), components); err != nil {
				return err
			}
		}
	}
	return nil
}

// defaultName makes a name of the first cluster and component.
func (h Hold) defaultName() string {
	group, component, _ := strings.Cut(h.Components[0], "/")
	switch {
	case h.Components[0] == fleet.Any:
		component = "all"
	case component == fleet.Any:
		component = group
	}
	const longest = 63
	name := h.Clusters[0] + "-" + component
	return strings.TrimRight(name[:min(len(name), longest)], "-")
}

// wayOut says how to extend the hold that has the name already.
func (h Hold) wayOut(st *fleetstate.State) []string {
	is := holdOf(st, h.Name)
	return []string{fmt.Sprintf("to extend it, change until: %s in the file; for another hold, give another --name", is.LastDay)}
}

func holdOf(st *fleetstate.State, name string) *fleet.Hold {
	return st.Fleet.Holds[slices.IndexFunc(st.Fleet.Holds, func(h *fleet.Hold) bool { return h.Name == name })]
}
