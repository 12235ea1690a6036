package scaffold

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"

	"github.com/argosy-hub/argosy/internal/fleet/team"
)

// Move says on which clusters an application runs.
type Move struct {
	Name string
	// To gets it, From loses it. One of them is required. Without From, the one cluster that has it
	// loses it, unless Keep says that it stays there.
	To, From string
	Keep     bool
	// Version is its version on To, if it differs from the catalog's.
	Version string
}

// MoveApp adds, updates, removes or moves an application on single clusters, in the files of their
// own levels. Everything else in these files stays as it is.
func MoveApp(ctx context.Context, r Repository, m Move) (*Draft, error) {
	if m.To == "" && m.From == "" {
		return nil, problem.Usage([]string{"--to CLUSTER moves it, --from CLUSTER takes it away", nothingWritten}, "--to or --from is missing")
	}
	if m.Version != "" && m.To == "" {
		return nil, refuse("--version needs --to: the cluster that gets it")
	}
	d, st, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := needsWorkloads(d.layout); err != nil {
		return nil, err
	}
	owner, err := appOwner(st, m.Name)
	if err != nil {
		return nil, err
	}
	on := clustersWith(st, team.Workloads, m.Name)
	if err := m.complete(on); err != nil {
		return nil, err
	}
	// The cluster that gets the application comes first: if the command is killed, both have it.
	if m.To != "" && !slices.Contains(on, m.To) {
		d.setOn(st, "--to", owner, m.To, "true", m.Name, "enabled")
	}
	if m.Version != "" {
		d.setOn(st, "--to", owner, m.To, fmt.Sprintf("%q", m.Version), m.Name, "chart", "version")
	}
	if m.From != "" {
		d.setOn(st, "--from", owner, m.From, "false", m.Name, "enabled")
	}
	after, err := d.try()
	if err != nil {
		return nil, err
	}
	now := clustersWith(after, team.Workloads, m.Name)
	switch {
	case m.To != "" && !slices.Contains(now, m.To):
		return nil, decidedElsewhere(m.Name, m.To, "is not on")
	case m.From != "" && slices.Contains(now, m.From):
		return nil, decidedElsewhere(m.Name, m.From, "stays on")
	}
	d.Summary = fmt.Sprintf("%s is on %s\n", m.Name, cmp.Or(problem.Truncate(strings.Join(now, ", "), 300), "no cluster"))
	if m.From != "" {
		d.Summary += fmt.Sprintf("on %s its workloads are removed, as plan says\n", m.From)
	}
	d.Next = []string{planned, commit(m.title())}
	return d, nil
}

func decidedElsewhere(app, cluster, verb string) error {
	return problem.Usage([]string{"argosy explain " + cluster + " " + team.Workloads + "/" + app, nothingWritten}, "%s %s %s: a level above the cluster's own, or a selector, decides", app, verb, cluster)
}

func (m Move) title() string {
	switch {
	case m.To == "":
		return "Take " + m.Name + " from " + m.From
	case m.From == "" && m.Version != "":
		return m.Name + " " + m.Version + " on " + m.To
	case m.From == "":
		return "Add " + m.Name + " to " + m.To
	}
	return "Move " + m.Name + " from " + m.From + " to " + m.To
}

// appOwner returns the name of an application's team.
func appOwner(st *fleetstate.State, name string) (string, error) {
	if t := st.Resolver().Apps().Team(name); t != nil {
		return t.Name, nil
	}
	known := st.Resolver().Apps().Names()
	hints := append(problem.Nearest(name, known), nothingWritten)
	if len(known) == 0 {
		hints = []string{"argosy new app writes one", nothingWritten}
	}
	return "", problem.Usage(hints, "there is no application %q of a team", name)
}

// clustersWith returns the clusters that have a component, sorted.
func clustersWith(st *fleetstate.State, group, name string) (out []string) {
	for m, c := range st.Clusters() {
		c = c.Desired()
		if g := c.Groups[group]; g != nil && m.Lifecycle != fleet.Retired {
			if x, problems := st.Resolver().Resolve(c, g, name, nil); len(problems) == 0 && x.Enabled {
				out = append(out, m.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// complete finds From where it is left out, and refuses what changes nothing.
func (m *Move) complete(on []string) error {
	others := slices.DeleteFunc(slices.Clone(on), func(name string) bool { return name == m.To })
	switch {
	case m.From != "" && m.From == m.To:
		return refuse("--from and --to are the same cluster")
	case m.From != "" && !slices.Contains(on, m.From):
		return problem.Usage(append(problem.Nearest(m.From, on), nothingWritten), "--from: %s is not on %q; it is on %s", m.Name, m.From, cmp.Or(strings.Join(on, ", "), "no cluster"))
	case m.From != "" && m.Keep:
		return refuse("--keep does not go with --from")
	case m.From != "" || m.Version != "" && slices.Contains(on, m.To):
	case slices.Contains(on, m.To):
		return problem.Usage([]string{"--from CLUSTER takes it from another, --version sets its version here", nothingWritten}, "%s is on %s already", m.Name, m.To)
	case m.Keep:
	case len(others) > 1:
		return problem.Usage([]string{"--from CLUSTER moves it from one of them, --keep leaves it on all", nothingWritten}, "%s is on several clusters: %s", m.Name, strings.Join(others, ", "))
	case len(others) == 1:
		m.From = others[0]
	}
	return nil
}
