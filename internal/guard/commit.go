package guard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/team"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// An accident removes a little from many responses: a file of one level switches off one component
// of each member, and each response is within its budget. So a state is judged as a whole first: by
// what it takes from all members of a hub together, whichever ApplicationSet asks (rule 4). All of
// it comes from the repository, so that an agent's own service finds the same number.

// protected are the components without which a hub can repair nothing: its engine, and what reads
// its credentials. On the hub's own cluster they need an approval that names them.
var protected = []string{"argo-cd", "external-secrets", "flux2"}

// holdings are what a state gives the members of a hub.
type holdings struct {
	// shape is that of the layout (fleet.Layout.Shape).
	shape     string
	byCluster map[string][]lifecycle.Holding
	// computed are the clusters that the holdings were computed from: an unchanged one is reused.
	computed map[string]*fleetstate.Cluster
	terms    terms
}

// holdingsOf returns the holdings of a hub. A member that cannot be computed has those of before.
func holdingsOf(st *fleetstate.State, hub string, before *holdings) *holdings {
	out := &holdings{
		shape: st.Fleet.Layout.Shape, byCluster: map[string][]lifecycle.Holding{}, computed: map[string]*fleetstate.Cluster{},
	}
	if out.terms = (terms{}).next(st); before != nil {
		out.terms = before.terms.next(st)
	}
	for _, c := range st.ClustersOf(hub) {
		name := c.Member.Name
		var all []lifecycle.Holding
		known := before != nil && before.computed[name] == c
		if !known {
			all, known = lifecycle.Holdings(st, c)
		}
		if before != nil && (!known || before.computed[name] == c) {
			all = before.byCluster[name]
		}
		if known {
			out.computed[name] = c
		}
		if len(all) > 0 {
			out.byCluster[name] = all
		}
	}
	return out
}

// items returns the holdings in the form of a response's items, sorted. The first one is the shape.
func (h *holdings) items() []lifecycle.Item {
	out := []lifecycle.Item{{Release: h.shape}}
	for _, cluster := range slices.Sorted(maps.Keys(h.byCluster)) {
		for _, x := range h.byCluster[cluster] {
			if _, refused := slices.BinarySearchFunc(h.terms.Refused, keyOfHolding(x), compareKeys); refused {
				x.Source = refusedMark + x.Source
			}
			out = append(out, lifecycle.Item{Name: x.Identity, Cluster: x.Cluster, Group: x.Group, Component: x.Component, Release: x.Source})
		}
	}
	return out
}

// holdingsFrom is the reverse of items; nil for none.
func holdingsFrom(r *remembered) *holdings {
	if len(r.items) == 0 {
		return nil
	}
	out := &holdings{shape: r.items[0].Release, byCluster: map[string][]lifecycle.Holding{}, terms: r.terms}
	out.terms.Refused = nil
	for _, i := range r.items[1:] {
		source, refused := strings.CutPrefix(i.Release, refusedMark)
		h := lifecycle.Holding{Cluster: i.Cluster, Group: i.Group, Component: i.Component, Source: source, Identity: i.Name}
		if out.byCluster[i.Cluster] = append(out.byCluster[i.Cluster], h); refused {
			out.terms.Refused = append(out.terms.Refused, keyOfHolding(h))
		}
	}
	return out
}

// equal reports whether two are the same.
func (h *holdings) equal(other *holdings) bool {
	return h.shape == other.shape && h.terms.equal(other.terms) && maps.EqualFunc(h.byCluster, other.byCluster, slices.Equal[[]lifecycle.Holding])
}

// tenantOf returns a member's tenant, and whether it is the hub's own cluster.
func (h *holdings) tenantOf(cluster string) (tenant string, isHub bool) {
	for _, x := range h.byCluster[cluster] {
		if x.Group == fleetstate.FleetGroup && x.Component == fleetstate.Registration {
			return x.Source, false
		}
	}
	return "", true
}

// commit is the judgement of a state as a whole.
type commit struct {
	loss
	// whole is why nothing is removed without approval, tenants why nothing of a tenant is, and
	// named why a protected component of the hub is not; all are empty if it may be.
	whole   string
	tenants map[string]string
	named   map[holdingKey]string
	// retiring are the retired members that are not approved by their own files.
	retiring map[string]bool
	// terms are what it is judged by, approvals what counts of the commit's, and stays what was
	// refused before.
	terms     terms
	approvals []fleet.Approval
	stays     map[holdingKey]bool
	// own returns the losses without approval that files in tenants' own folders cause, and
	// ownDoing says which tenants are refused for these alone.
	own      func() map[holdingKey]bool
	ownDoing map[string]bool

	// kept are the removals that it may not make, and refused names them.
	kept    []keptRemoval
	refused map[holdingKey]bool
	before  *holdings
	// accepted is the baseline of the next state: what this one gives, and what it may not remove.
	accepted *holdings
	spent    []spent
}

// holdingKey names a holding.
type holdingKey [3]string // cluster, group and component

// spent is a removal without approval, and when it was. It counts for the next states during the
// layout's window: else commits within the budget, one a minute, would remove everything.
type spent struct {
	lifecycle.Item
	at time.Time
	// tenant is the member's; a restart does not know it.
	tenant string
}

// judgeCommit compares what a state gives the members of a hub with what the last accepted one did.
// Without one, only members that retire are compared, by the facts. Previous is the state that is
// served until now, nil if the judged one is: then the tenants cannot be distinguished. A component
// that a ring does not serve yet is not lost.
func judgeCommit(st, previous *fleetstate.State, hub string, before *holdings, earlier []spent, isServed func(lifecycle.Item) bool, now time.Time) *commit {
	after := holdingsOf(st, hub, before)
	c := &commit{before: before, accepted: after, tenants: map[string]string{}, named: map[holdingKey]string{}, ownDoing: map[string]bool{}, retiring: map[string]bool{}, terms: after.terms, stays: map[holdingKey]bool{}, refused: map[holdingKey]bool{}}
	c.approvals = c.terms.approvals(st)
	if before == nil {
		before = unrecorded(st, hub, after)
	}
	if c.before = before; before == nil {
		return c
	}
	c.own = sync.OnceValue(func() map[holdingKey]bool { return c.ownLosses(st, previous, hub) })
	lost, replaced := lostHoldings(before, after)
	lost = slices.DeleteFunc(lost, func(h lifecycle.Holding) bool {
		return isServed != nil && !isServed(lifecycle.Item{Cluster: h.Cluster, Group: h.Group, Component: h.Component})
	})
	lost, held := heldByHand(st, hub, lost, now)
	after.restore(held)
	removals := make([]lifecycle.Removal, len(lost))
	for i, h := range lost {
		if now, is := replaced[keyOfHolding(h)]; is {
			removals[i] = lifecycle.Replacement(st, hub, h, now)
		} else {
			removals[i] = lifecycle.RemovalOfHolding(st, hub, h)
		}
	}
	for _, key := range before.terms.Refused {
		c.stays[key] = true
	}
	c.judgeRetirements(st.Fleet, hub, removals, now)
	c.loss = c.lossOf(st.Fleet, hub, removals, now)
	for _, x := range earlier {
		if x.at.After(now.Add(-c.terms.window())) && !slices.ContainsFunc(after.byCluster[x.Cluster], func(h lifecycle.Holding) bool { return h.Group == x.Group && h.Component == x.Component }) {
			c.spent = append(c.spent, x)
		}
	}
	for _, h := range st.Holds(hub) {
		c.tenants[h.Tenant] = h.Message // what could not be held of it is not removed either
	}
	c.judgeTenants(previous, hub)
	cause := c.judgeCause(lost)
	c.nameCauses(st.Fleet, hub, lost, now)
	c.judgeHub()
	c.whole = cmp.Or(c.whole, cause)
	c.protect(st, hub, now)
	c.keep()
	c.accept(st, hub, lost)
	if c.terms.window() > 0 {
		c.spend(now)
	}
	c.own = nil // it would keep the states in memory
	return c
}

// lostHoldings returns what of the holdings is there no more, or has another identity, sorted; of
// the latter also what replaces it.
func lostHoldings(before, after *holdings) (out []lifecycle.Holding, replaced map[holdingKey]lifecycle.Holding) {
	replaced = map[holdingKey]lifecycle.Holding{}
	for _, cluster := range slices.Sorted(maps.Keys(before.byCluster)) {
		now := after.byCluster[cluster]
		for _, h := range before.byCluster[cluster] {
			i, there := slices.BinarySearchFunc(now, h, lifecycle.Holding.Compare)
			switch {
			case !there:
				out = append(out, h)
			case h.IsReplacedBy(now[i]):
				out = append(out, h)
				replaced[keyOfHolding(h)] = now[i]
			}
		}
	}
	return out, replaced
}

// judgeTenants counts the members of each tenant that lose something without approval. The smallest
// share of a tenant is one member, too.
func (c *commit) judgeTenants(previous *fleetstate.State, hub string) {
	all, losing := c.byTenant(c.losingMembers(func(lifecycle.Removal) bool { return true }))
	for tenant, n := range losing {
		if allowed := c.terms.budget(all[tenant]); n > allowed && tenant != "" && c.tenants[tenant] == "" {
			_, now := c.byTenant(clustersOf(c.unapproved))
			c.tenants[tenant] = fmt.Sprintf("%d of the %d members of tenant %q would lose something%s; %s may without approval", n, all[tenant], tenant, recent(n-now[tenant]), atMost(allowed))
		}
	}
	c.stayHeld(previous, hub)
	if len(c.tenants) == 0 {
		return
	}
	_, others := c.byTenant(c.losingMembers(func(r lifecycle.Removal) bool { return !c.own()[keyOfRemoval(r)] }))
	for tenant := range c.tenants {
		c.ownDoing[tenant] = losing[tenant] > others[tenant] && others[tenant] <= c.terms.budget(all[tenant])
	}
}

// byTenant counts the members of each tenant, and those of them that lose something.
func (c *commit) byTenant(losing map[string]bool) (all, some map[string]int) {
	all, some = map[string]int{}, map[string]int{}
	for cluster := range c.before.byCluster {
		tenant, _ := c.before.tenantOf(cluster)
		all[tenant]++
		if losing[cluster] {
			some[tenant]++
		}
	}
	gone := map[string]bool{}
	for _, x := range c.spent { // a member whose file is gone is in no baseline
		if _, there := c.before.byCluster[x.Cluster]; there || gone[x.Cluster] {
			continue
		}
		gone[x.Cluster] = true
		all[x.tenant]++
		if losing[x.Cluster] {
			some[x.tenant]++
		}
	}
	return all, some
}

// losingMembers returns the members with such losses without approval, and if there are any, those
// that lost something within the window.
func (c *commit) losingMembers(such func(lifecycle.Removal) bool) map[string]bool {
	out := map[string]bool{}
	for _, r := range c.unapproved {
		if such(r) {
			out[r.Cluster] = true
		}
	}
	if len(out) > 0 {
		for _, x := range c.spent {
			out[x.Cluster] = true
		}
	}
	return out
}

// judgeHub counts the members of the hub that lose something without approval. What a tenant that
// is refused loses by its own doing is not removed in any case.
func (c *commit) judgeHub() {
	counts := func(r lifecycle.Removal) bool {
		tenant, _ := c.before.tenantOf(r.Cluster)
		return c.tenants[tenant] == "" || !c.own()[keyOfRemoval(r)]
	}
	now := map[string]bool{}
	for _, r := range c.unapproved {
		if counts(r) {
			now[r.Cluster] = true
		}
	}
	losing := c.losingMembers(counts)
	c.losing, c.members = len(losing), len(c.before.byCluster)
	if c.allowed = c.terms.budget(c.members); c.isOverBudget() {
		c.whole = fmt.Sprintf("%d of the hub's %d members would lose something%s; %s may without approval", c.losing, c.members, recent(c.losing-len(now)), atMost(c.allowed))
	}
}

// recent says how many lost something within the window and nothing now.
func recent(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", with %d that did a short time ago", n)
}

// nameCauses finds the losses of a file that several members share, or of another layout, that only
// a pattern approves: those need an approval that names the member.
func (c *commit) nameCauses(f *fleet.Fleet, hub string, lost []lifecycle.Holding, now time.Time) {
	gone, shared := c.goneFiles(), map[holdingKey]bool{}
	for _, h := range lost {
		shared[keyOfHolding(h)] = gone[h.Source] || c.before.shape != c.accepted.shape
	}
	for _, r := range c.approved {
		if key := keyOfRemoval(r); r.Reason == lifecycle.Lost && shared[key] && !c.isNamed(fleet.Approval.NamesMember, f, hub, r, now) {
			c.named[key] = "a file that several members share, or the layout, no longer gives it; that needs an approval that names the member"
		}
	}
}

// goneFiles are the files that switched something on for several members and switch on nothing any
// more.
func (c *commit) goneFiles() map[string]bool {
	out, still := map[string]bool{}, sourcesOf(c.accepted)
	for source, members := range sourcesOf(c.before) {
		out[source] = len(members) > 1 && len(still[source]) == 0
	}
	return out
}

// judgeCause refuses a loss that has one cause for several members and that nobody has stated: a
// file that switched components on for them is gone or empty, or the layout finds other files. A
// file in a tenant's own folder is the tenant's alone. It returns why the hub loses nothing.
func (c *commit) judgeCause(lost []lifecycle.Holding) (cause string) {
	silent := map[holdingKey]bool{}
	for _, r := range c.unapproved {
		if r.Reason == lifecycle.Lost {
			silent[keyOfRemoval(r)] = true
		}
	}
	if len(silent) == 0 {
		return ""
	}
	if c.before.shape != c.accepted.shape {
		return fmt.Sprintf("the layout no longer finds what %s", membersHave(len(clustersOf(c.unapproved))))
	}
	gone := c.goneFiles()
	for _, h := range lost {
		key := keyOfHolding(h)
		if !silent[key] || !gone[h.Source] {
			continue
		}
		tenant, _ := c.before.tenantOf(h.Cluster)
		switch {
		case tenant == "" || !c.own()[key]:
			cause = cmp.Or(cause, fmt.Sprintf("%s is gone or empty, which switched on what %s", h.Source, membersHave(len(clustersOf(c.unapproved)))))
		case c.tenants[tenant] == "":
			_, losing := c.byTenant(clustersOf(c.unapproved))
			c.tenants[tenant] = fmt.Sprintf("%s is gone or empty, which switched on what %s", h.Source, membersHave(losing[tenant]))
			c.ownDoing[tenant] = true
		}
	}
	return cause
}

func membersHave(n int) string {
	if n == 1 {
		return "1 member has; that needs an approval"
	}
	return fmt.Sprintf("%d members have; that needs an approval", n)
}

// sourcesOf returns the members for which a file switches anything on.
func sourcesOf(h *holdings) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for cluster, all := range h.byCluster {
		for _, x := range all {
			if x.Source == "" || x.Component == fleetstate.Registration {
				continue
			}
			if out[x.Source] == nil {
				out[x.Source] = map[string]bool{}
			}
			out[x.Source][cluster] = true
		}
	}
	return out
}

// protect finds the protected components that no approval names, and teams that the hub loses while
// the file of a member, which may be theirs, cannot be read.
func (c *commit) protect(st *fleetstate.State, hub string, now time.Time) {
	for _, r := range c.unapproved {
		if all := st.Fleet.Faulty(hub); len(all) > 0 && r.Group == team.Group && st.Resolver().Teams().Has(r.Component) {
			c.named[keyOfRemoval(r)] = fmt.Sprintf("%s would lose %s, and %s cannot be read", r.Cluster, r.Component, all[0].Pos.File)
		}
	}
	for _, r := range slices.Concat(c.unapproved, c.approved) {
		if r.Group != fleetstate.FleetGroup || !slices.Contains(protected, r.Component) {
			continue
		}
		if _, isHub := c.before.tenantOf(r.Cluster); isHub && !c.isNamed(fleet.Approval.Names, st.Fleet, hub, r, now) {
			c.named[keyOfRemoval(r)] = fmt.Sprintf("%s would lose its own %s/%s; that needs an approval that names it", r.Cluster, r.Group, r.Component)
		}
	}
}

func keyOfHolding(h lifecycle.Holding) holdingKey { return holdingKey{h.Cluster, h.Group, h.Component} }

// keyOfRemoval names what is removed. An Application without labels is a registration's.
func keyOfRemoval(r lifecycle.Removal) holdingKey {
	if r.Group == "" && r.Component == "" {
		return holdingKey{r.Cluster, fleetstate.FleetGroup, fleetstate.Registration}
	}
	return holdingKey{r.Cluster, r.Group, r.Component}
}

// accept keeps in the next baseline what this state may not remove.
func (c *commit) accept(st *fleetstate.State, hub string, lost []lifecycle.Holding) {
	after := &holdings{shape: c.accepted.shape, byCluster: maps.Clone(c.accepted.byCluster), computed: c.accepted.computed, terms: c.terms}
	if c.whole != "" {
		after.shape = c.before.shape
	}
	after.terms.Refused = c.keepRefused(st, hub)
	for _, h := range lost {
		if c.refused[keyOfHolding(h)] {
			after.restore([]lifecycle.Holding{h})
		}
	}
	c.accepted = after
}

// spend remembers the removals that are made without approval.
func (c *commit) spend(now time.Time) {
	for _, r := range c.unapproved {
		if c.refuses(r, false) == "" {
			tenant, _ := c.before.tenantOf(r.Cluster)
			c.spent = append(c.spent, spent{lifecycle.Item{Cluster: r.Cluster, Group: r.Group, Component: r.Component}, now, tenant})
		}
	}
}

// refuses returns why a removal may not be made, "" if it may.
func (c *commit) refuses(r lifecycle.Removal, approved bool) string {
	if text := c.named[keyOfRemoval(r)]; text != "" || approved || c.before == nil {
		return text
	}
	tenant, _ := c.before.tenantOf(r.Cluster)
	if c.ownDoing[tenant] {
		return c.tenants[tenant]
	}
	if text := cmp.Or(c.whole, c.tenants[tenant]); text != "" || !c.stays[keyOfRemoval(r)] {
		return text
	}
	return earlier
}

// refusal returns why a response may not be given that has a loss, "" if it may.
func (c *commit) refusal(l loss) string {
	for _, r := range l.approved {
		if text := c.refuses(r, true); text != "" {
			return text
		}
	}
	for _, r := range l.unapproved {
		if text := c.refuses(r, false); text != "" && !c.isLeaving(r) {
			return text
		}
	}
	return ""
}

// isLeaving reports whether an earlier commit of the window began the removal.
func (c *commit) isLeaving(r lifecycle.Removal) bool {
	return !c.refused[keyOfRemoval(r)] && slices.ContainsFunc(c.spent, func(x spent) bool { return holdingKey{x.Cluster, x.Group, x.Component} == keyOfRemoval(r) })
}
