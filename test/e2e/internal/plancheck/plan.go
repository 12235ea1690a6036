package plancheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// planned is the part of `argosy plan -o json` that a check compares.
type planned struct {
	Hubs []struct {
		Name     string
		Clusters []struct {
			Applications []plannedApplication
		}
		Objects []struct {
			Kind, Name, Owner, Action, From string
			Left                            bool
		}
	}
	Guard struct {
		Refused []plannedRefusal
		Commits []plannedHold
	}
	Problems []map[string]any
	Broken   []map[string]any
}

// problems returns why a plan is incomplete.
func (p *planned) problems() []map[string]any {
	if p == nil {
		return nil
	}
	return p.Problems
}

type plannedApplication struct {
	Name, Action, View, Group, Component, Release, Owner, Engine string

	Differences []struct {
		Kind, Name string
		Old, New   struct{ Value any }
	}
}

// hands returns the engines that an Application moves from and to; equal when it does not move.
func (a plannedApplication) hands() (from, to string) {
	for _, d := range a.Differences {
		if d.Kind == "setting" && d.Name == "owner" {
			return fmt.Sprint(d.Old.Value), fmt.Sprint(d.New.Value)
		}
	}
	return "", ""
}

type plannedRefusal struct{ View, Owner, Group, Component, Release string }

type plannedHold struct{ Hub, Tenant string }

// effects returns what happens to each Application of an engine, by name, without those that the
// removal budget keeps. A moved Application keeps its name under another ApplicationSet.
func (p *planned) effects(owner string, held map[string]bool) map[string]string {
	out := map[string]string{}
	if p == nil {
		return out
	}
	action := map[string]string{"create": "create", "change": "change", "move": "change", "remove": "remove"}
	for _, h := range p.Hubs {
		for _, c := range h.Clusters {
			for _, a := range c.Applications {
				switch from, to := a.hands(); {
				case from == to && a.Owner == owner:
					out[a.Name] = action[a.Action]
					if a.View == "agents" && a.Engine == "flux" && a.Action == "create" { // a HelmRelease for each of its charts
						out[strings.Replace(a.Name, "agent-", "agent-credentials-", 1)] = a.Action
					}
				case from != to && from == owner:
					out[a.Name] = "remove"
				case from != to && to == owner:
					out[a.Name] = "create"
				}
			}
		}
		for _, o := range h.Objects {
			if o.Kind == "Application" && o.Owner == owner && !o.Left {
				out[o.Name] = o.Action
			}
		}
	}
	maps.DeleteFunc(out, func(name string, _ string) bool { return held[name] })
	return out
}

// held returns the Applications of an engine that the removal budget keeps.
func (p *planned) held(owner string) map[string]bool {
	out := map[string]bool{}
	if p == nil {
		return out
	}
	for _, h := range p.Hubs {
		// A commit beyond its hub's budget keeps all that it removes without approval.
		isKept := slices.ContainsFunc(p.Guard.Commits, func(c plannedHold) bool { return c.Hub == h.Name && c.Tenant == "" })
		for _, o := range h.Objects {
			if isKept && o.Kind == "Application" && o.Owner == owner && o.Action == "remove" {
				out[o.Name] = true
			}
		}
		for _, c := range h.Clusters {
			for _, a := range c.Applications {
				refused := func(r plannedRefusal) bool {
					return r.View == a.View && r.Owner == a.Owner && cmp.Or(r.Group, a.Group) == a.Group &&
						cmp.Or(r.Component, a.Component) == a.Component && cmp.Or(r.Release, a.Release) == a.Release
				}
				if a.Owner == owner && a.Action == "remove" && (isKept || slices.ContainsFunc(p.Guard.Refused, refused)) {
					out[a.Name] = true
				}
			}
		}
	}
	return out
}

// left returns the objects of an engine that stay although no ApplicationSet makes them.
func (p *planned) left(owner string) []string {
	var out []string
	if p == nil {
		return out
	}
	for _, h := range p.Hubs {
		for _, o := range h.Objects {
			if o.Owner == owner && o.Left {
				out = append(out, id(o.Kind, o.Name))
			}
		}
	}
	return out
}
