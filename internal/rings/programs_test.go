package rings

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// programPolicies are the policies of programs: one of everything, two of other components each,
// and two of other tenants each.
var programPolicies = [][2]string{
	{"", ""},
	{"scope: {components: [addons/component-000]}\n", "scope: {components: [addons/component-001, addons/component-002]}\n"},
	{"scope: {tenants: [tenant-0, platform]}\n", "scope: {tenants: [tenant-1, tenant-2]}\n"},
}

const programRings = `apiVersion: argosy.dev/v1alpha1
kind: Rollout
%srings:
  - {name: canary, maxUnavailable: %d, soak: 3s, onFailure: back, selector: {matchLabels: {environment: dev}}}
  - {name: staging, maxUnavailable: 100%%, selector: {matchLabels: {environment: staging}}}
  - {name: prod, selector: {matchLabels: {environment: prod}}}
`

// program is a random sequence of commits, of what Argo CD makes of them, and of restarts.
type program struct {
	*testing.T
	random *rand.Rand
	fleet  fleettest.Options
	files  map[string]*snapshot.File
	steps  []string
	now    time.Time
	folder *store.Folder

	commits     int
	st          *fleetstate.State
	apps        map[string]facts.Application
	known       facts.Set
	rings       *Rings
	cache       *response.Cache
	queries     map[string][]query.Query
	reconsiders bool
	// served is the view that was served last, with what was frozen in it.
	served *view
	holds  plainHolds
	states map[string]*fleetstate.State // by revision
	sets   int                          // that were compared
	// hasOldRegistrations reports that what registers members writes no digest.
	hasOldRegistrations bool
}

func newProgram(t *testing.T, seed uint64) *program {
	t.Helper()
	folder, err := store.NewFolder(t.TempDir())
	require.NoError(t, err)
	p := &program{
		T: t, random: rand.New(rand.NewPCG(seed, 20)), fleet: fleettest.Options{Clusters: 70, Components: 3, Tenants: 3, Overrides: 1, Seed: 1},
		files: map[string]*snapshot.File{}, folder: folder, now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), apps: map[string]facts.Application{}, states: map[string]*fleetstate.State{},
		queries: map[string][]query.Query{
			"all":       {{View: query.Components, Hub: fleettest.Hub, Group: fleettest.Group}},
			"members":   {{View: query.Members, Hub: fleettest.Hub}},
			"canary":    {{View: query.Components, Hub: fleettest.Hub, Group: fleettest.Group, Release: "canary"}},
			"selection": {{View: query.Components, Hub: fleettest.Hub, Group: fleettest.Group, Component: fleettest.Component(1), Selector: map[string]any{"matchLabels": map[string]any{"environment": "dev"}}}},
		},
	}
	for c := range p.fleet.Components {
		p.queries[fleettest.Component(c)] = []query.Query{{View: query.Components, Hub: fleettest.Hub, Group: fleettest.Group, Component: fleettest.Component(c)}}
	}
	for path, text := range fleettest.Files(p.fleet) {
		p.put(path, text)
	}
	p.known = facts.NewSet(false).WithApplications().WithHealth()
	p.restart()
	p.commit()
	for i, scope := range programPolicies[seed%uint64(len(programPolicies))] {
		if i == 0 || scope != "" {
			p.put(fmt.Sprintf("fleet/rollouts/policy-%d.yaml", i), fmt.Sprintf(programRings, scope, i))
		}
	}
	p.commit()
	return p
}

func (p *program) put(path, text string) {
	p.files[path] = snapshot.NewFile(path, []byte(text), snapshot.MaxFileSize)
}

// restart begins anew with what the store has.
func (p *program) restart() {
	p.cache = new(response.Cache)
	p.rings = New(Options{
		Hub: fleettest.Hub, Responses: p.cache, Logger: slog.New(slog.DiscardHandler), Store: store.New(p.folder), Now: func() time.Time { return p.now },
		State: func() *fleetstate.State { return p.st }, Queries: func() map[string][]query.Query { return p.queries },
		Reconsider: func() { p.reconsiders = true },
	})
	if p.st != nil {
		p.publish(p.st.Resolver().Snapshot)
	}
}

func (p *program) snapshot() *snapshot.Snapshot {
	p.commits++
	return snapshot.New(fmt.Sprintf("revision-%d", p.commits), maps.Clone(p.files))
}

func (p *program) commit() {
	p.Helper()
	p.publish(p.snapshot())
}

// build makes a state, which may be a candidate alone.
func (p *program) build(s *snapshot.Snapshot) *fleetstate.State {
	p.Helper()
	st, err := fleetstate.Build(p.st, s, p.known)
	require.NoError(p, err, "%v", p.steps)
	return st
}

// publish serves a state and has the rings look, until none moves.
func (p *program) publish(s *snapshot.Snapshot) {
	p.Helper()
	for p.reconsiders = true; p.reconsiders; {
		p.reconsiders = false
		p.st = p.build(s)
		p.states[p.st.Revision] = p.st
		p.rings.Serving(p.st)
		holds := p.holdsOf(p.st)
		if p.random.IntN(4) == 0 {
			p.compare(p.st) // before the look
		}
		if v := p.rings.viewOf(p.st); v.frozen.lacks == "" {
			p.served, p.holds = v, holds
		}
		p.rings.Look(context.Background())
		p.compare(p.st)
	}
}

// holdsOf is what is frozen in a state.
func (p *program) holdsOf(st *fleetstate.State) plainHolds {
	if p.served == nil {
		return nil
	}
	var cells []cell
	for i := range p.fleet.Clusters {
		cells = append(cells, cell{fleettest.Cluster(i), fleetstate.FleetGroup, fleetstate.Registration})
		for c := range p.fleet.Components {
			cells = append(cells, cell{fleettest.Cluster(i), fleettest.Group, fleettest.Component(c)})
		}
	}
	return p.holds.next(p.rings.viewOf(st), p.served, p.states, cells)
}

// compare compares what a state is answered, and how healthy the rings are, with the plain
// computation.
func (p *program) compare(st *fleetstate.State) {
	p.Helper()
	v := p.rings.viewOf(st)
	if v.frozen.lacks != "" {
		return
	}
	holds := p.holdsOf(st)
	for _, name := range slices.Sorted(maps.Keys(p.queries)) {
		q := p.queries[name][0]
		is, err := p.rings.Respond(context.Background(), st, q)
		if slices.ContainsFunc(v.rings, func(x ringView) bool { return x.lacks != "" }) {
			continue
		}
		sets, failure := plainSets(v, holds, q)
		if (err == nil) != (failure == nil) {
			p.Fatalf("%v: query %s: %v, plainly %v", p.steps, name, err, failure)
		}
		if err != nil {
			continue
		}
		if want := plainText(v, holds, sets); string(is.Bytes()) != want || is.Len() != len(want) || is.Sets() != len(sets) {
			p.Fatalf("%v: query %s: the response is not the plain one", p.steps, name)
		}
		p.sets += len(sets)
	}
	if len(v.rings) == 0 || slices.ContainsFunc(v.rings, func(x ringView) bool { return x.lacks != "" }) {
		return
	}
	if is, want := p.rings.health(context.Background(), v), plainHealth(v, holds, p.queries); !reflect.DeepEqual(is, want) {
		p.Fatalf("%v: the health is\n%v\nplainly\n%v", p.steps, is, want)
	}
}

// settle has Argo CD take everything, healthy, until all rings have the newest revision.
func (p *program) settle() {
	p.Helper()
	for range 5 {
		p.apply(1, 0)
		p.now = p.now.Add(5 * time.Second)
		p.publish(p.st.Resolver().Snapshot)
	}
}

// arrived fails unless the newest commit has passed all rings of the first policy.
func (p *program) arrived() {
	p.Helper()
	for _, ring := range p.rings.Report().Rollouts[0].Rings {
		if !ring.IsNewest || !ring.Passed {
			p.Errorf("ring %s has %s: %s", ring.Name, ring.Revision, ring.Text)
		}
	}
}

// apply has Argo CD take what one of so many clusters is answered. Some become ill.
func (p *program) apply(share, illness int) {
	names := map[string]string{"members": fleetstate.Registration}
	for c := range p.fleet.Components {
		names[fleettest.Component(c)] = fleettest.Component(c)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all, err := p.rings.Respond(context.Background(), p.st, p.queries[name][0])
		if err != nil {
			continue
		}
		before := maps.Clone(p.apps)
		maps.DeleteFunc(p.apps, func(_ string, a facts.Application) bool { return a.Component == names[name] })
		all.ParameterSets(func(s response.ParameterSet) { // what is not answered is gone, and what is removed soon
			item := s.Item()
			if was, there := before[item.Name]; p.random.IntN(share) > 0 {
				if there {
					p.apps[item.Name] = was
				}
				return
			}
			if item.IsRemoval {
				return
			}
			a := facts.Application{Name: item.Name, Cluster: item.Cluster, Group: item.Group, Component: item.Component, Digest: s.Digest(), Healthy: true}
			if p.hasOldRegistrations && item.Group == fleetstate.FleetGroup {
				a.Digest = ""
			}
			switch {
			case illness == 1 && p.random.IntN(8) == 0:
				a.Healthy, a.Degraded = false, true
			case illness == 2 && p.random.IntN(8) == 0:
				a.Healthy = false
			case illness == 3 && p.random.IntN(8) == 0:
				a.Broken = p.now.UnixMilli()
			}
			p.apps[item.Name] = a
		})
	}
	p.known = p.known.WithApplications(slices.Collect(maps.Values(p.apps))...)
}

// enableInDev has the first ring a component or not.
func (p *program) enableInDev(component string, is bool) {
	for t := range p.fleet.Tenants {
		p.put(fmt.Sprintf("addons/tenants/tenant-%d/environments/dev/application-sets/addons.yaml", t), fmt.Sprintf("components: {%s: {enabled: %t}}\n", component, is))
	}
}

// change changes a file.
func (p *program) change() string {
	i := p.random.IntN(p.fleet.Clusters)
	name, tenant := fleettest.Cluster(i), p.fleet.Tenant(i)
	member := "fleet/fleet-members/" + fleettest.Hub + "/" + name + ".yaml"
	text := fmt.Sprintf("clusterName: %s\ntenant: %s\nenvironment: %s\nsecretManagerSecretName: %[1]s\n", name, tenant, p.fleet.Environment(i))
	own := "addons/tenants/" + tenant + "/clusters/" + name + "/"
	component := fleettest.Component(p.random.IntN(p.fleet.Components))
	switch p.random.IntN(11) {
	case 9, 10:
		return p.hold(name, component)
	case 0:
		p.put("addons/defaults/addons/"+component+"/values.yaml", fmt.Sprintf("replicas: %d\n", p.commits))
		return "a value of all"
	case 1, 2:
		p.put(own+"addons/"+component+"/values.yaml", fmt.Sprintf("replicas: %d\n", p.commits))
		return "a value of " + name
	case 3, 4: // of a whole ring: then it may have nothing
		p.enableInDev(component, p.random.IntN(2) == 0)
		return component + " of dev on or off"
	case 5:
		p.put(own+"application-sets/addons.yaml", fmt.Sprintf("components: {%s: {enabled: %t}}\n", component, p.random.IntN(2) > 0))
		return component + " of " + name + " on or off"
	case 6:
		if p.files[member] != nil {
			delete(p.files, member)
			return name + " leaves"
		}
		p.put(member, text)
		return name + " joins"
	case 7:
		p.put(member, text+stages[p.random.IntN(len(stages))])
		return name + " drains, is handed over, retires, breaks or is as before"
	}
	const policy = "fleet/rollouts/policy-0.yaml"
	text = string(p.files[policy].Data)
	if p.files["fleet/rollouts/policy-1.yaml"] != nil || p.random.IntN(2) == 0 {
		p.put(policy, text+"# again\n")
		return "the policy is written anew"
	}
	_, rings, _ := strings.Cut(text, "rings:")
	scope := []string{"", "scope: {components: [addons/component-000]}\n", "scope: {groups: [fleet, addons]}\n", "scope: {tenants: [tenant-0, platform]}\n"}[p.random.IntN(4)]
	p.put(policy, "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\n"+scope+"rings:"+rings)
	return "the policy has " + scope
}

// hold writes, changes or removes a hold.
func (p *program) hold(cluster, component string) string {
	file := fmt.Sprintf("fleet/holds/hold-%d.yaml", p.random.IntN(2))
	if p.files[file] != nil && p.random.IntN(2) == 0 {
		delete(p.files, file)
		return file + " goes"
	}
	members := []string{"clusters: [" + cluster + ", " + fleettest.Cluster(p.random.IntN(p.fleet.Clusters)) + "]", "selector: {matchLabels: {environment: dev}}", "selector: {matchLabels: {tenant: tenant-0}}"}
	components := []string{"addons/" + component, "addons/*", "\"*\"", "fleet/fleet-secret"}
	text := fmt.Sprintf("apiVersion: argosy.dev/v1alpha1\nkind: Hold\n%s\ncomponents: [%s]\nowner: me\nreason: a test\nuntil: 2027-01-01\n",
		members[p.random.IntN(len(members))], components[p.random.IntN(len(components))])
	p.put(file, text)
	return file + " is " + text
}

func (p *program) step() {
	p.Helper()
	switch p.random.IntN(12) {
	case 0, 1, 2:
		p.steps = append(p.steps, p.change())
		p.commit()
	case 3:
		p.steps = append(p.steps, "a candidate is tried: "+p.change())
		p.compare(p.build(p.snapshot()))
	case 4:
		p.steps = append(p.steps, "restart")
		p.restart()
	case 5, 6:
		p.steps = append(p.steps, "time passes")
		p.now = p.now.Add(time.Duration(1+p.random.IntN(40)) * time.Second)
		p.publish(p.st.Resolver().Snapshot)
	case 7, 8:
		p.steps = append(p.steps, "all rings take the newest")
		p.settle()
	default:
		p.steps = append(p.steps, "Argo CD takes responses")
		p.apply(1+p.random.IntN(2), p.random.IntN(6))
		p.publish(p.st.Resolver().Snapshot)
	}
}

// TestSharedRingsAreThePlainOnes: in random programs of commits, joins, departures, changes of
// health and restarts, responses that share what stays have the bytes of those that share nothing,
// and so has the health of the rings. (G6, G7, G8)
func TestSharedRingsAreThePlainOnes(t *testing.T) {
	moves := map[string]bool{}
	for seed := range uint64(cases.Times(1)) {
		p := newProgram(t, seed)
		for range 24 {
			p.step()
			for _, x := range p.rings.Report().Rollouts {
				for _, ring := range x.Rings {
					moves[fmt.Sprint(seed, x.Name, ring.Name, ring.Revision)] = true
				}
			}
		}
		if p.sets == 0 {
			t.Errorf("%v: nothing is compared", p.steps)
		}
	}
	if t.Logf("rings have %d revisions", len(moves)); len(moves) < 7*cases.Times(1) {
		t.Error("the programs do too little")
	}
}

// TestComponentArrivesWithItsRing: a component that the first ring lacked is answered there as soon
// as the ring takes it. Until it runs there, the ring is not healthy. (G8)
func TestComponentArrivesWithItsRing(t *testing.T) {
	p := newProgram(t, 0)
	p.settle()
	p.enableInDev(fleettest.Component(0), false)
	p.commit()
	p.settle()
	p.enableInDev(fleettest.Component(0), true)
	p.commit()
	p.now = p.now.Add(time.Minute)
	p.publish(p.st.Resolver().Snapshot)
	rings := p.rings.Report().Rollouts[0].Rings
	if newest := p.st.Revision; rings[0].Revision != newest || rings[0].Passed || rings[2].Revision == newest {
		t.Errorf("the rings are %+v", rings)
	}
	p.settle()
	for _, ring := range p.rings.Report().Rollouts[0].Rings {
		if !ring.IsNewest || !ring.Passed {
			t.Errorf("once it runs, ring %s has %s: %s", ring.Name, ring.Revision, ring.Text)
		}
	}
}

// stages are what a member file ends with.
var stages = []string{"lifecycle: draining\n", "use_remote_argo: true\nenable_remote_addons: true\n", "lifecycle: retired\n", "tenannt: x\n", ""}

// TestComponentLeavesWithItsRing: a commit takes all that a policy is about from the first ring. It
// has nothing to wait for then, and the later rings take the commit.
func TestComponentLeavesWithItsRing(t *testing.T) {
	p := newProgram(t, 1) // its first policy is about one component
	p.settle()
	p.enableInDev(fleettest.Component(0), false)
	p.commit()
	p.settle()
	p.arrived()
}

// TestRegistrationsAreJudged: a policy about group fleet waits for the Applications that register
// its members.
func TestRegistrationsAreJudged(t *testing.T) {
	p := newProgram(t, 0)
	p.put("fleet/rollouts/policy-0.yaml", fmt.Sprintf(programRings, "scope: {groups: [fleet]}\n", 0))
	p.commit()
	p.commit()
	ring := func(i int) Ring { return p.rings.Report().Rollouts[0].Rings[i] }
	p.publish(p.st.Resolver().Snapshot)
	if ring(0).Passed || ring(1).IsNewest {
		t.Fatalf("no Application is there, and the first ring has passed: %+v", ring(0))
	}
	p.settle()
	p.arrived()
	delete(p.queries, "members") // its ApplicationSet is not there
	p.put("fleet/rollouts/policy-1.yaml", fmt.Sprintf(programRings, "scope: {components: [addons/component-000]}\n", 0))
	p.commit()
	if ring(0).Passed {
		t.Errorf("nobody asks for the registrations, and the first ring has passed: %+v", ring(0))
	}
}

// TestOldRegistrationsHoldUpNothing: Applications that register members, of an ApplicationSet that
// writes no digest, leave a policy about group fleet and others to the others.
func TestOldRegistrationsHoldUpNothing(t *testing.T) {
	p := newProgram(t, 0)
	p.hasOldRegistrations = true
	p.put("fleet/rollouts/policy-0.yaml", fmt.Sprintf(programRings, "scope: {groups: [fleet, addons]}\n", 0))
	p.commit()
	p.settle()
	p.put("addons/defaults/addons/"+fleettest.Component(0)+"/values.yaml", "replicas: 7\n")
	p.commit()
	p.settle()
	p.arrived()
}

// TestComponentsOfGroupFleetAreWaitedFor: a ring does not pass before the ApplicationSet of a
// component of group fleet is there.
func TestComponentsOfGroupFleetAreWaitedFor(t *testing.T) {
	p := newProgram(t, 0)
	p.put("fleet/rollouts/policy-0.yaml", fmt.Sprintf(programRings, "scope: {components: [fleet/argo-cd]}\n", 0))
	p.commit()
	p.settle()
	p.put("addons/defaults/application-sets/fleet.yaml", "components: {argo-cd: {enabled: true, namespace: argocd, chart: {repoURL: https://charts.example.com, name: argo-cd, version: 1.0.0}}}\n")
	p.commit()
	p.settle()
	if ring := p.rings.Report().Rollouts[0].Rings[0]; !ring.IsNewest || ring.Passed {
		t.Errorf("nobody asks for the component, and the first ring has passed: %+v", ring)
	}
}

// TestRingWithoutRegistrationsPasses: nothing registers the hub itself, so a ring of it alone holds
// up no policy about group fleet.
func TestRingWithoutRegistrationsPasses(t *testing.T) {
	p := newProgram(t, 0)
	p.put("fleet/rollouts/policy-0.yaml", "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nscope: {groups: [fleet]}\n"+
		"rings: [{name: itself, selector: {matchLabels: {cluster: "+fleettest.Hub+"}}}, {name: others, selector: {matchLabels: {environment: dev}}}]\n")
	p.commit()
	p.commit()
	p.settle()
	p.arrived()
}

// TestScopesOfRevisions: a policy gets a wider scope, and a narrower one, while later rings have
// revisions with another one. Each component is answered from where the plain computation says.
func TestScopesOfRevisions(t *testing.T) {
	const all, one, members = "", "scope: {components: [addons/component-000]}\n", "scope: {tenants: [tenant-0]}\n"
	for _, scopes := range [][]string{{one, all}, {members, one, all}} {
		p := newProgram(t, 0)
		say := func(scope string) {
			p.steps = append(p.steps, scope)
			p.put("fleet/rollouts/policy-0.yaml", fmt.Sprintf(programRings, scope, 0))
			for c := range p.fleet.Components {
				p.put("addons/defaults/addons/"+fleettest.Component(c)+"/values.yaml", fmt.Sprintf("replicas: %d\n", p.commits))
			}
			p.commit() // compares
		}
		say(scopes[0])
		p.settle()
		for _, scope := range scopes {
			say(scope)
		}
		p.settle()
	}
}
