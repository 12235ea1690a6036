package server_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
)

// program is a random sequence of commits and of what Argo CD makes of them, over a fleet in two
// rings: a in the first, b, c and the hub in the second.
type program struct {
	*orderly
	random  *rand.Rand
	files   map[string]string
	steps   []string
	drained map[string]string // what clusters were answered when they began to drain
	prod    string            // the revision of the second ring
	texts   map[string]string // what was answered last
}

const (
	memberC = "clusterName: c\ntenant: retail\nenvironment: prod\nsecretManagerSecretName: hub-1/c\n"
	fileB   = "fleet/fleet-members/hub-1/b.yaml"
	fileC   = "fleet/fleet-members/hub-1/c.yaml"
)

var memberFiles = map[string]struct{ file, text string }{"a": {fileA, memberA}, "b": {fileB, memberB}, "c": {fileC, memberC}}

// notes are what a set says of where it comes from: a refused removal adds a note, and another
// revision, to what a cluster keeps.
var notes = regexp.MustCompile(`"(hold|revision|digest)":"[^"]*",?`)

func newProgram(t *testing.T, seed uint64) *program {
	t.Helper()
	p := &program{
		orderly: newOrderly(t), random: rand.New(rand.NewPCG(seed, 12)), drained: map[string]string{},
		files: inRings(map[string]string{fileC: memberC, "fleet/layout.yaml": "guard: {maxRemovals: 0}\n"}),
	}
	first := p.say(p.files).Revision
	p.answers()
	p.healthy("dns-a", "dns-b", "dns-c", "dns-hub-1")
	p.ring("prod", first)
	p.look("begin")
	return p
}

// calm waits until the rings move no more by themselves: a look at them, and a state that is
// published after it, change nothing.
func (p *program) calm() {
	p.Helper()
	for {
		before, st := p.Rollouts(), p.Refresher().State()
		p.LookAtRings(p.Context())
		p.Refresher().Reconsider()
		p.until("a state is published", func(refresh.Status) bool { return p.Refresher().State() != st })
		if reflect.DeepEqual(before.Rollouts, p.Rollouts().Rollouts) {
			return
		}
	}
}

// look takes in a response, once the rings are calm, and compares it with the one before.
func (p *program) look(step string) {
	p.Helper()
	p.steps = append(p.steps, step)
	p.calm()
	r := p.askAs(ofDNS, askDNS)
	if r.code != http.StatusOK {
		if r.code != http.StatusServiceUnavailable {
			p.Fatalf("%v: %d %s", p.steps, r.code, r.body)
		}
		return // Argo CD keeps everything
	}
	texts := p.texts
	p.texts = p.orderly.texts()
	prod := p.prod
	for _, x := range p.Rollouts().Rollouts {
		p.prod = x.Rings[1].Revision
	}
	for _, name := range []string{"a", "b", "c"} {
		was, had := texts[name]
		is, has := p.texts[name]
		st := p.Refresher().State()
		m := st.Cluster("hub-1", name).Member // a broken or held one is as it was
		isDraining := st.DrainingRevision(st.Fleet.Member("hub-1", name)) != ""
		wasDraining := p.drained[name] != ""
		if !isDraining {
			delete(p.drained, name)
		} else if p.drained[name] == "" {
			p.drained[name] = was
		}
		switch {
		case m.Owner("addons") != "hub":
			if has {
				p.Errorf("%v: the hub answers %s, which is its own engine's (M1)", p.steps, name)
			}
		case !had:
		case !has, strings.Contains(is, `"deletion":"cascade"`):
			p.Errorf("%v: %s is removed beyond the budget (G3)", p.steps, name)
		case isDraining && notes.ReplaceAllString(is, "") != notes.ReplaceAllString(p.drained[name], ""):
			p.Errorf("%v: %s drains, and changes (D2)\n%s\n%s", p.steps, name, p.drained[name], is)
		case name != "a" && p.prod == prod && isDraining == wasDraining && is != was && !strings.Contains(is, `"hold"`) && !strings.Contains(was, `"hold"`):
			p.Errorf("%v: %s changes while its ring stays at %s (G7)\n%s\n%s", p.steps, name, prod, was, is)
		case strings.Contains(is, "broken-value"):
			p.Errorf("%v: %s is answered from a broken file (G2)\n%s", p.steps, name, is)
		}
	}
}

// step carries out one step.
func (p *program) step() {
	p.Helper()
	name := []string{"a", "b", "c"}[p.random.IntN(3)]
	file := memberFiles[name]
	commit := func(step string) {
		p.say(p.files)
		p.look(step)
	}
	switch p.random.IntN(10) {
	case 0, 1:
		p.files[valuesOfAll] = fmt.Sprintf("replicas: %d\n", p.random.IntN(1000))
		commit("a value of all")
	case 2:
		p.files["addons/tenants/retail/clusters/"+name+"/application-sets/addons.yaml"] = "dns: {enabled: false}\n"
		commit("dns of " + name + " off")
	case 3:
		delete(p.files, "addons/tenants/retail/clusters/"+name+"/application-sets/addons.yaml")
		commit("dns of " + name + " on")
	case 4:
		p.files["addons/tenants/retail/clusters/"+name+"/addons/dns/values.yaml"] = "name: [broken-value\n"
		commit(name + " breaks")
	case 5:
		delete(p.files, "addons/tenants/retail/clusters/"+name+"/addons/dns/values.yaml")
		commit(name + " is repaired")
	case 6:
		p.files[file.file] = file.text + "lifecycle: draining\n"
		commit(name + " drains")
	case 7:
		p.files[file.file] = file.text + "use_remote_argo: true\n" + remoteAddons
		commit(name + " is handed over")
	case 8, 9:
		p.apply(ofDNS, askDNS)
		p.health(true, slices.Collect(maps.Keys(p.apps))...)
		p.LookAtRings(p.Context())
		p.look("all are healthy")
	}
}

// TestProgramsKeepAllPromisesInRollouts: in random programs of commits, removals stay within the
// budget, a later ring keeps its bytes until it takes a commit, and quarantine, hand-over and
// draining do in a rollout what they do without one. (D2, G2, G3, G7, M1)
func TestProgramsKeepAllPromisesInRollouts(t *testing.T) {
	for seed := range uint64(cases.Times(2)) {
		p := newProgram(t, seed)
		for range 12 {
			if p.step(); t.Failed() {
				t.Fatalf("seed %d: %v", seed, p.steps)
			}
		}
	}
}
