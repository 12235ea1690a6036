package responsesize

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// tenantsPart is how much of a response's limit tenants' own changes may fill, in percent. The rest
// is left to what the platform changes.
const tenantsPart = 75

// Options configure a Judge. All are required.
type Options struct {
	Hub string
	// MaxBytes is the size beyond which no response is given.
	MaxBytes int64
	// Queries returns those that engines ask.
	Queries func() []query.Query
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
	for _, q := range j.o.Queries() {
		if q.View != query.Components && q.View != query.Members && q.View != query.Agents {
			continue
		}
		if len(grown) == len(held) {
			break
		}
		var was *response.Response // nil where there was none
		if before, err := j.o.Responses.Get(previous, q); err == nil {
			was = before
		}
		like := was
		if !previous.Facts().Equal(desired.Facts()) {
			like = nil
		}
		is, err := new(response.Cache).GetLike(desired, q, like) // the state may never be served
		if err != nil {
			continue
		}
		excess := int64(is.Len()) - j.o.MaxBytes*tenantsPart/100
		if excess <= 0 {
			continue
		}
		growth := sizes(is, grown)
		for tenant, n := range sizes(was, grown) {
			growth[tenant] -= n
		}
		byGrowth := slices.SortedFunc(maps.Keys(growth), func(a, b string) int {
			return cmp.Or(cmp.Compare(growth[b], growth[a]), cmp.Compare(a, b))
		})
		for _, tenant := range byGrowth {
			if excess <= 0 || growth[tenant] <= 0 {
				break
			}
			excess -= growth[tenant]
			if _, already := held[tenant]; !already {
				held[tenant] = fleetstate.Hold{
					Hub: j.o.Hub, Tenant: tenant, Members: slices.Sorted(maps.Keys(grown[tenant])), Reason: problem.TenantBudget,
					Message: fmt.Sprintf("what its files say makes a response (%s) larger than %d%% of the %d bytes that it may have", aboutOf(q), tenantsPart, j.o.MaxBytes),
				}
			}
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

// sizes are the bytes of a response about members of tenants, by tenant. The response may be nil.
func sizes(r *response.Response, tenants map[string]map[string]bool) map[string]int64 {
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
			out[tenant] += int64(s.Len())
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
