package rings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/roster"
)

// Kind is that of a Report.
const Kind = "RolloutStatus"

// Report is what all rollouts of a hub have and wait for.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Hub        string `json:"hub"`
	// Revision is the newest accepted one.
	Revision string    `json:"revision"`
	Rollouts []Rollout `json:"rollouts"`
}

// Rollout is one policy.
type Rollout struct {
	Name   string        `json:"name"`
	Scope  rollout.Scope `json:"scope"`
	Paused bool          `json:"paused,omitempty"`
	// Problem is why the records cannot be used or written.
	Problem string `json:"problem,omitempty"`
	// InForce says that an earlier policy counts than the one in the newest files, and until when.
	InForce *InForce `json:"inForce,omitempty"`
	Rings   []Ring   `json:"rings"`

	// Policy is the policy that counts.
	Policy *rollout.Policy `json:"-"`
}

// InForce is a policy that counts although its file has changed or is gone.
type InForce struct {
	// Revision is the one that brought it into force. It counts until Ring has taken the revision
	// Until, or a newer one; on an agent, without a Ring, until its hub says so.
	Revision string `json:"revision"`
	Ring     string `json:"ring,omitempty"`
	Until    string `json:"until"`
	// Text says it in one line.
	Text string `json:"text"`
}

// Ring is one ring, in the order in which they take a revision.
type Ring struct {
	Name    string `json:"name"`
	Members int    `json:"members"`
	// Revision is what its members are answered from, Train its number, and Since when they got it.
	Revision string    `json:"revision"`
	Train    int       `json:"train"`
	Since    time.Time `json:"since,omitzero"`
	// HealthySince is when its soak began, absent while it is not healthy.
	HealthySince time.Time `json:"healthySince,omitzero"`
	// Passed reports that its revision has passed its gate.
	Passed bool `json:"passed"`
	// IsNewest reports that it has the newest revision.
	IsNewest bool `json:"newest"`
	// Rejection is why it went back from a newer revision.
	Rejection string `json:"rejection,omitempty"`
	// Wait is what it waits for, and Text that in one line.
	Wait *rollout.Wait `json:"wait,omitempty"`
	Text string        `json:"text,omitempty"`
}

// For is the report for a reader who does not see all members or groups: without the rollouts of
// which it sees no member, and without what names or counts others.
func (r Report) For(st *fleetstate.State, sees func(*fleet.Member) bool, seesGroup func(group string) bool) Report {
	rollouts := r.Rollouts
	r.Rollouts = []Rollout{}
	served := roster.Served(st, r.Hub)
	for _, one := range rollouts {
		members := map[string]int{}
		for _, m := range served {
			if i := roster.RingIn(one.Policy, m); i != roster.None && sees(m) {
				members[one.Policy.Rings[i].Name]++
			}
		}
		if len(members) == 0 {
			continue
		}
		one.Problem = ""
		one.Scope = rollout.Scope{Groups: slices.DeleteFunc(slices.Clone(one.Scope.Groups), func(group string) bool { return !seesGroup(group) })}
		one.Rings = slices.Clone(one.Rings)
		for i, ring := range one.Rings {
			ring.Members = members[ring.Name]
			one.Rings[i] = ring.Hidden(func(cluster string) bool {
				return slices.ContainsFunc(served, func(m *fleet.Member) bool { return m.Name == cluster && sees(m) })
			})
		}
		r.Rollouts = append(r.Rollouts, one)
	}
	return r
}

// Hidden is a ring without what it says of clusters that a reader does not see.
func (r Ring) Hidden(sees func(cluster string) bool) Ring {
	r.Rejection = ""
	if r.Wait == nil || r.Wait.Cluster != "" && sees(r.Wait.Cluster) {
		return r
	}
	wait := *r.Wait
	wait.Cluster, wait.Detail = "", ""
	r.Wait, r.Text = &wait, wait.String()
	return r
}

// Report is what all rollouts have and wait for now.
func (r *Rings) Report() Report {
	out := Report{APIVersion: rollout.APIVersion, Kind: Kind, Hub: r.o.Hub, Rollouts: []Rollout{}}
	st := r.o.State()
	if st == nil {
		return out
	}
	out.Revision = st.Revision
	if !r.HasPolicies(st) {
		return out
	}
	v := r.viewOf(st)
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, x := range v.rings {
		p := r.policies[x.policy.Name]
		if p == nil {
			continue
		}
		one := Rollout{Name: x.policy.Name, Scope: x.policy.Scope, Paused: x.policy.Paused, Problem: p.problem, InForce: x.inForce(p.log, st), Rings: []Ring{}, Policy: x.policy}
		if x.lacks != "" {
			one.Problem = x.lacks
		}
		if x.groups != nil {
			one.Rings = append(one.Rings, v.followedRing(n, p.log))
			out.Rollouts = append(out.Rollouts, one)
			continue
		}
		for i, ring := range x.policy.Rings {
			record := p.log.Rings[ring.Name]
			entry := Ring{
				Name: ring.Name, Members: v.roster.Size(n, i), Revision: v.revision(x.places[i]), Train: record.Train.Number, Since: record.Since,
				HealthySince: record.HealthySince, Passed: record.HasPassed(), IsNewest: x.places[i] == 0, Rejection: record.Rejection,
			}
			for _, w := range p.waits {
				if w.Ring == ring.Name {
					entry.Wait, entry.Text = &w, w.String()
				}
			}
			one.Rings = append(one.Rings, entry)
		}
		out.Rollouts = append(out.Rollouts, one)
	}
	return out
}

// inForce says that the policy counts although its file has changed; nil where it has not.
func (x ringView) inForce(log rollout.Log, st *fleetstate.State) *InForce {
	if !x.isPending || log.InForce == nil {
		return nil
	}
	f := log.InForce
	out := &InForce{Revision: f.From.Revision, Until: cmp.Or(f.Until.Revision, st.Revision)}
	what, who := "as its file has changed", "its hub follows"
	if newestOf(st, x.policy.Name) == nil {
		what = "as its file is gone"
	}
	if x.groups == nil {
		out.Ring = f.Rings[len(f.Rings)-1].Name
		who = "ring " + out.Ring + " has taken"
	}
	out.Text = fmt.Sprintf("the policy of revision %s is in force, %s, until %s %s", rollout.Short(out.Revision), what, who, rollout.Short(out.Until))
	return out
}

// followedRing is the ring of an agent: it has what the hub has announced, one group after another.
func (v *view) followedRing(policy int, log rollout.Log) Ring {
	x, agent := v.rings[policy], agentOf(v.st)
	out := Ring{Text: "follows the ring of its hub"}
	if i := v.ringOf(policy, agent); i >= 0 {
		out.Name, out.Members = x.policy.Rings[i].Name, 1
	}
	says := announced(v.st, x.policy.Name)
	for _, group := range slices.Sorted(maps.Keys(x.groups)) {
		if !x.policy.Scope.CoversPart(group) || x.groups[group] == lost {
			continue
		}
		if revision := v.revision(x.groups[group]); out.Revision == "" || says[group] != "" {
			out.Revision, out.IsNewest = revision, x.groups[group] == 0
		}
		switch revision := says[group]; {
		case revision != "" && log.Followed(group) != revision:
			out.Text = "waits for the files of revision " + revision + ", which its hub has announced"
		case revision != "":
			out.Since = log.Rings[group].Since
		}
	}
	if len(says) == 0 {
		out.Text = "keeps what it has: its hub has announced nothing"
	}
	return out
}
