package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
)

// Rule M3: at no moment do two engines have a group. The ledger looks at each change of anything,
// from the first on.

// clashes are the moments at which two engines had a group.
type clashes struct {
	mu    sync.Mutex
	found []string
	now   map[string]bool
}

// owned is a group of a member.
type owned struct{ member, group string }

// own is the engine of each member of its own, as the ledger calls where its objects are, and their
// kind.
var own = map[string]struct{ where, kind string }{
	agent: {engine, "Application"}, fluxMember: {fluxMember, "HelmRelease"},
}

// deploys reports of which group of a member an object makes an engine deploy, and whether it is
// the hub's. A HelmRelease that is suspended deploys nothing.
func deploys(k key, o *unstructured.Unstructured) (what owned, byHub, is bool) {
	labels := o.GetLabels()
	what = owned{labels["argosy.dev/cluster"], labels["argosy.dev/group"]}
	engine, isAgent := own[what.member]
	if !isAgent || labels["argosy.dev/component"] == "" {
		return what, false, false
	}
	if suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend"); suspended {
		return what, false, false
	}
	byHub = k.cluster == hub.Name
	return what, byHub, byHub && k.kind == "Application" || k.cluster == engine.where && k.kind == engine.kind
}

// look notes the groups that two engines have from now on.
func (c *clashes) look(known map[key]entry) {
	byHub, bySelf := map[owned]string{}, map[owned]string{}
	for k, e := range known {
		if what, hubs, is := deploys(k, e.object); is && hubs {
			byHub[what] = k.name
		} else if is {
			bySelf[what] = k.name
		}
	}
	now := map[string]bool{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for what, name := range byHub {
		if other, both := bySelf[what]; both {
			id := fmt.Sprintf("%s of %s", what.group, what.member)
			if now[id] = true; !c.now[id] {
				c.found = append(c.found, fmt.Sprintf("%s %s: the hub has %s, and the member %s", time.Now().Format("15:04:05.000"), id, name, other))
			}
		}
	}
	c.now = now
}

// exclusive fails for each moment so far at which two engines had a group.
func (a *agents) exclusive(t *testing.T) {
	t.Helper()
	a.clashes.mu.Lock()
	defer a.clashes.mu.Unlock()
	if len(a.clashes.found) > 0 {
		t.Errorf("two engines had a group:\n%s", strings.Join(a.clashes.found, "\n"))
	}
	a.clashes.found = nil
}

// deployed are the objects by which an engine deploys a group of a member.
func (a *agents) deployed(what owned, byHub bool) []string {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	var out []string
	for k, e := range a.ledger.known {
		if other, hubs, is := deploys(k, e.object); is && other == what && hubs == byHub {
			out = append(out, k.name)
		}
	}
	slices.Sort(out)
	return out
}

// turn is a group's way from one engine to the other.
type turn struct {
	name  string
	toHub bool
	// down is the service that is stopped before the commit, and started when the other has taken
	// it in and nothing happens.
	down *plugin.Plugin
	// stays tells that the engine that is to let go has the group until then.
	stays bool
}

// turns are all ways that a group of a member can change hands.
func (a *agents) turns(member *plugin.Plugin) []turn {
	return []turn{
		{name: "to the hub", toHub: true},
		{name: "to the member"},
		{name: "to the hub, whose service is down", toHub: true, down: a.Plugin, stays: true},
		{name: "to the member, whose service is down", down: member},
		{name: "to the hub, while the member's service is down", toHub: true, down: member, stays: true},
		{name: "to the member, while the hub's service is down", down: a.Plugin, stays: true},
	}
}

// hand commits a turn of a group, and sees to the service that is to be down. It gives the moment
// from which on nothing is in the way.
func (a *agents) hand(t *testing.T, what owned, x turn, up *plugin.Plugin) time.Time {
	t.Helper()
	if x.down != nil {
		must(t, x.down.Process.Kill())
	}
	flag := "enable_remote_" + what.group + ": "
	from, to := `"false"`, `"true"`
	if x.toHub {
		from, to = to, from
	}
	a.replace(t, memberFile(what.member), flag+from, flag+to)
	had := a.deployed(what, !x.toHub)
	began := a.push(t, what.group+" of "+what.member+" go "+x.name)
	if x.down == nil {
		return began
	}
	a.takenIn(t, up)
	since := time.Now()
	a.within(t, 4*patience, "what can be done with one service is done", func() string {
		last := a.ledger.last()
		if last.Before(since) {
			last = since
		}
		if quietFor := time.Since(last); quietFor < 2*quiet {
			return fmt.Sprintf("the last change was %s ago", quietFor.Round(time.Millisecond))
		}
		return ""
	})
	if has := a.deployed(what, x.toHub); len(has) > 0 {
		t.Errorf("the new engine has %v, though a service is down", has)
	}
	if left := a.deployed(what, !x.toHub); x.stays && !slices.Equal(had, left) {
		t.Errorf("the old engine had %v, and with a service down %v", had, left)
	}
	began = time.Now()
	must(t, x.down.Process.Restart(t.Context()))
	return began
}

// takenIn waits until a service answers from the last commit.
func (a *agents) takenIn(t *testing.T, p *plugin.Plugin) {
	t.Helper()
	head, err := a.Fleet.Head(t.Context())
	must(t, err)
	a.within(t, 2*patience, "the commit taken in", func() string {
		var out struct{ Revision string }
		a.ask(t, p, http.MethodGet, "/api/v1/fleet", nil, &out)
		if out.Revision != head {
			return "it is at " + out.Revision
		}
		return ""
	})
}

// other is the service that is up in a turn.
func (a *agents) other(x turn, member *plugin.Plugin) *plugin.Plugin {
	if x.down == a.Plugin {
		return member
	}
	return a.Plugin
}

// flip gives addons of the member with Argo CD to the hub and back, with each of the services down.
func (a *agents) flip(t *testing.T) {
	what := owned{agent, "addons"}
	for _, x := range a.turns(a.agent.Plugin) {
		t.Run(x.name, func(t *testing.T) {
			from, to, remote := hub.Name, engine, []string{"addons", "resources"}
			if x.toHub {
				from, to, remote = engine, hub.Name, []string{"resources"}
			}
			mark, uids, moving := a.ledger.mark(), a.ledger.uids(agent), a.of(from, agent)
			maps.DeleteFunc(moving, func(_ string, o *unstructured.Unstructured) bool {
				return o.GetLabels()["argosy.dev/group"] != what.group
			})
			began := a.hand(t, what, x, a.other(x, a.agent.Plugin))
			a.owned(t, remote...)
			a.timed("agents", "flip "+x.name+": to one owner each, all synced, and quiet", began)
			a.exclusive(t)
			a.notRecreated(t, agent, uids)
			a.only(t, mark, func(c change) bool {
				return c.cluster != neighbour && (c.cluster != fluxMember || c.kind == "Deployment" && c.name == fluxService && c.what == "changed")
			})
			a.undeleted(t, mark, func(c change) bool {
				return c.cluster == from && moving[c.name] != nil || c.cluster == engine && (c.name == "addons" || c.name == "application-sets-addons-default") ||
					c.cluster == hub.Name && c.name == "grant-addons-"+agent
			})
			a.expected(t)
			a.checkPlan(t)
			a.handover(t, mark, x.name, from, to, moving)
		})
	}
}

// fluxFlip gives resources of the member with Flux to the hub and back, with each of the services
// down.
func (a *agents) fluxFlip(t *testing.T) {
	what := owned{fluxMember, "resources"}
	for _, x := range a.turns(a.flux.Plugin) {
		t.Run(x.name, func(t *testing.T) {
			mark, uids, moving := a.ledger.mark(), a.ledger.uids(fluxMember), a.deployed(what, !x.toHub)
			maps.DeleteFunc(uids, func(object string, _ types.UID) bool { return strings.HasPrefix(object, "HelmRelease/") })
			began := a.hand(t, what, x, a.other(x, a.flux.Plugin))
			a.within(t, 4*patience, "one owner of each component", func() string {
				if has := a.deployed(what, x.toHub); !slices.Equal(has, moving) {
					return fmt.Sprintf("%v of %v have changed hands", has, moving)
				}
				hubs, own := a.parts(t, fluxMember)
				releases := a.ledger.all(fluxMember, "HelmRelease")
				delete(releases, fluxService)
				return different(hub.Name, hubs, a.of(hub.Name, fluxMember)) + different(fluxMember, own, releases)
			})
			a.timed("agents", "Flux, flip "+x.name+": to one owner each", began)
			a.synced(t)
			a.fluxOwned(t)
			if len(moving) == 0 {
				t.Error("nothing has changed hands")
			}
			a.exclusive(t)
			a.notRecreated(t, fluxMember, uids)
			a.only(t, mark, func(c change) bool { return c.cluster != neighbour && c.cluster != agent })
			a.undeleted(t, mark, func(c change) bool {
				return c.cluster == fluxMember && c.kind == "HelmRelease" && x.toHub || c.cluster == hub.Name && (strings.HasSuffix(c.name, "-"+fluxMember))
			})
			a.expected(t)
			a.checkPlan(t)
		})
	}
}
