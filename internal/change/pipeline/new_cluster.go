package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/change/report/planreport"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Existing is used in place of a class for a cluster that the hub does not create.
const Existing = "existing"

// newCluster returns what a plan does besides creating one cluster of one of the classes. The
// cluster's member file must be the only new file, and all other changes must create something on
// it. The hub's ApplicationSets may also get components that the new cluster is the first to need.
func newCluster(p planreport.Plan, classes []string, base, head *fleetstate.State) (beyond []string) {
	add := func(format string, args ...any) { beyond = append(beyond, fmt.Sprintf(format, args...)) }
	file := ""
	for _, hub := range p.Hubs {
		if len(hub.Unknown) > 0 {
			add("hub %s: what some of its releases have is unknown", hub.Name)
		}
		var made []string
		for _, c := range hub.Clusters {
			if c.Action != plan.Create {
				if c.Action != "" || len(c.Differences) > 0 {
					add("cluster %s changes", c.Name)
				}
				for _, a := range c.Applications {
					if !isFirstUse(a) {
						add("%s: %s", a.Action, a.Name)
					}
				}
				continue
			}
			made = append(made, c.Name)
			if file == "" {
				file = c.Member.File
			} else {
				add("cluster %s is created, too", c.Name)
			}
			if found := classOf(head, hub.Name, c.Name); !slices.Contains(classes, found) {
				add("cluster %s is of class %s; allowed: %s", c.Name, found, strings.Join(classes, ", "))
			}
			for _, a := range c.Applications {
				if a.Action != plan.Create {
					add("%s: %s", a.Action, a.Name)
				}
			}
		}
		for _, o := range hub.Objects {
			add("%s %s changes beside Applications", o.Kind, o.Name)
		}
		for _, s := range hub.Secrets {
			if !slices.Contains(made, s.Cluster) {
				add("other secrets are read or written for cluster %s", s.Cluster)
			}
		}
	}
	if file == "" {
		add("no cluster is created")
	}
	was, is := base.Resolver().Snapshot, head.Resolver().Snapshot
	for _, path := range is.Paths() {
		if before := was.File(path); path != file && (before == nil || before.Digest != is.File(path).Digest) || path == file && before != nil {
			add("%s differs", path)
		}
	}
	for _, path := range was.Paths() {
		if is.File(path) == nil {
			add("%s is gone", path)
		}
	}
	return append(beyond, changedBeside(was, is, func(string) bool { return false })...)
}

// classOf returns the class of a member, or why it has none.
func classOf(st *fleetstate.State, hub, name string) string {
	switch m := st.Fleet.Member(hub, name); {
	case m == nil || m.IsHub:
		return "hub"
	case m.Provision == nil:
		return Existing
	default:
		return m.Provision.Class
	}
}

// isFirstUse reports whether an Application of ApplicationSets gets components and loses none.
func isFirstUse(a plan.Application) bool {
	return a.View == query.Releases && a.Action != plan.Remove && a.Action != plan.Move &&
		!slices.ContainsFunc(a.Differences, func(d plan.Difference) bool {
			return d.Kind != plan.Setting || !strings.HasPrefix(d.Name, catalog.ComponentsKey+".") || d.Old != nil || !isSwitch(d.New)
		})
}
