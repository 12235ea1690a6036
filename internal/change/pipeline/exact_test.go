package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/change/report/planreport"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestPlanNamesExactlyWhatDiffers: a plan names the cells, registrations and ApplicationSets whose
// parameter sets or rendered objects differ, and no others. Both are asked for, rendered and
// compared here from states that share nothing.
func TestPlanNamesExactlyWhatDiffers(t *testing.T) {
	t.Parallel()
	original, own := generated(t), fleettest.Tree{}
	for _, folder := range []string{"addons", "charts", "fleet", "provisioning", "resources", "versions", "workloads"} {
		checkedIn(t, own, folder)
	}
	of := func(files fleettest.Tree, component string) fleettest.Tree { // what the revision next has
		next := maps.Clone(files)
		next[listed] = strings.Replace(strings.ReplaceAll(next[listed], component+":", "unlisted:"), "version: 1.1", "version: 3.1", 1)
		return next
	}
	next, ownNext := of(original, fleettest.Component(0)), of(own, "cert-manager")
	seeds := []uint64{1248} // a draining member's release changes
	from, _ := strconv.ParseUint(os.Getenv("ARGOSY_FROM"), 10, 64)
	for i := range uint64(cases.Times(40)) {
		seeds = append(seeds, from+i)
	}
	if text := os.Getenv("ARGOSY_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		seeds = []uint64{seed}
	}
	var mu sync.Mutex
	var sum tally
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	n := len(seeds)
	for _, seed := range seeds {
		all.Go(func() error {
			w, next := newWorld(rand.New(rand.NewPCG(11, seed)), original), next
			if !w.rooted {
				next = nil // its ApplicationSets are in another repository, whose catalogs nobody knows
			}
			if seed%50 == 45 {
				w, next = newOwnWorld(rand.New(rand.NewPCG(11, seed)), own), ownNext
			}
			before, after := w.commit()
			found := checkCommit(t, fmt.Sprintf("ARGOSY_SEED=%d: %s", seed, strings.Join(w.done, "; ")), before, after, next)
			mu.Lock()
			defer mu.Unlock()
			sum.add(found)
			return nil
		})
	}
	_ = all.Wait()
	t.Logf("%+v", &sum)
	if n > 1 && (sum.named == 0 || sum.objects == 0 || sum.nothing == 0 || sum.refused > n/2) {
		t.Error("the commits try too little")
	}
}

// TestPlanIsExactOf has commits that plans were wrong about.
func TestPlanIsExactOf(t *testing.T) {
	t.Parallel()
	original := generated(t)
	original[versions] = generatedReleases
	for _, hub := range []string{"hub-1", "hub-2"} {
		original["fleet/fleet-members/"+hub+"/"+hub+".yaml"] += "fleet_repo_url: " + ours + "\nfleet_repo_revision: main\n"
	}
	hub, agent := "fleet/fleet-members/hub-2/hub-2.yaml", "fleet/fleet-members/hub-2/"+fleettest.Cluster(5)+".yaml"
	original[agent] += "use_remote_argo: true\nenable_remote_addons: true\n"
	const (
		registrations = "addons/tenants/defaults/fleet/fleet-secret/values.yaml"
		defaults      = "addons/defaults/fleet/fleet-secret/values.yaml"
		tenants       = "addons/tenants/defaults/application-sets/addons.yaml"
	)
	to := func(text string) func(string) string { return func(string) string { return text } }
	isCanary := func(text string) string { return text + "labels: {addonsRelease: canary}\n" }
	for name, c := range map[string]struct {
		file string
		edit func(text string) string
		// base are edits of other files at both revisions.
		base map[string]func(text string) string
	}{
		"a null instead of all labels":    {registrations, to("externalSecret: null\n"), map[string]func(string) string{defaults: to("externalSecret: {labels: {tier: silver}, refreshInterval: 1m}\n")}},
		"a null instead of an annotation": {registrations, to("externalSecret: {annotations: {a: null}}\n"), map[string]func(string) string{defaults: to("externalSecret: {annotations: {a: b}}\n")}},
		"a null that is there no more":    {registrations, to("a: 1\n"), map[string]func(string) string{registrations: to("externalSecret: {labels: null}\n"), defaults: to("externalSecret: {labels: {tier: silver}}\n")}},
		"a null in a catalog": {tenants, to(fleettest.Component(0) + ": {dependsOn: null}\n"), map[string]func(string) string{catalogue: func(text string) string {
			return strings.Replace(text, "enabled: true\n", "enabled: true\n    dependsOn: [addons/"+fleettest.Component(1)+"]\n", 1)
		}}},
		"an unlisted component of no roots":                                        {catalogue, func(text string) string { return strings.Replace(text, fleettest.Component(0)+":", "unlisted:", 1) }, map[string]func(string) string{layout: to(ofChart), "fleet/fleet-members/hub-3/other.yaml": to("clusterName: other\ntenant: tenant-0\nenvironment: dev\nsecretManagerSecretName: hub-3/other\n")}},
		"an Application below one that moves to ApplicationSets that are new, too": {file: hub, edit: isCanary},
		"the repository of an agent": {file: hub, edit: func(text string) string {
			return strings.Replace(text, "fleet_repo_revision: main", "fleet_repo_revision: next", 1)
		}},
		"an agent that is one no more": {file: agent, edit: func(text string) string {
			return strings.Replace(text, "use_remote_argo: true\nenable_remote_addons: true\n", "", 1)
		}},
		"an empty map of registrations":      {file: registrations, edit: to("externalSecret: {}\n")},
		"another value of registrations":     {file: registrations, edit: to("externalSecret: {refreshInterval: 1m}\n")},
		"an entry that each level overrides": {file: listed, edit: func(text string) string { return strings.Replace(text, "version: 1.", "version: 2.", 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := maps.Clone(original)
			for file, edit := range c.base {
				before[file] = edit(before[file])
			}
			after := maps.Clone(before)
			if after[c.file] = c.edit(after[c.file]); after[c.file] == before[c.file] {
				t.Fatal("the commit changes nothing")
			}
			checkCommit(t, name, before, after, original)
		})
	}
}

// TestPlanNamesTwinsOfReleases: two releases of one prefix make ApplicationSets of the same names
// from one template, and each Application writes its own over the other's. A change that did not
// make them twice does not name them.
func TestPlanNamesTwinsOfReleases(t *testing.T) {
	t.Parallel()
	plain := generated(t)
	with := func(prefix, canary bool) *snapshot.Snapshot {
		out := maps.Clone(plain)
		if prefix {
			out[chart+"values.yaml"] = strings.Replace(out[chart+"values.yaml"], `namePrefix: ""`, "namePrefix: p", 1)
		}
		if member := "fleet/fleet-members/hub-1/" + fleettest.Cluster(0) + ".yaml"; !canary {
			out[member] = strings.Replace(out[member], "addonsRelease: canary", "ring: a", 1)
		}
		return snapshot.FromMap(out)
	}
	for name, c := range map[string]struct {
		base *snapshot.Snapshot
		want int
	}{
		"a prefix that two releases share": {with(false, true), options.Components},
		"a second release of one prefix":   {with(true, false), options.Components},
		"nothing":                          {with(true, true), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compared, err := pipelines(t, plain).compare(c.base, with(true, true), Question{})
			require.NoError(t, err)
			found := 0
			for _, p := range compared.head {
				if p.Reason == problem.DuplicateName && strings.Contains(p.Found, "Application application-sets-addons-canary") && strings.Contains(p.Found, "Application application-sets-addons-default") {
					found++
				}
			}
			if found != c.want {
				t.Errorf("%d ApplicationSets are named as made twice, expected %d: %v", found, c.want, compared.head)
			}
		})
	}
}

// checkedIn adds the files of a folder of this repository.
func checkedIn(t *testing.T, to fleettest.Tree, folder string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("../../..", folder), func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		to[strings.TrimPrefix(filepath.ToSlash(p), "../../../")] = string(data)
		return err
	})
	require.NoError(t, err)
}

// generated is the fleet of repository with agents, all its groups, and another chart of releases.
func generated(t *testing.T) fleettest.Tree {
	t.Helper()
	out := fleettest.Tree(repository(t))
	for _, chart := range []string{"generator-plugin", "agent-bootstrap", "agent-flux"} {
		checkedIn(t, out, "charts/"+chart)
	}
	for _, name := range []string{"agents-flux", "fleet", "resources", "grants"} {
		data, err := os.ReadFile("../../../fleet/bootstrap/hub-eu/" + name + ".yaml")
		require.NoError(t, err)
		for _, hub := range []string{"hub-1", "hub-2"} {
			out["fleet/bootstrap/"+hub+"/"+name+".yaml"] = strings.ReplaceAll(string(data), "hub-eu", hub)
		}
	}
	for p, text := range maps.Clone(out) {
		if rest, is := strings.CutPrefix(p, chart); is {
			out["charts/own-sets/"+rest] = text
		}
	}
	return out
}

// tally counts what the commits tried.
type tally struct{ refused, failed, nothing, named, objects int }

func (t *tally) add(more tally) {
	t.refused, t.failed, t.nothing, t.named, t.objects = t.refused+more.refused, t.failed+more.failed, t.nothing+more.nothing, t.named+more.named, t.objects+more.objects
}

// checkCommit compares a plan with what differs.
func checkCommit(t *testing.T, name string, before, after, next fleettest.Tree) (sum tally) {
	t.Helper()
	old, updated := snapshot.FromMap(before), snapshot.FromMap(after)
	base, head, err := states(old, updated, facts.Set{})
	if err != nil {
		sum.refused++
		return sum
	}
	c := pipelines(t, next).compareStates(base, head, old, updated, Question{})
	report := planreport.New(planreport.Revision{}, planreport.Revision{}, c.plan)
	report.AddProblems(plan.Head, c.head)
	report.AddProblems(plan.Base, c.base)
	text, err := json.Marshal(report)
	if err != nil {
		t.Error(err)
		return sum
	}
	var p planreport.Plan
	if err := json.Unmarshal(text, &p); err != nil {
		t.Error(err)
		return sum
	}
	// Both sides anew. What a member that cannot be computed has is from the base.
	freshBase, freshHead, err := states(old, updated, facts.Set{})
	if err != nil {
		t.Error(err)
		return sum
	}
	if len(freshHead.Quarantined("")) == 0 && !slices.ContainsFunc(slices.Collect(maps.Values(after)), func(text string) bool { return strings.Contains(text, "draining") }) {
		if freshHead, err = knownState(updated, facts.Set{}); err != nil {
			t.Error(err)
			return sum
		}
	}
	x := &exactness{plan: p, before: old, after: updated}
	x.was = answer(pipelines(t, next), freshBase, freshHead, nil)
	x.is = answer(pipelines(t, next), freshHead, freshBase, x.was)
	x.check()
	if len(x.was.failed)+len(x.is.failed) > 0 {
		sum.failed++
	}
	for _, h := range p.Hubs {
		sum.named, sum.objects = sum.named+len(h.Clusters), sum.objects+len(h.Objects)
	}
	if !p.Changes() {
		sum.nothing++
	}
	if len(x.wrong) > 0 {
		slices.Sort(x.wrong)
		t.Errorf("%s\n  %s\n  failed: %q %q\n  problems: %v", name, strings.Join(x.wrong, "\n  "), x.was.failed, x.is.failed, problems(p))
	}
	return sum
}

func problems(p planreport.Plan) (out []string) {
	for _, x := range p.Problems {
		out = append(out, x.Revision+" "+x.Message)
	}
	return out
}

// exactness collects where a plan is wrong.
type exactness struct {
	plan          planreport.Plan
	was, is       *answered
	before, after *snapshot.Snapshot
	wrong         []string
}

func (x *exactness) report(format string, args ...any) {
	x.wrong = append(x.wrong, fmt.Sprintf(format, args...))
}

// check compares all hubs, and the plan's sums.
func (x *exactness) check() {
	entries, listed, unchanged := map[plan.Action]int{}, 0, 0
	for _, h := range x.plan.Hubs {
		for _, c := range h.Clusters {
			for _, a := range c.Applications {
				entries[a.Action]++
			}
		}
		listed += len(h.Objects)
	}
	sum, n := x.plan.Summary, x.plan.Summary.Applications
	if hasStandIn(x.after) { // its Applications are objects
		for _, o := range x.plan.Hubs[0].Objects {
			if o.Kind == "Application" || o.Kind == "Kustomization" || o.Kind == "HelmRelease" {
				entries[o.Action]++
				listed--
			}
		}
	}
	if n.Create != entries[plan.Create] || n.Move != entries[plan.Move] || n.Remove != entries[plan.Remove] || n.Change+sum.Objects != entries[plan.Change]+listed {
		x.report("the sum is %+v and %d objects, and the entries are %v and %d objects", n, sum.Objects, entries, listed)
	}
	if r := sum.Removals; !hasStandIn(x.after) && r.Disabled+r.Lost+r.Moved+r.Retired != entries[plan.Remove] {
		x.report("the removals are %+v of %d", r, entries[plan.Remove])
	}
	fails := len(x.plan.Broken) > 0 || x.fails()
	for hub := range x.is.rooted { // without roots, the responses are more than what its catalogs list
		fails = fails || x.is.rooted[hub] != x.is.rooted["hub-1"]
	}
	for key := range x.was.sets {
		if _, has := x.is.sets[key]; has {
			unchanged++
		}
	}
	if unchanged -= n.Change + n.Move; !hasStandIn(x.after) && !fails && n.Unchanged != unchanged {
		x.report("%d Applications do not change, and the plan says %d", unchanged, n.Unchanged)
	}
	x.twins()
	for _, h := range x.plan.Hubs {
		x.hub(h)
	}
	named := func(hub string) bool {
		return slices.ContainsFunc(x.plan.Hubs, func(h plan.Hub) bool { return h.Name == hub })
	}
	for _, hub := range slices.Concat(x.was.state.Fleet.Hubs(), x.is.state.Fleet.Hubs()) {
		if !named(hub) {
			x.report("hub %s is not in the plan", hub)
		}
	}
}

// twins checks that a plan names the objects that are made twice from now on, and no others.
func (x *exactness) twins() {
	said := slices.ContainsFunc(x.plan.Problems, func(p planreport.Problem) bool { return p.Reason == problem.DuplicateName })
	if said && len(x.is.twins) == 0 {
		x.report("nothing is made twice, and the plan says so")
	}
	for twin := range x.is.twins {
		if !x.was.twins[twin] && !said {
			x.report("%s is made twice, and the plan does not say so", twin)
		}
	}
}

// hub checks what a plan says of a hub.
func (x *exactness) hub(h plan.Hub) {
	entries := map[string]plan.Application{}
	clusters := map[string]plan.Cluster{}
	for _, c := range h.Clusters {
		clusters[c.Name] = c
		x.places(h.Name+"/"+c.Name, c.Differences, x.isChanged(c.Differences))
		isSaid := slices.ContainsFunc(c.Applications, func(a plan.Application) bool { return x.isChanged(a.Differences) })
		for _, a := range c.Applications {
			key := fmt.Sprintf("%s/%s %s %s", h.Name, c.Name, a.View, a.Name)
			if _, twice := entries[key]; twice {
				x.report("%s is named twice", key)
			}
			entries[key] = a
			x.places(key, slices.DeleteFunc(a.Differences, func(d plan.Difference) bool { return d.Name == "team.clusters" }), c.Action != "" || isSaid) // other clusters come and go
		}
	}
	objects := map[object.Key]plan.Object{}
	for _, o := range h.Objects {
		objects[object.Key{Engine: o.Owner, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}] = o
	}
	// Applications, by their parameter sets.
	keys := merged(x.was.sets, x.is.sets)
	for key := range entries {
		if _, is := keys[key]; !is {
			keys[key] = nil
		}
	}
	for key := range keys {
		cluster, ofHub := strings.CutPrefix(key, h.Name+"/")
		if !ofHub {
			continue
		}
		cluster, _, _ = strings.Cut(cluster, " ")
		was, had := x.was.sets[key]
		is, has := x.is.sets[key]
		entry, named := entries[key]
		if isBroken(x.plan, h.Name, cluster) && !named || x.fails() {
			continue
		}
		if x.isUnlisted(h.Name, was, is) && !named {
			continue
		}
		isObject := slices.ContainsFunc(h.Objects, func(o plan.Object) bool {
			return o.Kind == "Application" && strings.HasSuffix(key, " "+o.Name)
		})
		switch {
		case !had && !has:
			x.report("%s is named (%s), and no revision has it", key, entry.Action)
		case !had:
			if !named && !isObject || named && entry.Action != plan.Create {
				x.report("%s comes, and the plan says %q", key, entry.Action)
			}
		case !has:
			if !named && !isObject || named && entry.Action != plan.Remove {
				x.report("%s goes, and the plan says %q", key, entry.Action)
			}
		case reflect.DeepEqual(was, is):
			if named {
				x.report("%s does not change, and the plan says %q: %s", key, entry.Action, names(entry.Differences))
			}
		default:
			if !named && strings.Contains(key, " releases ") && x.isSaidByComponents(h, was, is) {
				continue
			}
			if !named && !isObject || named && entry.Action != plan.Change && entry.Action != plan.Move {
				x.report("%s changes, and the plan says %q: %v", key, entry.Action, different(was, is))
			}
		}
	}
	// Clusters, by what is theirs in the parameter sets.
	for key := range merged(x.was.clusters, x.is.clusters) {
		cluster, ofHub := strings.CutPrefix(key, h.Name+"/")
		if !ofHub || isBroken(x.plan, h.Name, cluster) || cluster == h.Name && (x.was.state.HubMember(h.Name) == nil || x.is.state.HubMember(h.Name) == nil) {
			continue
		}
		if m := x.is.state.Fleet.Member(h.Name, cluster); m != nil && m.Lifecycle == fleet.Retired { // a hub answers for its releases still
			continue
		}
		was, had := x.was.clusters[key]
		is, has := x.is.clusters[key]
		c, named := clusters[cluster]
		switch {
		case had && has && !reflect.DeepEqual(was, is) && !(named && c.Action == plan.Change):
			x.report("cluster %s changes, and the plan says %q: %v", key, c.Action, different(was, is))
		case had && has && reflect.DeepEqual(was, is) && c.Action != "" && !only(c.Differences, "lifecycle", "deletion"):
			x.report("cluster %s does not change, and the plan says %q: %s", key, c.Action, names(c.Differences))
		}
	}
	if !x.fails() && x.was.state.HubEngine(h.Name) == x.is.state.HubEngine(h.Name) { // else all of its roots are left behind
		x.objects(h, entries, objects)
	}
}

// isSaidByComponents reports whether all that a release's values change is entries of components of
// which an Application is named.
func (x *exactness) isSaidByComponents(h plan.Hub, was, is map[string]any) bool {
	entries := func(set map[string]any) map[string]any {
		doc, err := yamldoc.Parse("values", []byte(fmt.Sprint(set["helmValues"])))
		if err != nil {
			return nil
		}
		out, _ := doc.Root.Get("components").Any().(map[string]any)
		return out
	}
	a, b := entries(was), entries(is)
	for component := range merged(a, b) {
		named := slices.ContainsFunc(h.Clusters, func(c plan.Cluster) bool {
			return slices.ContainsFunc(c.Applications, func(a plan.Application) bool { return a.Component == component })
		})
		own := func(all map[string]any) map[string]any { // what the component's Applications do not say
			entry, _ := all[component].(map[string]any)
			maps.DeleteFunc(entry, func(key string, _ any) bool { return named && catalog.IsRead(key) })
			return entry
		}
		if !reflect.DeepEqual(own(a), own(b)) {
			return false
		}
	}
	return true
}

// fails reports whether a pipeline fails at a revision, as the plan says: nothing is made then, and
// what there is stays. Or the plan says that it does not know. Which of two ApplicationSets of one
// name queries is not known: each of their Applications writes its own over the other's.
func (x *exactness) fails() bool {
	return len(x.was.failed)+len(x.is.failed)+len(x.was.twins)+len(x.is.twins) > 0 || slices.ContainsFunc(x.plan.Problems, func(f planreport.Problem) bool {
		return f.Severity == problem.Error && f.Reason == problem.ExpansionFailed || strings.Contains(f.Found, "the catalog of its release is not known")
	})
}

// isUnlisted reports whether the plan says that it does not know of the group of an Application
// whether the hub's ApplicationSets query for components that no catalog lists.
func (x *exactness) isUnlisted(hub string, was, is map[string]any) bool {
	group := merged(was, is)["group"]
	return slices.ContainsFunc(x.plan.Problems, func(p planreport.Problem) bool {
		return p.Subject == fmt.Sprintf("group %q of hub %q", group, hub) && strings.Contains(p.Found, "the hub's roots are not in this repository")
	})
}

func isBroken(p planreport.Plan, hub, cluster string) bool {
	return slices.ContainsFunc(p.Broken, func(b plan.Broken) bool { return b.Hub == hub && b.Cluster == cluster && !b.Kept })
}

func only(ds []plan.Difference, names ...string) bool {
	return !slices.ContainsFunc(ds, func(d plan.Difference) bool { return !slices.Contains(names, d.Name) })
}

func names(ds []plan.Difference) string {
	var out []string
	for _, d := range ds {
		out = append(out, fmt.Sprintf("%s: %s -> %s", d.Name, side(d.Old), side(d.New)))
	}
	return strings.Join(out, ", ")
}

func side(s *plan.Side) string {
	if s == nil {
		return "(none)"
	}
	return fmt.Sprintf("%.200v", s.Value)
}

func different(a, b map[string]any) (out []string) {
	for k := range merged(a, b) {
		if !reflect.DeepEqual(a[k], b[k]) {
			out = append(out, fmt.Sprintf("%s: %.300v -> %.300v", k, a[k], b[k]))
		}
	}
	slices.Sort(out)
	return out
}

func merged[K comparable, V any](a, b map[K]V) map[K]V {
	out := maps.Clone(a)
	if out == nil {
		out = map[K]V{}
	}
	maps.Copy(out, b)
	return out
}

// objects checks what a plan says of the objects at the end of a hub's pipeline.
func (x *exactness) objects(h plan.Hub, entries map[string]plan.Application, named map[object.Key]plan.Object) {
	if !x.was.rooted[h.Name] && !x.is.rooted[h.Name] {
		return
	}
	said := map[[2]string]bool{}
	for _, a := range entries {
		said[[2]string{a.Owner, a.Name}] = true
		if a.Action == plan.Move {
			for _, o := range []string{"owner"} {
				for _, d := range a.Differences {
					if d.Name == o && d.Old != nil {
						said[[2]string{fmt.Sprint(d.Old.Value), a.Name}] = true
					}
				}
			}
		}
	}
	is := func(o *object.Object) bool {
		k := o.Key()
		k.Group = ""
		_, known := named[k]
		return known || o.Deploys() && said[[2]string{o.Engine, o.Name()}]
	}
	was, now := x.was.objects[h.Name], x.is.objects[h.Name]
	madeBy := map[object.Key]bool{} // ApplicationSets one of whose Applications is named
	for _, all := range []map[object.Key]*object.Object{was, now} {
		for _, o := range all {
			if o.Parent != nil && is(o) {
				madeBy[o.Parent.Key()] = true
			}
		}
	}
	for k := range merged(was, now) {
		b, a := was[k], now[k]
		o := a
		if a == nil {
			o = b
		}
		plain := k
		plain.Group = ""
		if above := o.Parent; above != nil && (above.Kind() == "OCIRepository" || x.is.left[above.Key()]) {
			continue // of an artifact for Flux, or what an ApplicationSet makes that is left behind
		}
		if x.isUnfollowed(b) || x.isUnfollowed(a) {
			continue
		}
		entry, listed := named[plain]
		switch {
		case b != nil && a != nil && manifest.Digest(b.WithoutDigest().Tree) == manifest.Digest(a.WithoutDigest().Tree):
			isMoved := b.Parent != nil && a.Parent != nil && b.Parent.TargetNamespace() != a.Parent.TargetNamespace()
			if listed && !isMoved {
				x.report("%s: %s of %s does not change, and the plan says %q: %s", h.Name, k, k.Engine, entry.Action, names(entry.Differences))
			}
		case listed:
			if want := action(b, a); entry.Action != want {
				x.report("%s: %s of %s: %s, and the plan says %q", h.Name, k, k.Engine, want, entry.Action)
			}
		default:
			implied := is(o) || madeBy[o.Key()]
			for above := o.Parent; above != nil; above = above.Parent {
				implied = implied || is(above)
			}
			if b != nil {
				for above := b.Parent; above != nil; above = above.Parent {
					implied = implied || is(above)
				}
			}
			if !implied {
				detail := ""
				if a != nil && b != nil {
					detail = fmt.Sprint(different(b.Tree, a.Tree))
				}
				x.report("%s: %s of %s: %s, and the plan does not say so %s", h.Name, k, k.Engine, action(b, a), detail)
			}
		}
	}
	left := slices.ContainsFunc(h.Objects, func(o plan.Object) bool { return o.Left }) // and goes on making others
	for k, o := range named {
		if !left && !slices.ContainsFunc(slices.Collect(maps.Keys(merged(was, now))), func(other object.Key) bool { other.Group = ""; return other == k }) {
			x.report("%s: %s of %s is named (%s), and no revision has it", h.Name, k, k.Engine, o.Action)
		}
		x.places(h.Name+" "+k.String(), o.Differences, true)
	}
}

// isUnfollowed reports whether the plan says that it does not follow what makes an object: a chart
// at a revision that the clone lacks.
func (x *exactness) isUnfollowed(o *object.Object) bool {
	for ; o != nil; o = o.Parent {
		subject := fmt.Sprintf("%s %q", o.Kind(), o.Name())
		if slices.ContainsFunc(x.plan.Problems, func(p planreport.Problem) bool { return p.Reason == problem.NotExpanded && p.Subject == subject }) {
			return true
		}
	}
	return false
}

func action(b, a *object.Object) plan.Action {
	switch {
	case b == nil:
		return plan.Create
	case a == nil:
		return plan.Remove
	}
	return plan.Change
}

// places checks that differences are from files that have changed, or that another difference of
// the cluster says why.
func (x *exactness) places(of string, ds []plan.Difference, isSaid bool) {
	for _, d := range ds {
		if len(places(d)) > 0 && !isSaid && !x.isChanged([]plan.Difference{d}) {
			x.report("%s: %s: %s -> %s is from files that have not changed: %v", of, d.Name, side(d.Old), side(d.New), places(d))
		}
	}
}

// isChanged reports whether one of the differences is from a file that has changed.
func (x *exactness) isChanged(ds []plan.Difference) bool {
	return slices.ContainsFunc(ds, func(d plan.Difference) bool {
		return slices.ContainsFunc(places(d), func(pos problem.Pos) bool {
			b, a := x.before.File(pos.File), x.after.File(pos.File)
			return b == nil || a == nil || b.Digest != a.Digest
		})
	})
}

// places are those of a difference that are known.
func places(d plan.Difference) (out []problem.Pos) {
	for _, s := range []*plan.Side{d.Old, d.New} {
		if s != nil && !s.Position.IsZero() {
			out = append(out, s.Position)
		}
	}
	return out
}
