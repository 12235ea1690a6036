package responsesize

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
)

// tenantsPart is how much of a response's limit tenants' own changes may fill, in percent. The rest
// is left to what the platform changes.
const tenantsPart = 75

// Query is a query of an engine, with the limits beyond which it has no response.
type Query struct {
	query.Query
	MaxBytes int64
	// MaxInputs is how many inputs Flux Operator takes; 0 for a query of Argo CD.
	MaxInputs int
}

// Options configure a Judge. All are required.
type Options struct {
	Hub string
	// Queries returns those that engines ask.
	Queries func() []Query
	// Responses cache those of states.
	Responses *response.Cache
	Logger    *slog.Logger
}

// First decides before which tenants are held for something else.
type First interface {
	Await(ctx context.Context) bool
	Holds(previous, desired *fleetstate.State) []fleetstate.Hold
}

// Judge holds tenants for what another one holds them, and for the size of responses. It is a
// refresh.Judge.
type Judge struct {
	First
	o Options
}

// After makes a Judge that decides after another one.
func After(first First, o Options) *Judge { return &Judge{first, o} }

// Holds returns the tenants to hold. Previous is the served state, nil before the first.
func (j *Judge) Holds(previous, desired *fleetstate.State) []fleetstate.Hold {
	holds := j.First.Holds(previous, desired)
	if previous == nil {
		return holds
	}
	for _, h := range j.tooLarge(previous, desired.Hold(previous, holds)) {
		if !slices.ContainsFunc(holds, func(o fleetstate.Hold) bool { return o.Hub == h.Hub && o.Tenant == h.Tenant }) {
			holds = append(holds, h)
		}
	}
	return holds
}

// tooLarge returns the tenants to hold for the size of responses of a state.
func (j *Judge) tooLarge(previous, desired *fleetstate.State) []fleetstate.Hold {
	grown := tenantsWithChanges(previous, desired, j.o.Hub)
	held := map[string]fleetstate.Hold{}
	// hold holds those that grow most of what a response has too much of.
	hold := func(was, is *response.Response, excess int64, measure func(response.ParameterSet) int64, message string) {
		if excess <= 0 {
			return
		}
		growth := sizes(is, grown, measure)
		for tenant, n := range sizes(was, grown, measure) {
			growth[tenant] -= n
		}
		byGrowth := slices.SortedFunc(maps.Keys(growth), func(a, b string) int {
			return cmp.Or(cmp.Compare(growth[b], growth[a]), cmp.Compare(a, b))
		})
		for _, tenant := range byGrowth {
			if excess <= 0 || growth[tenant] <= 0 {
				return
			}
			excess -= growth[tenant]
			if _, already := held[tenant]; !already {
				held[tenant] = fleetstate.Hold{
					Hub: j.o.Hub, Tenant: tenant, Members: slices.Sorted(maps.Keys(grown[tenant])), Reason: problem.TenantBudget, Message: "what its files say " + message,
				}
			}
		}
	}
	for _, q := range j.o.Queries() {
		if q.View != query.Components && q.View != query.Members && q.View != query.Agents {
			continue
		}
		if len(grown) == len(held) {
			break
		}
		was, is := j.responses(previous, desired, q)
		if is == nil {
			continue
		}
		about := fmt.Sprintf("makes a response (%s) larger than %d%% of the %d bytes that it may have", aboutOf(q.Query), tenantsPart, q.MaxBytes)
		if q.MaxInputs > 0 {
			about = fmt.Sprintf("makes Flux Operator's inputs (%s) larger than %d%% of the %d bytes that they may have", aboutOf(q.Query), tenantsPart, q.MaxBytes)
		}
		hold(was, is, int64(is.Len())-q.MaxBytes*tenantsPart/100, func(s response.ParameterSet) int64 { return int64(s.Len()) }, about)
		if q.MaxInputs > 0 {
			hold(was, is, int64(is.Sets()-q.MaxInputs), func(response.ParameterSet) int64 { return 1 },
				fmt.Sprintf("makes more inputs of Flux Operator (%s) than the %d that its provider takes", aboutOf(q.Query), q.MaxInputs))
		}
	}
	out := slices.SortedFunc(maps.Values(held), func(a, b fleetstate.Hold) int { return strings.Compare(a.Tenant, b.Tenant) })
	for _, h := range out {
		if !slices.ContainsFunc(previous.Holds(h.Hub), h.Equal) {
			j.o.Logger.Error("a tenant's values are too large for a response; its members keep their last known good snapshots",
				"tenant", h.Tenant, "hub", h.Hub, "revision", desired.Revision, "problem", h.Message)
		}
	}
	return out
}

// responses are those of two states to a query, nil where there is none.
func (j *Judge) responses(previous, desired *fleetstate.State, q Query) (was, is *response.Response) {
	if q.MaxInputs > 0 {
		was, _ = response.Inputs(previous, q.Query)
		is, _ = response.Inputs(desired, q.Query)
		return was, is
	}
	if before, err := j.o.Responses.Get(context.Background(), previous, q.Query); err == nil {
		was = before
	}
	like := was
	if !previous.Facts().Equal(desired.Facts()) {
		like = nil
	}
	if now, err := new(response.Cache).GetLike(context.Background(), desired, q.Query, like); err == nil { // the state may never be served
		is = now
	}
	return was, is
}

// tenantsWithChanges are the tenants of a hub with members whose own files, in folders that the
// tenant writes, are not those that the previous state serves them from; with all of their members.
func tenantsWithChanges(previous, desired *fleetstate.State, hub string) map[string]map[string]bool {
	changed := map[*snapshot.Snapshot][]string{}
	out := map[string]map[string]bool{}
	members := map[string]map[string]bool{}
	for _, m := range desired.Fleet.Members(hub) {
		if m.IsHub || m.Tenant == "" {
			continue
		}
		if members[m.Tenant] == nil {
			members[m.Tenant] = map[string]bool{}
		}
		members[m.Tenant][m.Name] = true
		was, now := previous.Cluster(hub, m.Name), desired.Cluster(hub, m.Name)
		if out[m.Tenant] != nil || was == nil || now == nil || was == now {
			continue
		}
		good := previous.ResolverOf(was).Snapshot
		if _, done := changed[good]; !done {
			changed[good] = snapshot.Changed(good, desired.Resolver().Snapshot)
		}
		for _, dir := range desired.TenantFolders(now.Desired()) {
			// The paths are sorted: the folder's are the first ones from its own name on.
			i, _ := slices.BinarySearch(changed[good], dir+"/")
			if i < len(changed[good]) && strings.HasPrefix(changed[good][i], dir+"/") {
				out[m.Tenant] = members[m.Tenant]
				break
			}
		}
	}
	return out
}

// sizes are the sums of a measure of a response's sets about members of tenants, by tenant. The
// response may be nil.
func sizes(r *response.Response, tenants map[string]map[string]bool, measure func(response.ParameterSet) int64) map[string]int64 {
	out := map[string]int64{}
	if r == nil {
		return out
	}
	of := map[string]string{}
	for tenant, members := range tenants {
		for name := range members {
			of[name] = tenant
		}
	}
	r.ParameterSets(func(s response.ParameterSet) {
		if tenant, known := of[s.Item().Cluster]; known {
			out[tenant] += measure(s)
		}
	})
	return out
}

// aboutOf is what a query asks for, in words.
func aboutOf(q query.Query) string {
	switch {
	case q.Component != "":
		return fmt.Sprintf("view %s, component %s/%s", q.View, q.Group, q.Component)
	case q.Group != "":
		return fmt.Sprintf("view %s, group %s", q.View, q.Group)
	}
	return fmt.Sprintf("view %s", q.View)
}
