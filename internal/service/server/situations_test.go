package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// situationMembers are m1 (dev), m2 and m3 (prod) of tenant red, and b1 (prod) of tenant blue.
var situationMembers = []string{"m1", "m2", "m3", "b1"}

const (
	ofAddons  = "addons"
	askAddons = `{"view":"components","group":"addons"}`
	sharedOff = "addons/defaults/application-sets/addons.yaml"
)

// situation is a hub that runs what it is answered, and the repository that the next commit
// changes.
type situation struct {
	*orderly
	files map[string]string
	clock *clock
}

// step changes the repository, or the world.
type step func(s *situation)

func newSituation(t *testing.T) *situation {
	t.Helper()
	now := newClock("2026-11-21T12:00:00Z")
	s := &situation{orderly: newOrderly(t, now.option), clock: now, files: repository(nil)}
	s.sets.mu.Lock() // the service reads them already
	s.sets.sets = []facts.ApplicationSet{{Name: ofAddons, Requests: []json.RawMessage{[]byte(askAddons)}}}
	s.sets.mu.Unlock()
	delete(s.files, fileA)
	delete(s.files, "fleet/fleet-members/hub-1/b.yaml")
	s.files["fleet/layout.yaml"] = "guard: {maxRemovals: 1}\n"
	catalog, none := "", ""
	for _, component := range []string{"a", "b", "c"} {
		catalog += fmt.Sprintf("%s: {enabled: %t, namespace: %[1]s, chart: {repoURL: https://example.org/charts, name: %[1]s, version: 1.0.0}}\n", component, component != "c")
		none += component + ": {enabled: false}\n"
		s.files[rev(component)] = "rev: 1\n"
	}
	s.files[sharedOff] = catalog
	s.files["addons/control-plane/defaults/application-sets/addons.yaml"] = none
	delete(s.files, valuesOfAll)
	for _, m := range situationMembers {
		s.files[memberFile(m)] = memberOf(m)
	}
	return s
}

func memberFile(name string) string { return "fleet/fleet-members/hub-1/" + name + ".yaml" }

func memberOf(name string) string {
	tenant, environment := "red", "prod"
	if name == "b1" {
		tenant = "blue"
	}
	if name == "m1" {
		environment = "dev"
	}
	return "clusterName: " + name + "\ntenant: " + tenant + "\nenvironment: " + environment + "\nsecretManagerSecretName: x\n"
}

// rev is the file that says which revision has changed a component last.
func rev(component string) string { return "addons/defaults/addons/" + component + "/values.yaml" }

// own is a file of a member's own folder.
func own(member, path string) string {
	tenant := "red"
	if member == "b1" {
		tenant = "blue"
	}
	return "addons/tenants/" + tenant + "/clusters/" + member + "/" + path
}

// ownCatalog switches components of a member on or off.
func ownCatalog(member string) string { return own(member, "application-sets/addons.yaml") }

// put writes files by path. An empty text removes the file.
func put(pairs ...string) step {
	return func(s *situation) {
		for i := 0; i < len(pairs); i += 2 {
			s.files[pairs[i]] = pairs[i+1]
		}
		maps.DeleteFunc(s.files, func(_, text string) bool { return text == "" })
	}
}

// upgrade changes components for all.
func upgrade(n int, components ...string) step {
	return func(s *situation) {
		for _, c := range components {
			s.files[rev(c)] = fmt.Sprintf("rev: %d\n", n)
		}
	}
}

// replace changes a text in a file.
func replace(path, from, to string) step {
	return func(s *situation) {
		if !strings.Contains(s.files[path], from) {
			s.Fatalf("%s has no %q: %s", path, from, s.files[path])
		}
		s.files[path] = strings.Replace(s.files[path], from, to, 1)
	}
}

// switched switches a component on or off for all.
func switched(component string, is bool) step {
	return func(s *situation) {
		replace(sharedOff, fmt.Sprintf("%s: {enabled: %t", component, !is), fmt.Sprintf("%s: {enabled: %t", component, is))(s)
	}
}

// adds appends keys to members' files.
func adds(text string, members ...string) step {
	return func(s *situation) {
		for _, m := range members {
			s.files[memberFile(m)] += text
		}
	}
}

func approves(text string) step { return put(approval, approvalOf("- {"+text+", reason: r}")) }

// commit says the repository with changes, and waits until nothing moves any more.
func (s *situation) commit(changes ...step) {
	s.Helper()
	for _, change := range changes {
		change(s)
	}
	s.say(maps.Clone(s.files))
	s.looks()
}

// syncs makes the engine apply what it is answered, and all of it healthy.
func syncs(s *situation) {
	for range 4 {
		s.apply(ofAddons, askAddons)
		s.health(true, slices.Collect(maps.Keys(s.apps))...)
		s.looks()
	}
}

// served is what is answered: for each component the revision of its values on each member, with
// the reasons of holds; once, if all members have the same.
func (s *situation) served() string {
	s.Helper()
	r := s.askAs(ofAddons, askAddons)
	if r.code != http.StatusOK {
		return fmt.Sprintf("%d %s", r.code, r.message())
	}
	rows := map[[2]string]string{}
	for _, set := range querytest.Sets(s, []byte(r.body)) {
		text := strings.TrimSpace(strings.TrimPrefix(set.Text("helmValues"), "rev: "))
		if set.Text("deletion") == "cascade" {
			text += "~"
		}
		if rows[[2]string{set.Text("name"), set.Text("component")}] = text; !slices.Contains(situationMembers, set.Text("name")) {
			return "a set of " + set.Text("name")
		}
	}
	holds := s.Holds(s.Refresher().State())
	var out []string
	for _, component := range []string{"a", "b", "c"} {
		var cells []string
		isThere := false
		for _, m := range situationMembers {
			text := rows[[2]string{m, component}]
			isThere = isThere || text != ""
			if text == "" {
				text = "-"
			}
			reasons := map[string]bool{}
			for _, h := range holds {
				if (h.Cluster == "" || h.Cluster == m) && (h.Group == "" || h.Group == "addons" && (h.Component == "" || h.Component == component)) {
					reasons[string(h.Reason)] = true
				}
			}
			if len(reasons) > 0 && (text != "-" || component != "c") {
				text += "/" + strings.Join(slices.Sorted(maps.Keys(reasons)), "+")
			}
			cells = append(cells, text)
		}
		if slices.Equal(cells, slices.Repeat(cells[:1], len(cells))) {
			cells = cells[:1]
		}
		if isThere || component != "c" {
			out = append(out, component+" "+strings.Join(cells, " "))
		}
	}
	return strings.Join(out, ", ")
}

// settles waits until this is served, and checks that it stays: rings move after the service has
// taken in the facts.
func (s *situation) settles(want string, step int) {
	s.Helper()
	for range 20 {
		if s.served() == want {
			break
		}
		s.looks()
	}
	s.published()
	assert.Equal(s, want, s.served(), "step %d", step)
}

// then is a commit, or what happens without one, and what is served afterwards.
type then struct {
	changes []step
	// without reports that there is no commit: the steps change the world.
	without bool
	want    string
}

func at(want string, changes ...step) then    { return then{changes: changes, want: want} }
func happens(want string, world ...step) then { return then{changes: world, without: true, want: want} }

const ringsOfA = `apiVersion: argosy.dev/v1alpha1
kind: Rollout
scope: {components: [addons/a]}
rings:
  - {name: first, selector: {matchLabels: {environment: dev}}}
  - {name: second, selector: {matchLabels: {environment: prod}}}
`

const aTypo = "tenannt: x\n"

// TestSituations: the situations of docs/holds.md with the right answer. Everything is at 1 before.
func TestSituations(t *testing.T) {
	t.Parallel()
	ringsOfAC := strings.Replace(ringsOfA, "addons/a]", "addons/a, addons/c]", 1)
	approved := strings.Replace(ringsOfAC, "environment: prod}}", "environment: prod}}, approval: required", 1)
	back := strings.Replace(ringsOfAC, "environment: dev}}", "environment: dev}}, onFailure: back", 1)
	for name, steps := range map[string][]then{
		"01 broken values": {
			at("a 1/broken 1 1 1, b 1/broken 2 2 2", put(own("m1", "addons/a/values.yaml"), "["), upgrade(2, "b")),
			at("a 1/broken 1 1 1, b 1/broken 3 3 3", upgrade(3, "b")),
			at("a 4, b 4", put(own("m1", "addons/a/values.yaml"), ""), upgrade(4, "a", "b")),
		},
		"03 a broken newcomer": {at("a 2, b 1", put(memberFile("m9"), memberOf("m9")+aTypo), upgrade(2, "a"))},
		"04 switched off for all": {
			at("a 1/removal, b 2", switched("a", false), upgrade(2, "b")),
			at("a 1/removal, b 3", upgrade(3, "b")),
			at("a 1~ 1~ 1~ 1/removal, b 3", approves("clusters: [m1, m2, m3], components: [addons/a]")),
		},
		"06 the budget of the commit itself": {
			at("a 1/removal, b 1", put("fleet/layout.yaml", "guard: {maxRemovals: 100%}\n"), switched("a", false)),
			at("a 1/removal, b 1", put("README.yaml", "x: 1\n")),
			at("a 1/removal, b 1~", switched("b", false)),
		},
		"07 one retires": {at("a - 1 1 1, b - 1 1 1", adds("lifecycle: retired\n", "m1"))},
		"08 two retire": {
			at("a 1/removal 1/removal 1 1, b 1/removal 1/removal 1 1", adds("lifecycle: retired\n", "m1", "m2")),
			at("a 1/broken+removal 3 3 3, b 1/broken+removal 1 1 1", put(memberFile("m1"), memberOf("m1")+aTypo, memberFile("m2"), memberOf("m2")), upgrade(3, "a")),
		},
		"09 rings": {
			at("a 1, b 1", put(policyFile, ringsOfA)),
			happens("a 1, b 1", syncs),
			at("a 2 1/ring 1/ring 1/ring, b 1", upgrade(2, "a")),
			at("a 2 1/ring 1/ring 1/ring, b 3", upgrade(3, "b")),
			happens("a 2, b 3", syncs),
		},
		"10 a broken member in a ring": {
			at("a 1, b 1", put(policyFile, ringsOfA)),
			happens("a 1, b 1", syncs),
			at("a 2 1/ring 1/ring 1/ring, b 1", upgrade(2, "a")),
			at("a 2 1/ring 1/ring 1/ring, b 3", upgrade(3, "b")),
			at("a 2 1/broken 1/ring 1/ring, b 3 3/broken 3 3", put(own("m2", "addons/b/values.yaml"), "[")),
			happens("a 2 1/broken 2 2, b 3 3/broken 3 3", syncs),
			at("a 2, b 3", put(own("m2", "addons/b/values.yaml"), "")),
		},
		"11 a component of a ring comes and goes": {
			at("a 1, b 1", put(policyFile, approved)),
			happens("a 1, b 1", syncs),
			at("a 1, b 1, c 1 - - -", switched("c", true)),
			happens("a 1, b 1, c 1 - - -", syncs),
			at("a 1, b 3, c 1~ - - -", switched("c", false), upgrade(3, "b")),
			happens("a 1, b 3", syncs),
		},
		"12 a ring goes back": {
			at("a 1, b 1", put(policyFile, back)),
			happens("a 1, b 1", syncs),
			at("a 2 1/ring 1/ring 1/ring, b 1, c 1 - - -", upgrade(2, "a"), switched("c", true)),
			happens("a 1/ring, b 1, c 1~/ring - - -", degrade("a-m1", "c-m1")),
			at("a 4 1/ring 1/ring 1/ring, b 1, c 1 - - -", upgrade(4, "a")),
		},
		"13 draining": {
			at("a 1 1/draining 1 1, b 1 1/draining 1 1", put("fleet/layout.yaml", "guard: {maxRemovals: 3}\n"), adds("lifecycle: draining\n", "m2")),
			at("a 3 1/draining 3 3, b 1~ 1/draining 1~ 1~, c 1 - 1 1", upgrade(3, "a"), switched("c", true), switched("b", false)),
		},
		"14 a dependency": {
			at("a 1, b 1", replace(sharedOff, "b: {enabled: true", "b: {enabled: true, dependsOn: [addons/a]")),
			happens("a 1, b 1", syncs),
			at("a 2, b 1/dependency", upgrade(2, "a", "b")),
			happens("a 2, b 2", syncs),
		},
		"17 a hold by hand": {
			at("a 1 1/manual 1 1, b 1", put(holdFile, holdOf("clusters: [m2]\ncomponents: [addons/a]\n"))),
			at("a 3 1/manual 3 3, b 1", upgrade(3, "a")),
			at("a 3 1/manual 3 3, b 1", put(ownCatalog("m2"), "a: {enabled: false}\n")),
			happens("a 3 3~ 3 3, b 1", clockAt("2026-12-25T00:00:00Z")),
		},
		"24 a retirement that cannot be read": {at("a 1/broken 2 2 2, b 1/broken 1 1 1", adds("lifecycle: retired\n"+aTypo, "m1"), upgrade(2, "a"))},
		"25 all become agents without an engine": {
			at("a 1, b 1", put("addons/defaults/application-sets/fleet.yaml", "argo-cd: {enabled: true, namespace: argocd, selector: {matchLabels: {use_remote_argo: \"true\"}}, chart: {repoURL: https://example.org/charts, name: argo-cd, version: 1.0.0}}\n")),
			at("a 1/handover, b 1/handover", adds("use_remote_argo: true\nenable_remote_addons: true\n", situationMembers...)),
			at("a 2/handover, b 1/handover", upgrade(2, "a")),
		},
		"26 a policy is deleted": {
			at("a 1, b 1", put(policyFile, ringsOfA)),
			happens("a 1, b 1", syncs),
			at("a 2 1/ring 1/ring 1/ring, b 1", put(policyFile, ""), upgrade(2, "a")),
			at("a 2 1/ring 1/ring 1/ring, b 3", upgrade(3, "b")),
			happens("a 2, b 3", syncs),
		},
		"27 a broken layout":       {at("a 1/broken, b 1/broken", put("fleet/layout.yaml", "[\n"), upgrade(2, "a"))},
		"28 approved by name":      {at("a 1~, b 1", switched("a", false), approves("clusters: [m1, m2, m3, b1], components: [addons/a]"))},
		"28 approved by a pattern": {at("a 1/removal, b 1", switched("a", false), approves("clusters: [\"*\"], components: [addons/a]"))},
		"29 a held member retires": {
			at("a 1 1/manual 1 1, b 1", put(holdFile, holdOf("clusters: [m2]\ncomponents: [addons/a]\n"))),
			at("a 1 1/manual 1 1, b 1 - 1 1", adds("lifecycle: retired\n", "m2")),
			happens("a 1 - 1 1, b 1 - 1 1", clockAt("2026-12-25T00:00:00Z")),
		},
		"30 wanted again while it leaves": {
			at("a 1~ 1 1 1, b 1", put(ownCatalog("m1"), "a: {enabled: false, deletion: cascade}\n")),
			at("a -/broken 1 1 1, b 1/broken 1 1 1", adds(aTypo, "m1")),
			at("a 4, b 1", put(memberFile("m1"), memberOf("m1"), ownCatalog("m1"), ""), upgrade(4, "a")),
		},
		"31 another namespace": {at("a 1/removal, b 1", replace(sharedOff, "namespace: a", "namespace: other"))},
		"31 on one member":     {at("a 1, b 1", put(ownCatalog("m1"), "a: {namespace: other}\n"))},
		"held by hand in a ring": {
			at("a 1, b 1", put(policyFile, ringsOfA)),
			happens("a 1, b 1", syncs),
			at("a 1/manual 2 2 2, b 1", put(holdFile, holdOf("clusters: [m1]\ncomponents: [addons/a]\n")), upgrade(2, "a")),
			at("a 2, b 1", put(holdFile, "")),
		},
		"held by hand, and switched off": {
			at("a 1/manual, b 1", put(holdFile, holdOf("selector: {}\ncomponents: [addons/a]\n"))),
			at("a 1/manual, b 1", switched("a", false)),
			at("a 1/manual, b 1 1 1 1~", put(ownCatalog("b1"), "b: {enabled: false}\n")),
			at("a 1/removal, b 1 1 1 -", put(holdFile, "")),
		},
		"what it depends on is held by hand": {
			at("a 1, b 1", replace(sharedOff, "b: {enabled: true", "b: {enabled: true, dependsOn: [addons/a]")),
			happens("a 1, b 1", syncs),
			at("a 2 1/manual 2 2, b 1/dependency", put(holdFile, holdOf("clusters: [m2]\ncomponents: [addons/a]\n")), upgrade(2, "a", "b")),
			happens("a 2 1/manual 2 2, b 2 1/dependency 2 2", syncs),
			at("a 2, b 2 1/dependency 2 2", put(holdFile, "")),
			happens("a 2, b 2", syncs),
		},
		"draining, and held by hand": {
			at("a 1 1/draining 1 1, b 1 1/draining 1 1", adds("lifecycle: draining\n", "m2")),
			at("a 2 1/draining+manual 2 2, b 1 1/draining 1 1", put(holdFile, holdOf("clusters: [m2]\ncomponents: [addons/a]\n")), upgrade(2, "a")),
			at("a 3 1/manual 3 3, b 3", put(memberFile("m2"), memberOf("m2")), upgrade(3, "a", "b")),
			at("a 3, b 3", put(holdFile, "")),
		},
		"broken, and then draining": {
			at("a 1 1/broken 1 1, b 1 1/broken 1 1", adds(aTypo, "m2")),
			at("a 2 1/draining 2 2, b 1 1/draining 1 1", put(memberFile("m2"), memberOf("m2")+"lifecycle: draining\n"), upgrade(2, "a")),
			at("a 3, b 1", put(memberFile("m2"), memberOf("m2")), upgrade(3, "a")),
		},
		"broken in one ring, and its policy goes": {
			at("a 1, b 1", put(policyFile, ringsOfA)),
			happens("a 1, b 1", syncs),
			at("a 2 1/ring 1/ring 1/ring, b 1", upgrade(2, "a")),
			at("a 2 1/broken 1/ring 1/ring, b 1 1/broken 1 1", adds(aTypo, "m2")),
			at("a 2 1/broken 1/ring 1/ring, b 1 1/broken 1 1", put(policyFile, "")),
			happens("a 2 1/broken 2 2, b 1 1/broken 1 1", syncs),
			at("a 2 1/broken 2 2, b 3 1/broken 3 3", upgrade(3, "b")),
			at("a 2, b 3", put(memberFile("m2"), memberOf("m2"))),
		},
		"approved while it is broken": {
			at("a 1/removal, b 1", switched("a", false)),
			at("a 1/removal 1/broken+removal 1/removal 1/removal, b 1 1/broken 1 1", adds(aTypo, "m2")),
			at("a 1~ 1/broken 1~ 1~, b 1 1/broken 1 1", approves("clusters: [m1, m2, m3, b1], components: [addons/a]")),
			at("a - 1~ - -, b 1", put(memberFile("m2"), memberOf("m2"))),
		},
		"removed in rings": {
			at("a 1, b 1", put(policyFile, ringsOfA)),
			happens("a 1, b 1", syncs),
			at("a 1/removal, b 1", switched("a", false)),
			happens("a 1/removal, b 1", syncs),
		},
		"32 both go": {
			at("a 1, b 1", replace(sharedOff, "b: {enabled: true", "b: {enabled: true, dependsOn: [addons/a]")),
			happens("a 1, b 1", syncs),
			at("a 1/dependency 1 1 1, b 1~ 1 1 1", put(ownCatalog("m1"), "a: {enabled: false, deletion: cascade}\nb: {enabled: false, deletion: cascade}\n")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSituation(t)
			s.commit()
			syncs(s)
			require.Equal(t, "a 1, b 1", s.served())
			for i, x := range steps {
				if x.without {
					for _, change := range x.changes {
						change(s)
					}
					s.looks()
				} else {
					s.commit(x.changes...)
				}
				s.settles(x.want, i+2)
				s.apply(ofAddons, askAddons)
			}
		})
	}
}

// clockAt sets the clock.
func clockAt(at string) step { return func(s *situation) { s.clock.set(at) } }

// degrade makes Applications sick.
func degrade(names ...string) step {
	return func(s *situation) {
		for _, name := range names {
			app, is := s.apps[name]
			if !is {
				s.Fatalf("no Application %s: %v", name, slices.Sorted(maps.Keys(s.apps)))
			}
			app.Degraded, app.Healthy = true, false
			s.apps[name] = app
		}
		s.report()
		s.looks()
	}
}
