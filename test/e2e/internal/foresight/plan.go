package foresight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// planned is what `argosy plan` says, as far as it is compared with what comes of it.
type planned struct {
	Hubs []struct {
		Clusters []struct {
			Applications []plannedApplication
		}
		Objects []struct {
			Kind, Name, Owner, Action, From string
			Left                            bool
		}
	}
	Guard    struct{ Refused []plannedRefusal }
	Problems []map[string]any
	Broken   []map[string]any
}

// problems are what keeps a plan from being complete.
func (p *planned) problems() []map[string]any {
	if p == nil {
		return nil
	}
	return p.Problems
}

type plannedApplication struct {
	Name, Action, View, Group, Component, Release, Owner string

	Differences []struct {
		Kind, Name string
		Old, New   struct{ Value any }
	}
}

// hands are the engines that an Application goes from and to, the same if it does not.
func (a plannedApplication) hands() (from, to string) {
	for _, d := range a.Differences {
		if d.Kind == "setting" && d.Name == "owner" {
			return fmt.Sprint(d.Old.Value), fmt.Sprint(d.New.Value)
		}
	}
	return "", ""
}

type plannedRefusal struct{ View, Owner, Group, Component, Release string }

// effects are what becomes of an engine's Applications, by name, but for those that are held. One that moves goes from one ApplicationSet to
// another, under its name.
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

// held are an engine's Applications that the removal budget does not let go.
func (p *planned) held(owner string) map[string]bool {
	out := map[string]bool{}
	if p == nil {
		return out
	}
	for _, h := range p.Hubs {
		for _, c := range h.Clusters {
			for _, a := range c.Applications {
				refused := func(r plannedRefusal) bool {
					return r.View == a.View && r.Owner == a.Owner && cmp.Or(r.Group, a.Group) == a.Group &&
						cmp.Or(r.Component, a.Component) == a.Component && cmp.Or(r.Release, a.Release) == a.Release
				}
				if a.Owner == owner && a.Action == "remove" && slices.ContainsFunc(p.Guard.Refused, refused) {
					out[a.Name] = true
				}
			}
		}
	}
	return out
}

// left are objects of an engine that nobody makes any more, and that stay.
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
