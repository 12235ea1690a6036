package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	askDNS     = `{"view":"components","group":"addons","component":"dns","release":"default"}`
	askWeb     = `{"view":"components","group":"addons","component":"web","release":"default"}`
	askMembers = `{"view":"members"}`
	ofDNS      = "addons-default-dns"
	ofWeb      = "addons-default-web"
	ofMembers  = "members"
	dozen      = 12
	approval   = "fleet/approvals/cleanup.yaml"
)

// today is the clock of the tests.
var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func member(i int) string     { return fmt.Sprintf("m%02d", i) }
func memberPath(i int) string { return "fleet/fleet-members/hub-1/" + member(i) + ".yaml" }

// twelve is a fleet of twelve members that run dns, the last of which runs web, too; with the files
// given on top, and without those that are empty.
func twelve(change map[string]string) map[string]string {
	files := repository(nil)
	delete(files, fileA)
	delete(files, "fleet/fleet-members/hub-1/b.yaml")
	for i := 1; i <= dozen; i++ {
		files[memberPath(i)] = "clusterName: " + member(i) + "\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: x\n"
	}
	files["addons/defaults/application-sets/addons.yaml"] += "web: {enabled: false, chart: {repoURL: r, path: p, version: v1}}\n"
	files["addons/control-plane/defaults/application-sets/addons.yaml"] = "dns: {enabled: false}\n"
	files["addons/tenants/retail/clusters/"+member(dozen)+"/application-sets/addons.yaml"] = "web: {enabled: true}\n"
	files["versions/applicationSets.yaml"] = strings.Replace(files["versions/applicationSets.yaml"], "- type: default\n", "- type: default\n  - type: next\n", 1)
	maps.Copy(files, change)
	maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
	return files
}

// half is the loss of half of the member files.
func half() map[string]string {
	out := map[string]string{}
	for i := 1; i <= dozen/2; i++ {
		out[memberPath(i)] = ""
	}
	return out
}

// each changes the files of members.
func each(from, to int, edit func(text string) string) map[string]string {
	out := map[string]string{}
	for i := from; i <= to; i++ {
		out[memberPath(i)] = edit(twelve(nil)[memberPath(i)])
	}
	return out
}

func with(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// approved approves the removal of all of the first six members.
func approved(expires string) map[string]string {
	var names []string
	for i := 1; i <= dozen/2; i++ {
		names = append(names, member(i))
	}
	return map[string]string{approval: "apiVersion: argosy.dev/v1alpha1\nkind: RemovalApproval\nexpires: " + expires +
		"\nremovals:\n- clusters: [" + strings.Join(names, ", ") + "]\n  components: [\"*\"]\n  reason: the data centre is closed\n"}
}

// running are the Applications that Argo CD has made of the dozen.
func running() facts.Set {
	var apps []facts.Application
	for i := 1; i <= dozen; i++ {
		apps = append(apps,
			facts.Application{Name: "dns-" + member(i), Cluster: member(i), Group: "addons", Component: "dns", Release: "default", Controller: ofDNS},
			facts.Application{Name: "fleet-secret-" + member(i), Cluster: member(i), Controller: ofMembers})
	}
	apps = append(apps, facts.Application{Name: "web-" + member(dozen), Cluster: member(dozen), Group: "addons", Component: "web", Release: "default", Controller: ofWeb})
	return facts.NewSet(false).WithApplications(apps...)
}

// worlds are where a baseline comes from.
var worlds = []struct {
	name  string
	known *facts.Set
}{{"last answers", nil}, {"Applications", ptr(running())}}

func ptr[T any](v T) *T { return &v }

// guarded is a service in a world, which has been asked everything once.
func guarded(t *testing.T, known *facts.Set, change ...func(*server.Options)) *service {
	t.Helper()
	s := goingOn(t, known, change...)
	s.say(twelve(nil))
	s.answered(ofDNS, askDNS)
	s.gives(ofDNS, askDNS, dozen)
	s.gives(ofMembers, askMembers, dozen)
	s.gives(ofWeb, askWeb, 1)
	return s
}

func (s *service) askAs(applicationSet, parameters string) reply {
	s.Helper()
	return s.do(s.request("POST", getparams, `{"applicationSetName":"`+applicationSet+`","input":{"parameters":`+parameters+`}}`))
}

// deletions are an answer's, cluster by cluster, with what is said of their deletion.
func (s *service) deletions(r reply) map[string]string {
	s.Helper()
	if r.code != http.StatusOK {
		s.Fatalf("%d %s", r.code, r.body)
	}
	var answer struct {
		Output struct {
			Parameters []struct{ Name, Deletion string }
		}
	}
	require.NoError(s, json.Unmarshal([]byte(r.body), &answer))
	out := map[string]string{}
	for _, set := range answer.Output.Parameters {
		out[set.Name] = set.Deletion
	}
	return out
}

// gives checks that there is an answer with so many sets.
func (s *service) gives(applicationSet, parameters string, want int) {
	s.Helper()
	if got := s.deletions(s.askAs(applicationSet, parameters)); len(got) != want {
		s.Errorf("%s: %d sets, want %d", applicationSet, len(got), want)
	}
}

// refuses checks the whole text of a refusal, twice (G5).
func (s *service) refuses(applicationSet, parameters, message string) {
	s.Helper()
	for range 2 {
		if r := s.askAs(applicationSet, parameters); r.code != http.StatusServiceUnavailable || r.message() != message {
			s.Errorf("%s: %d %s, want 503 %q", applicationSet, r.code, r.body, message)
		}
	}
}

// rows are the parameter sets of a response as they are written, by member.
func (s *service) rows(applicationSet, parameters string) map[string]string {
	s.Helper()
	r := s.answered(applicationSet, parameters)
	if r.code != http.StatusOK {
		s.Fatalf("%d %s", r.code, r.body)
	}
	out := map[string]string{}
	for text := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSuffix(r.body, "]}}\n"), `{"output":{"parameters":[`), `,{"name":`) {
		text = strings.TrimPrefix(text, `{"name":`)
		name, _, _ := strings.Cut(strings.TrimPrefix(text, `"`), `"`)
		out[name] = text
	}
	return out
}

// holds checks that members have the parameter sets of before, byte for byte but for the hold, and
// that all others are of the newest revision.
func (s *service) holds(applicationSet, parameters string, before map[string]string, members ...string) {
	s.Helper()
	now, newest := s.rows(applicationSet, parameters), s.Refresher().Status().Revision
	for _, m := range members {
		if before[m] == "" || !strings.Contains(now[m], `"deletion":"orphan"`) || strings.Replace(now[m], `"hold":"removal",`, "", 1) != before[m] || now[m] == before[m] {
			s.Errorf("%s of %s is not held as it was:\n%s\n%s", applicationSet, m, before[m], now[m])
		}
	}
	for m, row := range now {
		if !slices.Contains(members, m) && !strings.Contains(row, `"revision":"`+newest+`",`) || slices.Contains(members, m) == strings.Contains(row, newest) {
			s.Errorf("%s of %s is not of %s alone: %s", applicationSet, m, newest, row)
		}
	}
}

// names are those of members of the dozen.
func names(from, to int) (out []string) {
	for i := from; i <= to; i++ {
		out = append(out, member(i))
	}
	return out
}

// holding checks that a member set keeps dns and registrations as they are now.
func (s *service) holding(members ...string) func() {
	s.Helper()
	dns, registrations := s.rows(ofDNS, askDNS), s.rows(ofMembers, askMembers)
	return func() {
		s.Helper()
		s.holds(ofDNS, askDNS, dns, members...)
		s.holds(ofMembers, askMembers, registrations, members...)
	}
}

const (
	heldText       = "removal budget: 6 of the hub's 12 members would lose something; 1 may without approval (docs/how-to/approve-a-removal.md)"
	refusedDNS     = "removal budget: 6 of 12 members would lose addons/dns; 1 may go without approval (docs/how-to/approve-a-removal.md)"
	refusedMembers = "removal budget: 6 of 12 members would lose their registration; 1 may go without approval (docs/how-to/approve-a-removal.md)"
)

// TestRemovalsBeyondTheBudgetAreHeld: what a commit would remove beyond the budget stays as it is,
// whatever the baseline is; all else goes on, also in the same response, and an approval lets it
// pass until it expires. (G3; HOLDS.md 4)
func TestRemovalsBeyondTheBudgetAreHeld(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			var mu sync.Mutex
			now := today
			s := guarded(t, w.known, func(o *server.Options) { o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now } })
			held := s.holding(names(1, dozen/2)...)
			s.say(twelve(half()))
			held()
			s.gives(ofDNS, askDNS, dozen)
			s.gives(ofMembers, askMembers, dozen)
			s.gives(ofWeb, askWeb, 1)
			s.askAs("x", `{"view":"releases","group":"addons"}`).is(t, http.StatusOK, "the release, which stays")
			s.say(twelve(with(half(), map[string]string{"addons/defaults/addons/dns/values.yaml": "replicas: 2\n"})))
			held()
			if row := s.rows(ofDNS, askDNS)[member(dozen)]; !strings.Contains(row, "replicas: 2") {
				t.Error("the others do not go on:", row)
			}

			s.say(twelve(with(half(), approved("2026-11-20"))))
			held() // expired yesterday
			s.say(twelve(with(half(), approved("2026-11-21"))))
			s.gives(ofDNS, askDNS, dozen/2) // today is its last day
			s.gives(ofMembers, askMembers, dozen/2)
			if w.known == nil {
				return // the last answer is another one now
			}
			mu.Lock()
			now = today.Add(24 * time.Hour)
			mu.Unlock()
			s.refuses(ofDNS, askDNS, refusedDNS) // the same state, a day later; the Applications are still there
		})
	}
}

// TestMovedMembersDoNotCount: what moves is no removal that counts; what is switched off is. (G3)
func TestMovedMembersDoNotCount(t *testing.T) {
	off := map[string]string{"addons/tenants/defaults/application-sets/addons.yaml": "dns: {enabled: false}\n"}
	lost := map[string]string{"addons/defaults/application-sets/addons.yaml": "dns: {chart: {repoURL: r, path: p, version: v1}}\n"}
	next := each(1, 12, func(s string) string { return s + "labels: {addonsRelease: next}\n" })
	for _, c := range []struct {
		name   string
		change map[string]string
		left   map[string]int // sets by world
		held   []string
	}{
		{"moved to another release", next, map[string]int{}, nil},
		{"moved to another release, and lost there", with(next, lost), nil, names(1, dozen)},
		{"moved to another release, and switched off", with(next, off), nil, names(1, dozen)},
		{"moved to another engine", each(1, 12, func(s string) string { return s + "use_remote_argo: true\nenable_remote_addons: true\n" }), map[string]int{}, nil},
		{"switched off", off, nil, names(1, dozen)},
		{"lost from the catalog", lost, nil, names(1, dozen)},
		{
			"switched off, and approved", with(off, byName("addons/dns")),
			map[string]int{"Applications": 12},
			nil,
		},
		{
			"approved for some", with(off, map[string]string{approval: "kind: RemovalApproval\nexpires: 2026-11-30\nremovals:\n- {clusters: [m01, m02], component: addons/*, reason: r}\n"}),
			map[string]int{"Applications": 12, "last answers": 10},
			names(3, dozen),
		},
		{
			"another component approved", with(off, map[string]string{approval: "kind: RemovalApproval\nexpires: 2026-11-30\nremovals:\n- {cluster: \"*\", component: addons/web, reason: r}\n"}),
			nil, names(1, dozen),
		},
		{
			"a broken approval", with(off, map[string]string{approval: "kind: RemovalApproval\nexpires: 2026-11-30\nremovals:\n- {cluster: \"*\", component: \"*\", reazon: r}\n"}),
			nil, names(1, dozen),
		},
	} {
		for _, w := range worlds {
			t.Run(c.name+", "+w.name, func(t *testing.T) {
				s := guarded(t, w.known)
				before := s.rows(ofDNS, askDNS)
				s.say(twelve(c.change))
				if c.held != nil {
					s.holds(ofDNS, askDNS, before, c.held...)
					s.gives(ofNext, askNext, 0) // a parameter set is in one response
				}
				if c.held == nil || c.left != nil {
					s.gives(ofDNS, askDNS, c.left[w.name])
				}
			})
		}
	}
}

// TestCascadeAndRemovalCountOnce: a set that is answered with cascade and one that is left out then
// are the same removal: what was within the budget at first stays so as Argo CD proceeds. (G3)
func TestCascadeAndRemovalCountOnce(t *testing.T) {
	known := &changingFacts{running: make(chan struct{}), set: running()}
	s := start(t, func(o *server.Options) { o.Facts = known })
	s.say(twelve(map[string]string{"addons/tenants/retail/clusters/m01/application-sets/addons.yaml": "dns: {enabled: false}\n"}))
	if got := s.deletions(s.askAs(ofDNS, askDNS)); got["m01"] != "cascade" || len(got) != dozen {
		t.Fatalf("first step: %v", got)
	}
	apps, _ := running().Applications()
	apps = slices.Clone(apps)
	for i := range apps {
		apps[i].Cascade = apps[i].Name == "dns-m01"
	}
	known.tell(facts.NewSet(false).WithApplications(apps...))
	s.until("the finalizer has been seen", func(refresh.Status) bool { return len(s.deletions(s.askAs(ofDNS, askDNS))) == dozen-1 })
}

// TestHeldRemovalIsReported: what is held, what would be lost and why is in the log once, in
// /readyz, /api/v1/fleet and a metric, until it is over, whoever asks. (G3, K5)
func TestHeldRemovalIsReported(t *testing.T) {
	var passed atomic.Int64
	s := guarded(t, ptr(running()), func(o *server.Options) { o.Now = func() time.Time { return today.Add(time.Duration(passed.Load())) } })
	refused := s.say(twelve(half()))
	s.gives(ofWeb, askWeb, 1)
	const line, over = "they are held as they are until a commit approves them", "held removals have ended"
	if log := s.log.String(); strings.Count(log, line) != 2 || !strings.Contains(log, "m01 addons/dns: lost, its member file is gone") {
		t.Errorf("log: %s", log)
	}
	passed.Store(int64(time.Hour)) // it lasts as long as the judgement does
	_, ready := s.readiness()
	if len(ready.RefusedRemovals) != 2 || ready.RefusedRemovals[0].Message != heldText || ready.RefusedRemovals[0].Revision != refused.Revision ||
		!ready.RefusedRemovals[0].Since.Equal(today) || ready.RefusedRemovals[1].View != "members" || !ready.Ready {
		t.Errorf("readyz: %+v", ready)
	}
	var fleet server.Fleet
	require.NoError(t, json.Unmarshal([]byte(s.get("/api/v1/fleet").body), &fleet))
	if x := fleet.RefusedRemovals; len(x) != 2 || x[0].Group+"/"+x[0].Component != "addons/dns" || x[0].Losing != 6 || x[0].Members != 12 || x[0].Allowed != 1 ||
		len(x[0].Removals) != 6 || x[0].Removals[5].Cluster != "m06" || len(x[1].Removals) != 6 {
		t.Errorf("fleet: %+v", fleet.RefusedRemovals)
	}
	metric := func(n string) {
		t.Helper()
		assert.Contains(t, s.get("/metrics").body, `argosy_removals_refused{view="components"} `+n+"\n", "the metric is not %s", n)
	}
	metric("1")
	s.say(twelve(with(half(), map[string]string{"README.yaml": "x: 1\n"})))
	s.gives(ofWeb, askWeb, 1)
	if _, ready := s.readiness(); len(ready.RefusedRemovals) != 2 || ready.RefusedRemovals[0].Revision != refused.Revision {
		t.Errorf("after another commit: %+v, want the first revision that was held", ready.RefusedRemovals)
	}
	s.say(twelve(nil))
	s.gives(ofWeb, askWeb, 1)
	if log := s.log.String(); strings.Count(log, line) != 2 || strings.Count(log, over) != 2 {
		t.Errorf("log: %s", log)
	}
	s.gives(ofDNS, askDNS, dozen)
	metric("0")
	if _, ready := s.readiness(); len(ready.RefusedRemovals) != 0 {
		t.Errorf("after the files are back: %+v", ready.RefusedRemovals)
	}
}

// heldFor checks that a text is in each reason of a held removal.
func (s *service) heldFor(text string) {
	s.Helper()
	_, ready := s.readiness()
	if len(ready.RefusedRemovals) == 0 {
		s.Error("nothing is held")
	}
	for _, x := range ready.RefusedRemovals {
		assert.Contains(s, x.Message, text)
	}
}

// TestFluxInputsHaveTheRemovalBudget: Flux Operator garbage-collects what an answer leaves out.
// (G3)
func TestFluxInputsHaveTheRemovalBudget(t *testing.T) {
	s := guarded(t, nil)
	const path = "/api/v1/flux/inputs?view=components&group=addons&component=dns"
	if r := s.get(path); r.code != http.StatusOK {
		t.Fatal(r.code, r.body)
	}
	before := s.inputTexts(path)
	now := s.say(twelve(half()))
	after := s.inputTexts(path)
	if len(before) != dozen || len(after) != dozen {
		t.Fatalf("%d inputs, then %d", len(before), len(after))
	}
	for i, text := range after {
		want := before[i]
		if i < dozen/2 {
			text = strings.Replace(text, `"hold":"removal",`, "", 1)
		} else {
			want = regexp.MustCompile(`"revision":"[^"]*"`).ReplaceAllString(want, `"revision":"`+now.Revision+`"`)
		}
		assert.Equal(t, want, text)
	}
}

// inputTexts are the inputs of a response to Flux Operator, as they are written.
func (s *service) inputTexts(path string) (out []string) {
	s.Helper()
	r := s.get(path)
	r.is(s, http.StatusOK, path)
	for text := range strings.SplitSeq(strings.TrimSuffix(r.body, "]}\n"), `{"id":`) {
		out = append(out, strings.TrimSuffix(text, ","))
	}
	return out[1:]
}

// TestCommitsShareTheBudgetOfAWindow: without Applications known, commits each within the budget
// spend it together during the layout's window, over a restart, too; what is back is not spent, and
// after the window it is another's turn. Without a window each answer has the whole budget.
// (G3)
func TestCommitsShareTheBudgetOfAWindow(t *testing.T) {
	lose := func(members ...int) map[string]string {
		out := map[string]string{}
		for _, i := range members {
			out["addons/tenants/retail/clusters/"+member(i)+"/application-sets/addons.yaml"] = "dns: {enabled: false}\n"
		}
		return out
	}
	held := func(s *service) { // by files of the members' own tenant
		s.gives(ofDNS, askDNS, dozen-1)
		const why = `2 of the 12 members of tenant "retail" would lose something, with 1 that did a short time ago; 1 may without approval`
		if _, ready := s.readiness(); len(ready.Quarantined) != dozen || !strings.HasPrefix(ready.Quarantined[0].Problem, why) {
			t.Errorf("%+v", ready.Quarantined)
		}
	}
	var passed atomic.Int64
	keep := func(dir string) func(*server.Options) {
		return func(o *server.Options) {
			o.Store, o.Now = folderStore(t, dir), func() time.Time { return today.Add(time.Duration(passed.Load())) }
		}
	}
	hour := map[string]string{"fleet/layout.yaml": "guard: {window: 1h}\n"}
	dir := t.TempDir()
	s := guarded(t, nil, keep(dir))
	s.say(twelve(with(lose(1), hour)))
	s.gives(ofDNS, askDNS, dozen-1)
	s.say(twelve(with(lose(1, 2), hour)))
	held(s)
	require.NoError(t, s.Stop(t.Context()))
	restarted := start(t, keep(dir))
	restarted.say(twelve(with(lose(1, 2), hour)))
	restarted.answered(ofDNS, askDNS)
	held(restarted)
	restarted.say(twelve(hour)) // all are back
	restarted.say(twelve(with(lose(2), hour)))
	restarted.gives(ofDNS, askDNS, dozen-1)
	passed.Store(int64(2 * time.Hour))
	restarted.say(twelve(with(lose(2, 3), hour)))
	restarted.gives(ofDNS, askDNS, dozen-2)

	s = start(t, keep(t.TempDir()))
	for i := range 4 {
		var gone []int
		for j := 1; j <= i; j++ {
			gone = append(gone, j)
		}
		s.say(twelve(with(lose(gone...), map[string]string{"fleet/layout.yaml": "guard: {window: 0s}\n"})))
		s.gives(ofDNS, askDNS, dozen-i)
	}
}

// TestWindowCountsATenantsDeletedMembers: members whose files are gone have spent their tenant's
// budget, as members that have lost a component do. (G3, G10)
func TestWindowCountsATenantsDeletedMembers(t *testing.T) {
	small := each(1, 3, func(text string) string { return strings.Replace(text, "tenant: retail", "tenant: small", 1) })
	layout := map[string]string{"fleet/layout.yaml": "guard: {maxRemovals: 50%, window: 1h}\n"}
	s := start(t, atToday)
	s.say(twelve(with(small, layout)))
	s.gives(ofDNS, askDNS, dozen)
	s.say(twelve(with(small, layout, map[string]string{memberPath(1): ""})))
	s.gives(ofDNS, askDNS, dozen-1)
	before := s.rows(ofDNS, askDNS)
	s.say(twelve(with(small, layout, map[string]string{memberPath(1): "", memberPath(2): ""})))
	s.holds(ofDNS, askDNS, before, "m02")
	s.heldFor(`of tenant "small" would lose something, with 1 that did a short time ago`)
}
