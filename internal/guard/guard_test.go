package guard

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var (
	now   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	quiet = slog.New(slog.DiscardHandler)
)

// hubOf is a hub with members of which each runs dns; gone are left out, and files added.
func hubOf(t *testing.T, members int, known facts.Set, gone map[int]bool, files map[string]string) *fleetstate.State {
	t.Helper()
	all := map[string]string{
		"fleet/fleet-members/hub/hub.yaml":                       "{clusterName: hub, tenant: p, environment: prod, fleet_member: hub-cluster}\n",
		"addons/tenants/t/defaults/application-sets/addons.yaml": "dns: {enabled: true, chart: {repoURL: r, name: dns, version: v1}}\n",
	}
	for i := range members {
		if !gone[i] {
			all[fmt.Sprintf("fleet/fleet-members/hub/%s.yaml", cluster(i))] = "{clusterName: " + cluster(i) + ", tenant: t, environment: dev}\n"
		}
	}
	for p, text := range files {
		all[p] = text
	}
	st, err := fleetstate.Build(nil, snapshot.FromMap(all), known)
	if err != nil || len(st.Problems) > 0 {
		t.Fatal(err, st.Problems)
	}
	return st
}

func cluster(i int) string { return fmt.Sprintf("c%04d", i) }

func dns(applicationSet string) query.Query {
	return query.Query{View: query.Components, Hub: "hub", Group: "addons", Component: "dns", Release: "default", ApplicationSet: applicationSet}
}

// controlledBy are the Applications of members that an ApplicationSet has made, named as its
// template likes.
func controlledBy(applicationSet, prefix string, members int, labelled bool) facts.Set {
	var apps []facts.Application
	for i := range members {
		a := facts.Application{Name: prefix + cluster(i), Cluster: cluster(i), Controller: applicationSet}
		if labelled {
			a.Group, a.Component, a.Release = "addons", "dns", "default"
		}
		apps = append(apps, a)
	}
	return facts.NewSet(false).WithApplications(apps...)
}

func open(t *testing.T, o Options) *Guard {
	t.Helper()
	o.Hub, o.Logger, o.Now = "hub", quiet, func() time.Time { return now }
	g, err := New(o)
	require.NoError(t, err)
	return g
}

// Rule 1: a user's own template may name Applications otherwise.
func TestApplicationsAreKnownByNameOrLabels(t *testing.T) {
	for name, known := range map[string]facts.Set{
		"name":         controlledBy("a", "dns-", 10, true),
		"labels":       controlledBy("a", "other-", 10, true),
		"cluster only": controlledBy("a", "other-", 10, false),
	} {
		g := open(t, Options{})
		if _, err := g.Response(context.Background(), hubOf(t, 10, known, nil, nil), dns("a")); err != nil {
			t.Errorf("%s: nothing is lost: %v", name, err)
		}
		if _, err := g.Response(context.Background(), hubOf(t, 10, known, map[int]bool{1: true, 2: true}, nil), dns("a")); err == nil {
			t.Errorf("%s: two are lost, and nobody minds", name)
		}
		if _, err := g.Response(context.Background(), hubOf(t, 10, known, map[int]bool{1: true, 2: true}, nil), dns("b")); err != nil {
			t.Errorf("%s: an ApplicationSet that has none: %v", name, err)
		}
	}
}

// Rule 1: an agent may query under the name of one of the hub's ApplicationSets, whose Applications
// are not its own.
func TestAgentIsNotJudgedByHubsApplications(t *testing.T) {
	known := controlledBy("a", "dns-", 10, true)
	st := hubOf(t, 10, known, nil, map[string]string{
		"fleet/fleet-members/hub/own.yaml": "{clusterName: own, tenant: t, environment: dev, use_remote_argo: true, enable_remote_addons: true}\n",
	})
	r := dns("a")
	r.Owner = "own"
	if _, err := open(t, Options{}).Response(context.Background(), st, r); err != nil {
		t.Error(err)
	}
	r.Owner, r.Hub = "", "hub"
	g, err := New(Options{Hub: "another", Logger: quiet})
	require.NoError(t, err)
	if _, err := g.Response(context.Background(), hubOf(t, 10, known, map[int]bool{1: true, 2: true, 3: true}, nil), r); err != nil {
		t.Errorf("another hub's question, whose Applications the facts do not know: %v", err)
	}
}

// Rule 2: once the Applications are the baseline, the last response is forgotten.
func TestKnownApplicationsReplaceLastResponse(t *testing.T) {
	g := open(t, Options{Store: folder(t, t.TempDir())})
	none := facts.NewSet(false).WithApplications()
	for _, st := range []*fleetstate.State{
		hubOf(t, 10, none, nil, nil), // nothing is there yet
		hubOf(t, 10, controlledBy("a", "dns-", 10, true), nil, nil),
	} {
		if _, err := g.Response(context.Background(), st, dns("a")); err != nil {
			t.Fatal(err)
		}
	}
	if n := g.Stats().Baselines; n != 0 {
		t.Fatalf("%d records", n)
	}
	if _, err := g.Response(context.Background(), hubOf(t, 10, none, map[int]bool{1: true, 2: true}, nil), dns("a")); err != nil {
		t.Errorf("all its Applications have gone since: %v", err)
	}
}

// remembering is the baselines of a folder, or of memory alone for "".
func remembering(t *testing.T, dir string) *baselines {
	t.Helper()
	o := Options{Logger: quiet, Now: time.Now}
	if dir != "" {
		o.Store = folder(t, dir)
	}
	return newBaselines(o)
}

func folder(t testing.TB, dir string) *store.Store {
	t.Helper()
	f, err := store.NewFolder(dir)
	require.NoError(t, err)
	return store.New(f)
}

// The queries that were used least recently are given up, in memory and in the store.
func TestBaselinesAreBounded(t *testing.T) {
	b := remembering(t, "")
	for i := range maxBaselines + 1 {
		b.put(queryKey(fmt.Sprint(i)), "r", []lifecycle.Item{{Cluster: "c"}}, nil, terms{})
		b.of("0")
	}
	f := b.stats()
	if f.Baselines > maxBaselines || f.Evicted == 0 || b.of("0") == nil || b.of("1") != nil || b.of(queryKey(fmt.Sprint(maxBaselines))) == nil {
		t.Errorf("%+v", f)
	}
	dir := t.TempDir()
	b = remembering(t, dir)
	big := make([]lifecycle.Item, maxItems*2/3)
	b.put("small", "r", []lifecycle.Item{{Cluster: "c"}}, nil, terms{})
	b.put("old", "r", big[:maxItems/2], nil, terms{})
	b.put("new", "r", big, nil, terms{})
	if b.of("old") != nil || b.of("new") == nil || b.items > maxItems {
		t.Errorf("%d items are held, at most %d", b.items, maxItems)
	}
	b.sync(t)
	if again := remembering(t, dir); again.of("old") != nil || again.of("new") == nil {
		t.Error("a response that was given up is still in the store")
	}
}

// Rule 9: a response that the store does not take is given, remembered in memory and counted; the
// next one is written again.
func TestUnwritableStoreIsReported(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "answers")
	g := open(t, Options{Store: folder(t, dir)})
	require.NoError(t, os.RemoveAll(dir))
	ask := func(gone map[int]bool) error {
		_, err := g.Response(context.Background(), hubOf(t, 10, facts.Set{}, gone, nil), dns("a"))
		return err
	}
	err := ask(nil)
	if g.baselines.sync(t); err != nil || g.Stats().Failures != 1 || g.Stats().Problem == "" {
		t.Fatalf("%v, %+v", err, g.Stats())
	}
	if err := ask(map[int]bool{1: true, 2: true}); err == nil {
		t.Error("memory does not hold what the folder could not")
	}
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, ask(nil))
	g.baselines.sync(t)
	if files, _ := os.ReadDir(dir); len(files) != 1 || g.Stats().Problem != "" {
		t.Errorf("%d records when the folder is back", len(files))
	}
}

// TestConcurrentQuestions: states come and go while many ask; whatever is answered is of the state
// that was asked, and nothing beyond the budget is.
func TestConcurrentQuestions(t *testing.T) {
	g := open(t, Options{Store: folder(t, t.TempDir())})
	good, bad := hubOf(t, 20, facts.Set{}, nil, nil), hubOf(t, 20, facts.Set{}, map[int]bool{1: true, 2: true, 3: true}, nil)
	if _, err := g.Response(context.Background(), good, dns("a")); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				answer, err := g.Response(context.Background(), good, dns("a"))
				if err != nil || strings.Count(string(answer.Bytes()), `"applicationName"`) != 20 {
					t.Errorf("the good state: %v", err)
				}
				if _, err := g.Response(context.Background(), bad, dns("a")); err == nil {
					t.Error("the bad state is answered")
				}
				if i == 0 {
					g.Refusals()
					g.Stats()
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkWarmAnswer is what the guard adds to an answer that has been given before: x-alone is
// its cost by that of the state's answer alone.
func BenchmarkWarmAnswer(b *testing.B) {
	files := map[string]string{}
	for i := range 1000 {
		files[fmt.Sprintf("fleet/fleet-members/hub/%s.yaml", cluster(i))] = "{clusterName: " + cluster(i) + ", tenant: t, environment: dev}\n"
	}
	files["addons/tenants/t/defaults/application-sets/addons.yaml"] = "dns: {enabled: true, chart: {repoURL: r, name: dns, version: v1}}\n"
	st, err := fleetstate.Build(nil, snapshot.FromMap(files), controlledBy("a", "dns-", 1000, true))
	require.NoError(b, err)
	g, err := New(Options{Hub: "hub", Logger: quiet})
	require.NoError(b, err)
	r := dns("a")
	r.Base = map[string]any{"chart": map[string]any{"repoURL": "r", "name": "dns", "version": "v1"}, "enabled": true, "values": map[string]any{"a": "b"}}
	took := func(answer func() error) time.Duration {
		start := time.Now()
		require.NoError(b, answer())
		return time.Since(start)
	}
	var alone, guarded []time.Duration
	for b.Loop() { // alone, guarded, guarded, alone: neither has the caches warmed by the other
		alone = append(alone, took(func() error { _, err := response.Bytes(st, r); return err }))
		guarded = append(guarded, took(func() error { _, err := g.Response(context.Background(), st, r); return err }))
		guarded = append(guarded, took(func() error { _, err := g.Response(context.Background(), st, r); return err }))
		alone = append(alone, took(func() error { _, err := response.Bytes(st, r); return err }))
	}
	slices.Sort(alone)
	slices.Sort(guarded)
	b.ReportMetric(float64(guarded[len(guarded)/2])/float64(alone[len(alone)/2]), "x-alone") // medians
}

// A hub may run more than one answer may have sets (H10): the dry run queries each component alone,
// as ApplicationSets do.
func TestDryRunOfManySets(t *testing.T) {
	const members, components = 260, paramset.MaxSets/260 + 1
	var catalog strings.Builder
	for i := range components {
		fmt.Fprintf(&catalog, "c%03d: {enabled: true, chart: {repoURL: r, name: c, version: v1}}\n", i)
	}
	const file = "addons/tenants/defaults/application-sets/addons.yaml" // the platform's
	all := map[string]string{file: catalog.String()}
	before := hubOf(t, members, facts.Set{}, nil, all)
	if found := DryRun(before, before, now); len(found) > 0 {
		t.Errorf("nothing changes: %+v", found[0])
	}
	all[file] = strings.Replace(catalog.String(), "c007: {enabled: true", "c007: {enabled: false", 1)
	found := DryRun(before, hubOf(t, members, facts.Set{}, nil, all), now)
	if len(found) != 1 || !found[0].IsOfCommit() { // no response loses what is held
		t.Fatalf("one component goes everywhere: %d decisions", len(found))
	}
	if d := found[0]; !d.IsOverBudget() || d.Losing != members || len(d.Unapproved) != members || d.Unapproved[0].Component != "c007" {
		t.Errorf("one component goes everywhere: %s, %d members", d.Verdict, d.Losing)
	}
}

// Rule 1: of a cluster that has several Applications, each counts, whatever labels they lack.
func TestUnlabelledApplicationsCountOneByOne(t *testing.T) {
	const file, web = "addons/tenants/t/defaults/application-sets/addons.yaml", "web: {enabled: true, chart: {repoURL: r, name: web, version: v1}}\n"
	q := query.Query{View: query.Components, Hub: "hub", Group: "addons", ApplicationSet: "a"}
	for _, prefix := range []string{"", "other-"} {
		var apps []facts.Application
		for i := range 10 {
			for _, component := range []string{"dns-", "web-"} {
				apps = append(apps, facts.Application{Name: prefix + component + cluster(i), Cluster: cluster(i), Controller: "a"})
			}
		}
		known := facts.NewSet(false).WithApplications(apps...)
		good := hubOf(t, 10, known, nil, map[string]string{file: "dns: {enabled: true, chart: {repoURL: r, name: dns, version: v1}}\n" + web})
		bad := hubOf(t, 10, known, nil, map[string]string{file: web})
		g := open(t, Options{})
		g.Serving(good)
		if _, err := g.Response(context.Background(), good, q); err != nil {
			t.Errorf("%q: nothing is lost: %v", prefix, err)
		}
		g.Serving(bad)
		if _, err := g.Response(context.Background(), bad, q); err == nil {
			t.Errorf("%q: ten members lose dns, and the response is given", prefix)
		}
	}
}

// TestQueriesOfOneTenantCostNoCommit: what a tenant's token asks, under whatever names, is not
// computed at each commit: its response is too large for nobody else. (W2, H10)
func TestQueriesOfOneTenantCostNoCommit(t *testing.T) {
	st, g := hubOf(t, 3, facts.Set{}, nil, nil), open(t, Options{})
	q := query.Query{View: query.Components, Hub: "hub", Group: "addons", Component: "dns"}
	if _, err := g.Response(context.Background(), st, q); err != nil {
		t.Fatal(err)
	}
	q.Selector = map[string]any{"matchLabels": map[string]any{"tenant": "t"}}
	for i := range 100 {
		q.ApplicationSet = fmt.Sprint("anybody-", i)
		if _, err := g.Response(context.Background(), st, q); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(g.KnownQueries()); n != 1 {
		t.Errorf("%d queries are asked of each commit; expected the one of all tenants", n)
	}
}
