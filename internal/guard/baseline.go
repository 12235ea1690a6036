package guard

import (
	"encoding/json"
	"slices"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
)

// had is something that a member has; what is not known of it is empty.
type had struct{ name, cluster, group, component, release string }

// baseline is what an answer is compared with.
type baseline struct {
	had []had
	// remembered tells that it is the last good answer (rule 2), else it is of the facts (rule 1).
	remembered bool
	// others are the requests of the ApplicationSet's other questions, nil if it has none.
	others func() []generator.Request
}

// baseline is what the asker has.
func (g *Guard) baseline(a ask) baseline {
	// A place for other engines' facts: what a Flux has deployed is not among the Applications.
	if _, known := a.st.Facts().Applications(); known && a.engine == toArgoCD && a.r.Hub == g.o.Hub && a.r.ApplicationSet != "" {
		// Two questions of an ApplicationSet may differ in their selectors alone: its Applications do not tell which of them
		// each came of. Where not all of its questions are known, its own answer is what a selector is judged by.
		if a.r.Selector == nil || g.o.Questions(a.r.ApplicationSet).All {
			// A template of one's own may give its Applications no labels by which they would be known.
			if had := controlled(a.st, a.r); len(had) > 0 {
				return baseline{had: had, others: func() []generator.Request { return g.others(a.r) }}
			}
		}
	}
	return baseline{had: g.store.get(a.question()), remembered: true}
}

// everyone are all clusters of the hub that have anything: Applications, or where nothing is known of them a registration.
func (g *Guard) everyone(a ask, b baseline) func() map[string]bool {
	return func() map[string]bool {
		out := map[string]bool{}
		if !b.remembered {
			apps, _ := a.st.Facts().Applications()
			for _, app := range apps {
				out[app.Cluster] = true
			}
			return out
		}
		for _, h := range g.store.registered(a.r.Hub, g.o.Now().Add(-a.st.Fleet.Layout.Guard.Window)) {
			out[h.cluster] = true
		}
		return out
	}
}

// others are an ApplicationSet's questions but one.
func (g *Guard) others(r generator.Request) []generator.Request {
	own := questionOf(r, toArgoCD)
	var out []generator.Request
	for _, q := range g.o.Questions(r.ApplicationSet).Requests {
		q.ApplicationSet = r.ApplicationSet
		if questionOf(q, toArgoCD) != own {
			out = append(out, q)
		}
	}
	return out
}

// controlled are the Applications of the asking ApplicationSet that the request is about, as far as their labels say;
// for view Releases, those of the group, whoever controls them: releases' own Applications are on no member.
func controlled(st *generator.State, r generator.Request) []had {
	known := st.Facts()
	if self := st.HubMember(r.Hub); self != nil && r.Owner == self.Name {
		r.Owner = fleet.OwnerHub
	}
	var out []had
	add := func(apps []facts.Application) {
		for _, a := range apps {
			if isAbout(r, a) {
				out = append(out, had{a.Name, a.Cluster, a.Group, a.Component, a.Release})
			}
		}
	}
	if r.View == generator.Releases {
		all, _ := known.Applications()
		add(all)
	} else {
		add(known.ControlledBy(r.ApplicationSet))
	}
	return out
}

// isAbout reports whether a request asks for an Application, as far as its labels say. Another engine than the hub's sees
// its own cluster alone.
func isAbout(r generator.Request, a facts.Application) bool {
	says := func(label, asked string) bool { return label == "" || asked == "" || label == asked }
	if r.Owner != "" && r.Owner != fleet.OwnerHub && a.Cluster != r.Owner {
		return false
	}
	if a.Grant != (r.View == generator.Grants) {
		return false
	}
	switch r.View {
	case generator.Grants:
		return true
	case generator.Components:
		return says(a.Group, r.Group) && says(a.Component, r.Component) && says(a.Release, r.Release)
	case generator.Releases:
		return a.Group == r.Group && a.Release != "" && a.Component != ""
	case generator.Members:
		return says(a.Component, generator.Registration)
	case generator.Agents:
		return says(a.Component, generator.Agent)
	}
	return false
}

// question tells questions apart: all of a request but what its base says.
type question string

func (a ask) question() question { return questionOf(a.r, a.engine) }

func questionOf(r generator.Request, engine string) question {
	based := r.Base != nil
	r.Base = nil
	text, err := json.Marshal(struct {
		Engine  string
		Request generator.Request
		Based   bool
	}{engine, r, based})
	if err != nil { // it has been answered: it can be written
		return question(engine + err.Error())
	}
	return question(text)
}

// asksForMembers reports whether a question is for all members of a hub.
func (q question) asksForMembers(hub string) bool {
	var asked struct{ Request generator.Request }
	if err := json.Unmarshal([]byte(q), &asked); err != nil {
		return false
	}
	r := asked.Request
	return r.View == generator.Members && r.Hub == hub && r.Selector == nil && (r.Owner == "" || r.Owner == fleet.OwnerHub)
}

// subjects are those of an answer, a release's cluster by cluster.
func subjects(all []generator.Subject) []generator.Subject {
	if !slices.ContainsFunc(all, func(s generator.Subject) bool { return s.Clusters != nil }) {
		return all
	}
	var out []generator.Subject
	for _, s := range all {
		for _, cluster := range s.Clusters {
			out = append(out, generator.Subject{Cluster: cluster, Group: s.Group, Release: s.Release})
		}
	}
	return out
}
