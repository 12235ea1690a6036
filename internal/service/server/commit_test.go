package server_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const exampleHub = "hub-eu"

// exampleFleet is this repository's own fleet.
func exampleFleet(t testing.TB) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := filepath.Join("..", "..", "..")
	for _, folder := range []string{"fleet", "addons", "resources", "versions", "charts/application-sets/catalogs"} {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder)), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			name, _ := filepath.Rel(root, path)
			files[filepath.ToSlash(name)] = string(content)
			return err
		})
		require.NoError(t, err)
	}
	return files
}

// smallArgoCD is what of Argo CD's ApplicationSet controller decides: an error changes nothing, and
// what a response leaves out is deleted. Each component of a release has an ApplicationSet of its
// own, as charts/application-sets makes them.
type smallArgoCD struct {
	*service
	catalogs map[string]map[string]any // of the charts' revision, by group
	sets     map[string]string         // the parameters of ApplicationSets, by name
	apps     map[string]facts.Application
	known    *changingFacts // nil where nobody knows the Applications
	// holdBack says which Applications do not come yet; nil for none.
	holdBack func(facts.Application) bool
}

// newSmallArgoCD is an Argo CD with the Applications of the example fleet.
func newSmallArgoCD(t *testing.T, known bool, change ...func(*server.Options)) *smallArgoCD {
	t.Helper()
	a := &smallArgoCD{catalogs: map[string]map[string]any{}, sets: map[string]string{}, apps: map[string]facts.Application{}}
	if known {
		a.known = &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithApplications()}
	}
	a.service = start(t, append(change, func(o *server.Options) {
		if o.Hub = exampleHub; known {
			o.Facts = a.known
		}
	})...)
	files := exampleFleet(t)
	for _, view := range []string{"members", "agents"} {
		a.sets[view] = fmt.Sprintf(`{"view":%q}`, view)
	}
	for _, group := range []string{"addons", "fleet", "monitoring", "resources"} {
		a.sets[group] = fmt.Sprintf(`{"view":"releases","group":%q}`, group)
		var catalog struct{ Components map[string]any }
		require.NoError(t, yaml.Unmarshal([]byte(files["charts/application-sets/catalogs/"+group+".yaml"]), &catalog))
		a.catalogs[group] = catalog.Components
	}
	a.say(files)
	for range 3 {
		a.reconcile()
	}
	if len(a.apps) < 50 {
		t.Fatalf("%d Applications are no fleet to try anything on", len(a.apps))
	}
	return a
}

// reconcile asks for every ApplicationSet once, and lets the service know the Applications.
func (a *smallArgoCD) reconcile() {
	a.Helper()
	for _, name := range slices.Sorted(maps.Keys(a.sets)) {
		a.one(name)
	}
	if a.known == nil {
		return
	}
	set := facts.NewSet(false).WithApplications(slices.Collect(maps.Values(a.apps))...)
	a.known.tell(set)
	a.until("the Applications are known", func(refresh.Status) bool { return a.Refresher().State().Facts().Equal(set) })
}

func (a *smallArgoCD) one(name string) {
	a.Helper()
	r := a.askAs(name, a.sets[name])
	if r.code != http.StatusOK {
		return
	}
	var response struct {
		Output struct {
			Parameters []struct {
				ApplicationName, Name, Group, Component, HelmValues, Deletion string

				Release any
			}
		}
	}
	require.NoError(a, json.Unmarshal([]byte(r.body), &response))
	wanted := map[string]bool{}
	for _, s := range response.Output.Parameters {
		if owner := a.apps[s.ApplicationName].Controller; owner != "" && owner != name {
			return
		}
		wanted[s.ApplicationName] = true
	}
	for _, s := range response.Output.Parameters {
		app := facts.Application{Name: s.ApplicationName, Cluster: s.Name, Group: s.Group, Component: s.Component, Controller: name, Cascade: s.Deletion == "cascade"}
		if app.Release, _ = s.Release.(string); name == "members" {
			app.Component, app.Group = "fleet-secret", "fleet"
		}
		if keys, is := s.Release.(map[string]any); is && s.HelmValues != "" && name == s.Group {
			app.Release, app.Cluster = fmt.Sprint(keys["type"]), exampleHub
			a.make(s.Group, app.Release, s.HelmValues)
		}
		if a.holdBack == nil || !a.holdBack(app) {
			a.apps[app.Name] = app
		}
	}
	maps.DeleteFunc(a.apps, func(app string, is facts.Application) bool { return is.Controller == name && !wanted[app] })
}

// make makes the ApplicationSets of a release.
func (a *smallArgoCD) make(group, release, values string) {
	a.Helper()
	var chart struct{ Components map[string]any }
	require.NoError(a, yaml.Unmarshal([]byte(values), &chart))
	for component := range chart.Components {
		base, err := json.Marshal(a.catalogs[group][component])
		require.NoError(a, err)
		a.sets[group+"-"+release+"-"+component] = fmt.Sprintf(`{"view":"components","group":%q,"component":%q,"release":%q,"base":%s}`, group, component, release, base)
	}
}

// lost returns what of some Applications has been deleted, or is marked to be deleted with its
// workloads. The Application of a release is none of a member's.
func (a *smallArgoCD) lost(before map[string]facts.Application) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		now, there := a.apps[name]
		if !strings.HasPrefix(name, "application-sets-") && (!there || now.Cascade && !before[name].Cascade) {
			out = append(out, name)
		}
	}
	return out
}

// losesNothing fails the test if some Applications have been deleted, or are marked to be.
func (a *smallArgoCD) losesNothing(before map[string]facts.Application, when string) {
	a.Helper()
	if lost := a.lost(before); len(lost) > 0 {
		a.Errorf("%s: %d Applications are lost: %s", when, len(lost), strings.Join(lost, " "))
	}
}

// fleetWideAccidents are commits that take something from most members of the example fleet.
var fleetWideAccidents = map[string]func(files map[string]string){
	"a catalog of all members emptied": func(files map[string]string) {
		files["addons/defaults/application-sets/addons.yaml"] = "# nothing\n"
	},
	"all catalogs of levels removed": func(files map[string]string) {
		maps.DeleteFunc(files, func(path, _ string) bool {
			return strings.Contains(path, "/application-sets/") && !strings.HasPrefix(path, "charts/")
		})
	},
	"levels that point nowhere": func(files map[string]string) {
		files["fleet/layout.yaml"] = strings.ReplaceAll(files["fleet/layout.yaml"], `dir: "{{ .root }}/`, `dir: "{{ .root }}/nowhere/`)
	},
	"a group set to null": func(files map[string]string) {
		files["fleet/layout.yaml"] = strings.Replace(files["fleet/layout.yaml"], "  monitoring:\n    root: addons\n    catalog: charts/application-sets/catalogs/monitoring.yaml\n", "  monitoring: null\n", 1)
	},
	"members of another tenant": func(files map[string]string) {
		for path, text := range files {
			if strings.HasPrefix(path, "fleet/fleet-members/") {
				files[path] = strings.Replace(text, "tenant: retail", "tenant: analytics", 1)
			}
		}
	},
	"folders of all groups and the versions deleted": func(files map[string]string) {
		maps.DeleteFunc(files, func(path, _ string) bool {
			return strings.HasPrefix(path, "addons/") || strings.HasPrefix(path, "resources/") || strings.HasPrefix(path, "versions/")
		})
	},
}

// TestFleetWideAccidentDeletesNothing: what a commit takes from all members together is one number
// against the removal budget, also where each response is about one member. (G3)
func TestFleetWideAccidentDeletesNothing(t *testing.T) {
	t.Parallel()
	for name, accident := range fleetWideAccidents {
		for world, known := range map[string]bool{"last responses": false, "Applications": true} {
			t.Run(name+", "+world, func(t *testing.T) {
				t.Parallel()
				a := newSmallArgoCD(t, known)
				before := maps.Clone(a.apps)
				files := exampleFleet(t)
				accident(files)
				if maps.Equal(files, exampleFleet(t)) {
					t.Fatal("the accident changes nothing")
				}
				a.say(files)
				for range 3 {
					a.reconcile()
				}
				a.losesNothing(before, "")
				a.say(exampleFleet(t))
				for range 3 {
					a.reconcile()
				}
				a.losesNothing(before, "once the files are back")
			})
		}
	}
}

// TestRestOfASharedLossIsNotJudgedAlone: where the loss of a file is approved for some of its
// members, the others keep what they have at all later commits, too. (G10)
func TestRestOfASharedLossIsNotJudgedAlone(t *testing.T) {
	const file, rest = "addons/tenants/defaults/application-sets/monitoring.yaml", "analytics-dev-eu-1"
	a := newSmallArgoCD(t, false, atToday)
	before := maps.Clone(a.apps)
	var approved []string
	for _, m := range a.Refresher().State().Fleet.Members("hub-eu") {
		if m.Name != rest {
			approved = append(approved, m.Name)
		}
	}
	files := exampleFleet(t)
	files[file] = ""
	a.say(files)
	a.reconcile()
	files[approval] = approvalOf("- {clusters: [" + strings.Join(approved, ", ") + "], component: \"monitoring/*\", reason: r}")
	a.say(files)
	for i := range 3 {
		a.reconcile()
		if lost := a.lost(before); slices.ContainsFunc(lost, func(name string) bool { return strings.HasSuffix(name, "-"+rest) }) {
			t.Fatalf("after %d more commits: lost %q", i, lost)
		}
		files["README.md"] = strings.Repeat("x", i+1)
		a.say(files)
	}
}

// approvalOf is an approval file of removals.
func approvalOf(removals ...string) string {
	return "kind: RemovalApproval\nexpires: 2026-11-30\nremovals:\n" + strings.Join(removals, "\n") + "\n"
}

func atToday(o *server.Options) { o.Now = func() time.Time { return today } }

// TestHubKeepsItsOwnEngineUntilAnApprovalNamesIt: the hub's own engine and secrets operator are one
// member's, within each budget, but without them nothing can be repaired. (G3)
func TestHubKeepsItsOwnEngineUntilAnApprovalNamesIt(t *testing.T) {
	const level = "addons/control-plane/defaults/application-sets/fleet.yaml"
	a := newSmallArgoCD(t, false, atToday)
	before, files := maps.Clone(a.apps), exampleFleet(t)
	files["fleet/fleet-members/hub-eu/hub-eu.yaml"] += "lifecycle: retired\n"
	a.say(files)
	a.reconcile()
	if lost := a.lost(before); slices.Contains(lost, "argo-cd-hub-eu") || slices.Contains(lost, "external-secrets-hub-eu") {
		t.Errorf("the hub is retired: lost %q", lost)
	}
	for _, component := range []string{"argo-cd", "external-secrets"} {
		a := newSmallArgoCD(t, false, atToday)
		before, set := maps.Clone(a.apps), "fleet-default-"+component
		rows, files := a.rows(set, a.sets[set]), exampleFleet(t)
		files[level] = "components: {" + component + ": {enabled: false}}\n"
		for _, wildcard := range []string{"", "- {cluster: hub-eu, component: \"*\", reason: r}", "- {cluster: \"*\", component: fleet/" + component + ", reason: r}"} {
			if wildcard != "" {
				files[approval] = approvalOf(wildcard)
			}
			a.say(files)
			a.reconcile()
			a.losesNothing(before, fmt.Sprintf("approved by %q", wildcard))
		}
		a.holds(set, a.sets[set], rows, "hub-eu")
		a.heldFor("removal budget: hub-eu would lose its own fleet/" + component + "; that needs an approval that names it (docs/how-to/approve-a-removal.md)")
		files[approval] = approvalOf("- {cluster: hub-eu, component: fleet/" + component + ", reason: r}")
		a.say(files)
		a.reconcile()
		if lost := a.lost(before); len(lost) != 1 || lost[0] != component+"-hub-eu" {
			t.Errorf("named by an approval: lost %q; expected %s-hub-eu", lost, component)
		}
	}
}

// TestLossOfAFileThatMembersShareNeedsAnApproval: what one file or the layout switches on for
// several members, and nothing switches off, is no removal that a budget allows. (G3)
func TestLossOfAFileThatMembersShareNeedsAnApproval(t *testing.T) {
	const budget, file = "\nguard: {maxRemovals: 100%}\n", "addons/tenants/defaults/application-sets/monitoring.yaml"
	var members []string
	for path := range exampleFleet(t) {
		if name, is := strings.CutPrefix(path, "fleet/fleet-members/hub-eu/"); is {
			members = append(members, strings.TrimSuffix(name, ".yaml"))
		}
	}
	for name, c := range map[string]struct {
		change  map[string]string
		approve string
		refused string
	}{
		"a catalog that is gone":            {map[string]string{file: ""}, "", file + " is gone or empty, which switched on what"},
		"a catalog without entries":         {map[string]string{file: "components: {}\n"}, "", file + " is gone or empty, which switched on what"},
		"a catalog that a pattern approves": {map[string]string{file: ""}, "- {cluster: \"*\", component: monitoring/*, reason: r}", "needs an approval that names the member"},
		"a catalog that is approved":        {map[string]string{file: ""}, "- {clusters: [" + strings.Join(members, ", ") + "], component: monitoring/*, reason: r}", ""},
		"a component that is switched off": {
			map[string]string{"addons/tenants/retail/defaults/application-sets/addons.yaml": "components: {external-dns: {enabled: false}}\n"}, "", "",
		},
		"levels elsewhere": {
			map[string]string{"fleet/layout.yaml": strings.Replace(exampleFleet(t)["fleet/layout.yaml"], `"{{ .root }}/tenants/defaults"`, `"{{ .root }}/tenants/default"`, 1) + budget},
			"", "the layout no longer finds what",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newSmallArgoCD(t, false, atToday)
			files := exampleFleet(t)
			files["fleet/layout.yaml"] += budget
			if c.approve != "" {
				files[approval] = approvalOf(c.approve)
			}
			a.say(files)
			a.reconcile()
			before := maps.Clone(a.apps)
			maps.Copy(files, c.change)
			maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
			a.say(files)
			a.reconcile()
			if lost := a.lost(before); (len(lost) == 0) != (c.refused != "") {
				t.Errorf("lost %q", lost)
			}
			_, ready := a.readiness()
			if refused := ready.RefusedRemovals; c.refused != "" && (len(refused) == 0 || !strings.Contains(refused[0].Message, c.refused)) {
				t.Errorf("%+v; expected %s", refused, c.refused)
			}
			a.setsOf() // all are given
		})
	}
}

// TestTenantHasABudgetOfItsOwn: a tenant that loses all it has is no tenth of a large hub. It keeps
// its sets. (G3, G11)
func TestTenantHasABudgetOfItsOwn(t *testing.T) {
	const half = "guard: {maxRemovals: 50%}\n"
	small := each(1, 3, func(text string) string { return strings.Replace(text, "tenant: retail", "tenant: small", 1) })
	off := map[string]string{"addons/tenants/small/defaults/application-sets/addons.yaml": "dns: {enabled: false}\n"}
	s := start(t, atToday)
	s.say(twelve(with(small, map[string]string{"fleet/layout.yaml": half})))
	s.gives(ofDNS, askDNS, dozen)
	s.say(twelve(with(small, off, map[string]string{"fleet/layout.yaml": half})))
	s.gives(ofDNS, askDNS, dozen)
	_, ready := s.readiness()
	if len(ready.Quarantined) != 3 || !strings.HasPrefix(ready.Quarantined[0].Problem, `3 of the 3 members of tenant "small" would lose something; 1 may without approval`) {
		t.Errorf("%+v", ready.Quarantined)
	}
	s.say(twelve(with(small, map[string]string{"fleet/layout.yaml": half}))) // else what was refused needs an approval
	s.say(twelve(with(small, map[string]string{
		"fleet/layout.yaml": half,
		"addons/tenants/small/clusters/m01/application-sets/addons.yaml": "dns: {enabled: false}\n",
	})))
	s.gives(ofDNS, askDNS, dozen-1)
}

// TestMemberMayMoveToAnotherTenant: one member that moves loses what the new tenant does not have,
// as the budget allows; no response is refused. (G3)
func TestMemberMayMoveToAnotherTenant(t *testing.T) {
	const moved = "fleet/fleet-members/hub-eu/retail-dev-eu-1.yaml"
	a := newSmallArgoCD(t, true)
	before := maps.Clone(a.apps)
	files := exampleFleet(t)
	files[moved] = strings.Replace(files[moved], "tenant: retail", "tenant: analytics", 1)
	a.say(files)
	for range 3 {
		a.reconcile()
	}
	for _, lost := range a.lost(before) {
		if !strings.HasSuffix(lost, "-retail-dev-eu-1") {
			t.Errorf("%s is lost", lost)
		}
	}
	if _, ready := a.readiness(); len(ready.RefusedRemovals) > 0 {
		t.Errorf("%+v", ready.RefusedRemovals)
	}
}
