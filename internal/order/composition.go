package order

import (
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
)

// composition is one response that is composed.
type composition struct {
	order *Order
	st    *fleetstate.State
	query query.Query
	given map[string][]response.ParameterSet
	// desired are the sets that the repository asks for, by the component that is looked for and
	// by Application.
	desired map[string]map[string]response.ParameterSet
	// newest are the digests of sets that the newest revision asks for, by the same.
	newest map[string]map[string]string
	// previous are the sets that the state before asks for, by Application; nil if nobody has
	// looked.
	previous map[string]response.ParameterSet
	// grants are the sets of ownership grants, by Application; nil if nobody has looked.
	grants map[string]response.ParameterSet
	waits  []Wait
	// lost are waits that are given up, because nobody knows the Application's last set.
	lost []Wait
	// unasked reports that a wait is for a component that no query is known of.
	unasked bool
}

// decide says what of a parameter set is in the response.
func (c *composition) decide(s response.ParameterSet) (response.ParameterSet, bool) {
	item := s.Item()
	cluster := c.st.Cluster(c.query.Hub, item.Cluster)
	if cluster == nil {
		return s, true
	}
	if item.IsRemoval {
		return c.removal(s, cluster)
	}
	wait := c.wait(s, cluster)
	if wait == nil {
		return s, true
	}
	a, there := c.st.Facts().Application(item.Name)
	if there && a.Digest == s.Digest() {
		return s, true // it is what it is to be
	}
	given := c.given[item.Name]
	wait.IsNew = !there && len(given) == 0
	if there && a.Digest != "" {
		last, known := c.last(item.Name, a.Digest)
		if !known {
			c.lost = append(c.lost, *wait)
			return s, true
		}
		wait.Revision = last.Revision()
		c.waits = append(c.waits, *wait)
		c.order.held.hold(last)
		return last, true
	}
	if !there && len(given) == 0 && c.hasMoved(item, cluster) {
		return s, true // its old owner has left it out: no other ApplicationSet has it (D4)
	}
	if len(given) > 0 {
		wait.Revision = given[0].Revision()
	}
	c.waits = append(c.waits, *wait)
	if len(given) > 0 {
		return given[0], true
	}
	return s, there
}

// hasMoved reports whether another release or another engine had a component in the state before.
func (c *composition) hasMoved(item lifecycle.Item, now *fleetstate.Cluster) (found bool) {
	before := c.order.before(c.st)
	if before == nil {
		return false
	}
	was := before.Cluster(c.query.Hub, item.Cluster)
	if was == nil || was.Groups[item.Group] == nil || now.Groups[item.Group] == nil {
		return false
	}
	q := c.query
	q.ApplicationSet, q.Release, q.Owner = "", was.Groups[item.Group].Release.Type, was.Member.Owner(item.Group)
	if q.Release == now.Groups[item.Group].Release.Type && q.Owner == now.Member.Owner(item.Group) {
		return false
	}
	r, err := c.order.o.Desired(before, q)
	if err != nil {
		return false
	}
	r.ParameterSets(func(s response.ParameterSet) {
		found = found || s.Item().Name == item.Name && !s.Item().IsRemoval
	})
	return found
}

// last returns the set of an Application with a digest: what was given, what stays since before a
// restart, or what the state before asks for.
func (c *composition) last(application, digest string) (response.ParameterSet, bool) {
	for _, g := range c.given[application] {
		if g.Digest() == digest {
			return g, true
		}
	}
	if held, is := c.order.held.get(application, digest); is {
		return held, true
	}
	if c.previous == nil {
		c.previous = map[string]response.ParameterSet{}
		if st := c.order.before(c.st); st != nil {
			if r, err := c.order.o.Desired(st, c.query); err == nil {
				r.ParameterSets(func(s response.ParameterSet) { c.previous[s.Item().Name] = s })
			}
		}
	}
	s, is := c.previous[application]
	return s, is && s.Digest() == digest
}

// removal holds back the removal of what others depend on (rules 3 and 7).
func (c *composition) removal(s response.ParameterSet, cluster *fleetstate.Cluster) (response.ParameterSet, bool) {
	item := s.Item()
	before, reason := "", "its Application is removed first"
	if first := lifecycle.RemovedBefore(c.st, cluster, item.Group, item.Component, c.st.Facts().ApplicationsOf(item.Cluster)); len(first) > 0 {
		before = first[0]
	} else if lifecycle.BringsCredentials(item.Group, item.Component) {
		before, reason = fleetstate.FleetGroup+"/"+fleetstate.Agent, c.agentUses(item.Cluster)
	}
	if before == "" || reason == "" {
		return s, true
	}
	c.waits = append(c.waits, Wait{
		Hub: c.query.Hub, Cluster: item.Cluster, Group: item.Group, Component: item.Component, For: before,
		Reason: reason, Removal: true,
	})
	kept, err := s.Kept()
	if err != nil {
		return s, true // texts of ours can always be read
	}
	return kept, true
}

// agentUses says why a member's agent still uses the operator of its credentials; empty if it does
// not. Its ExternalSecrets have the operator's finalizer: without it they would never go.
func (c *composition) agentUses(member string) string {
	name := catalog.ApplicationName(fleetstate.Agent, member)
	a, there := c.st.Facts().Application(name)
	if !there || a.Cluster != member {
		return ""
	}
	r, err := c.order.o.Desired(c.st, query.Query{View: query.Agents, Hub: c.query.Hub})
	if err != nil {
		return "there is no answer about it"
	}
	out := "its Application is removed first"
	r.ParameterSets(func(s response.ParameterSet) {
		if item := s.Item(); item.Name == name && !item.IsRemoval {
			out = lacking(a, s)
		}
	})
	return out
}

// lacking says what an Application lacks of a parameter set; empty for nothing.
func lacking(a facts.Application, desired response.ParameterSet) string {
	switch {
	case a.Digest != "" && a.Digest != desired.Digest():
		return "its Application is not the newest"
	case !a.Healthy:
		return "its Application is not healthy"
	}
	return ""
}

// wait returns what a parameter set waits for, nil for nothing.
func (c *composition) wait(s response.ParameterSet, cluster *fleetstate.Cluster) *Wait {
	item := s.Item()
	for _, text := range s.DependsOn() {
		d := lifecycle.ParseDependency(text)
		if d.Is(item.Group, item.Component) {
			continue // lint reports it
		}
		if reason := c.missing(d, cluster, s.IsOf(c.st.Revision)); reason != "" {
			return &Wait{Hub: c.query.Hub, Cluster: item.Cluster, Group: item.Group, Component: item.Component, For: text, Reason: reason}
		}
	}
	return nil
}

// missing says what a dependency lacks on a cluster, for a set of the newest revision or of an
// earlier one; empty for nothing.
func (c *composition) missing(d lifecycle.Dependency, cluster *fleetstate.Cluster, isNewest bool) string {
	name := catalog.ApplicationName(d.Component, cluster.Member.Name)
	desired, found := c.setsOf(d)[name]
	if !found {
		if !d.IsToRun(c.st, cluster, c.st.OwnerName(c.query.Hub, c.query.Owner)) {
			return c.agentLacks(d, cluster)
		}
		c.unasked = true
		return "no ApplicationSet asks for it"
	}
	if desired.Item().IsRemoval {
		return ""
	}
	if isNewest {
		if newest, is := c.newestOf(d)[name]; is && newest != desired.Digest() {
			return "a ring or a hold keeps it at an earlier revision"
		}
	}
	a, there := c.st.Facts().Application(name)
	if !there {
		return "it has no Application yet"
	}
	return lacking(a, desired)
}

// newestOf returns the digests of a component's sets as the newest revision wants them, by
// Application.
func (c *composition) newestOf(d lifecycle.Dependency) map[string]string {
	if known, is := c.newest[d.String()]; is || c.order.o.Newest == nil {
		return known
	}
	out := map[string]string{}
	for _, q := range c.order.queries(c.query, d.Component) {
		r, err := c.order.o.Newest(c.st, q)
		if served, failure := c.order.o.Desired(c.st, q); err != nil || failure != nil || r == served {
			continue // nothing is kept back
		}
		r.ParameterSets(func(s response.ParameterSet) {
			if item := s.Item(); d.Is(item.Group, item.Component) {
				out[item.Name] = s.Digest()
			}
		})
	}
	c.newest[d.String()] = out
	return out
}

// setsOf returns the sets of a component that the repository asks for, by Application.
func (c *composition) setsOf(d lifecycle.Dependency) map[string]response.ParameterSet {
	if known, is := c.desired[d.String()]; is {
		return known
	}
	out := map[string]response.ParameterSet{}
	for _, q := range c.order.queries(c.query, d.Component) {
		r, err := c.order.o.Desired(c.st, q)
		if err != nil {
			continue // the component is not asked for as long as it has no response
		}
		r.ParameterSets(func(s response.ParameterSet) {
			if item := s.Item(); d.Is(item.Group, item.Component) {
				out[item.Name] = s
			}
		})
	}
	c.desired[d.String()] = out
	return out
}
