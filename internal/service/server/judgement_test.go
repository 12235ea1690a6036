package server_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// offOn switches dns off on members, by their tenant's own files.
func offOn(members ...int) map[string]string {
	out := map[string]string{}
	for _, i := range members {
		out["addons/tenants/retail/clusters/"+member(i)+"/application-sets/addons.yaml"] = "dns: {enabled: false}\n"
	}
	return out
}

// byName approves a component of members by their names, of all without any.
func byName(component string, members ...int) map[string]string {
	var names []string
	for i := range dozen {
		if len(members) == 0 || slices.Contains(members, i+1) {
			names = append(names, member(i+1))
		}
	}
	return map[string]string{approval: approvalOf("- {clusters: [" + strings.Join(names, ", ") + "], component: \"" + component + "\", reason: r}")}
}

// goingOn is a service that starts in a world, with what another one has stored.
func goingOn(t *testing.T, known *facts.Set, change ...func(*server.Options)) *service {
	t.Helper()
	return start(t, append([]func(*server.Options){atToday, func(o *server.Options) {
		if known != nil {
			o.Facts = &changingFacts{running: make(chan struct{}), set: *known}
		}
	}}, change...)...)
}

// dnsOff switches dns off for all spokes of the dozen, by a statement.
var dnsOff = map[string]string{"addons/tenants/defaults/application-sets/addons.yaml": "dns: {enabled: false}\n"}

// webOff switches web off on the one member that has it.
var webOff = map[string]string{"addons/tenants/retail/clusters/" + member(dozen) + "/application-sets/addons.yaml": "web: {enabled: false}\n"}

// layoutOf is a layout with a guard of its own.
func layoutOf(guard string) map[string]string {
	return map[string]string{"fleet/layout.yaml": "guard: " + guard + "\n"}
}

// keeps checks that no parameter set of dns is given for its deletion, or left out.
func (s *service) keeps(what string) {
	s.Helper()
	if gone := s.goes(); len(gone) > 0 {
		s.Errorf("%s: dns goes on %q", what, gone)
	}
}

// goes returns the members of which dns is left out, or given for its deletion: none, if the
// response is refused.
func (s *service) goes() []string {
	s.Helper()
	r := s.askAs(ofDNS, askDNS)
	if r.code == http.StatusServiceUnavailable {
		return nil
	}
	var out []string
	got := s.deletions(r)
	for i := range dozen {
		if deletion, there := got[member(i+1)]; !there || deletion == "cascade" {
			out = append(out, member(i+1))
		}
	}
	return out
}

// TestCommitDoesNotSetTheRulesThatItIsJudgedBy: a commit is judged by the stricter of the budget
// and window that are served and its own. A loosening counts for what later commits remove; what
// was refused needs an approval, also over a restart. (K7, G3)
func TestCommitDoesNotSetTheRulesThatItIsJudgedBy(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			dir := t.TempDir()
			keep := func(o *server.Options) { o.Store = folderStore(t, dir) }
			s := guarded(t, w.known, keep)
			all := layoutOf("{maxRemovals: 100%}")
			s.say(twelve(with(all, dnsOff)))
			s.keeps("with the commit")
			s.say(twelve(with(all, dnsOff, map[string]string{"README.yaml": "x: 1\n"})))
			s.keeps("after another commit")
			s.say(twelve(with(all, dnsOff, webOff)))
			s.keeps("after a commit that may remove something else")
			if got := s.deletions(s.askAs(ofWeb, askWeb)); got[member(dozen)] == "orphan" {
				t.Errorf("web, by the larger budget: %v", got)
			}
			require.NoError(t, s.Stop(t.Context()))
			s = goingOn(t, w.known, keep)
			s.say(twelve(with(all, dnsOff, webOff)))
			s.keeps("after a restart")
			s.say(twelve(with(all, dnsOff, webOff, byName("addons/dns"))))
			if gone := s.goes(); len(gone) != dozen {
				t.Errorf("approved by name: dns goes on %q", gone)
			}
		})
	}
	t.Run("window", func(t *testing.T) {
		s := guarded(t, nil)
		s.say(twelve(layoutOf("{window: 1h}")))
		s.say(twelve(with(layoutOf("{window: 1h}"), offOn(1))))
		s.gives(ofDNS, askDNS, dozen-1)
		s.say(twelve(with(layoutOf("{window: 0s}"), offOn(1, 2))))
		if gone := s.goes(); len(gone) != 1 {
			t.Errorf("dns goes on %q", gone)
		}
	})
}

// TestApprovalByPatternCountsFromTheNextCommit: an approval by name counts in its own commit, one
// by a pattern of members from the next one on, over a restart, too, and not by new facts. (K7)
func TestApprovalByPatternCountsFromTheNextCommit(t *testing.T) {
	for name, item := range map[string]string{
		"any":         "- {cluster: \"*\", component: addons/dns, reason: r}",
		"tenant":      "- {tenant: retail, component: addons/dns, reason: r}",
		"environment": "- {environment: dev, component: addons/dns, reason: r}",
	} {
		for _, w := range worlds {
			t.Run(name+", "+w.name, func(t *testing.T) {
				dir := t.TempDir()
				keep := func(o *server.Options) { o.Store = folderStore(t, dir) }
				s := guarded(t, w.known, keep)
				pattern := with(dnsOff, map[string]string{approval: approvalOf(item)})
				s.say(twelve(pattern))
				s.keeps("in its own commit")
				before := s.Refresher().State()
				s.Refresher().Reconsider()
				s.until("has another state", func(refresh.Status) bool { return s.Refresher().State() != before })
				s.keeps("as another state of its own commit")
				require.NoError(t, s.Stop(t.Context()))
				s = goingOn(t, w.known, keep)
				s.say(twelve(pattern))
				s.keeps("after a restart")
				s.say(twelve(with(pattern, map[string]string{"README.yaml": "x: 1\n"})))
				if gone := s.goes(); len(gone) != dozen {
					t.Errorf("after the next commit: dns goes on %q", gone)
				}
			})
		}
	}
}

// TestApprovalFarAheadApprovesNothing: an approval may expire at most 30 days ahead. (G3)
func TestApprovalFarAheadApprovesNothing(t *testing.T) {
	for _, w := range worlds {
		s := guarded(t, w.known)
		for day, want := range map[string]int{"2026-12-22": 0, "2026-12-21": dozen} {
			far := byName("addons/dns")
			far[approval] = strings.Replace(far[approval], "2026-11-30", day, 1)
			s.say(twelve(with(dnsOff, far)))
			if gone := s.goes(); len(gone) != want {
				t.Errorf("%s, until %s: dns goes on %q", w.name, day, gone)
			}
			s.say(twelve(nil))
			s.keeps("back")
		}
	}
}

// retire retires members, with more keys in their files.
func retire(more string, members ...int) map[string]string {
	out := map[string]string{}
	for _, i := range members {
		out[memberPath(i)] = twelve(nil)[memberPath(i)] + "lifecycle: retired\n" + more
	}
	return out
}

// TestSeveralRetiredMembersCountAsALoss: one member goes at once by its own file. Several in one
// step count against the budget, and with their workloads they need an approval that names each.
// What was refused goes neither alone in a later commit nor by a broken file. (G3, K9)
func TestSeveralRetiredMembersCountAsALoss(t *testing.T) {
	const cascade = "deletion: cascade\n"
	half, other := layoutOf("{maxRemovals: 50%}"), map[string]string{"README.yaml": "x: 1\n"}
	for _, w := range worlds {
		check := func(what string, s *service, want ...string) {
			t.Helper()
			if gone := s.goes(); !slices.Equal(gone, want) {
				t.Errorf("%s, %s: dns goes on %q; expected %q", w.name, what, gone, want)
			}
		}
		for _, more := range []string{"", cascade} {
			s := guarded(t, w.known)
			s.say(twelve(retire(more, 1)))
			check("one", s, "m01")
			s = guarded(t, w.known)
			s.say(twelve(retire(more, 1, 2)))
			check("two", s)
			s.say(twelve(with(retire(more, 1, 2), other)))
			check("two, and another commit", s)
			s.say(twelve(retire(more, 1)))
			check("one of two", s)
			s.say(twelve(with(retire(more, 1), map[string]string{memberPath(1): "clusterName: [\n"})))
			check("a broken file", s)
			s.say(twelve(with(retire(more, 1, 3), byName("*", 1))))
			check("one approved, and one alone", s, "m01", "m03")
		}
		s := guarded(t, w.known)
		s.say(twelve(half))
		s.say(twelve(with(half, retire("", 1, 2))))
		check("two within the budget", s, "m01", "m02")
		s = guarded(t, w.known)
		s.say(twelve(half))
		s.say(twelve(with(half, retire(cascade, 1, 2))))
		check("two with their workloads within the budget", s)
		s.say(twelve(with(half, retire(cascade, 1, 2), map[string]string{approval: approvalOf("- {tenant: retail, component: \"*\", reason: r}")})))
		s.say(twelve(with(half, retire(cascade, 1, 2), other, map[string]string{approval: approvalOf("- {tenant: retail, component: \"*\", reason: r}")})))
		check("two with their workloads, by a pattern", s)
		s.say(twelve(with(half, retire(cascade, 1, 2), byName("*", 1, 2))))
		check("two with their workloads, by name", s, "m01", "m02")
	}
	s := goingOn(t, ptr(running()))
	s.say(twelve(retire(cascade, 1, 2)))
	if gone := s.goes(); len(gone) > 0 {
		t.Errorf("two, and no record: dns goes on %q", gone)
	}
	s.say(twelve(with(retire(cascade, 1, 2), other)))
	if gone := s.goes(); len(gone) > 0 {
		t.Errorf("two, no record, and another commit: dns goes on %q", gone)
	}
}

// TestTeamKeepsItsProjectOverARestart: the project of a team whose only member is left out, and
// whose file cannot be read, is not lost by a restart at the same commit. (G1, K9)
func TestTeamKeepsItsProjectOverARestart(t *testing.T) {
	const (
		ask  = `{"view":"components","group":"teams"}`
		bank = "fleet/fleet-members/hub-1/bank.yaml"
	)
	files := repository(map[string]string{
		"fleet/layout.yaml":      "groups: {teams: {catalog: teams.yaml}}\n",
		"teams.yaml":             "components: {team: {chart: {repoURL: r, path: charts/team, version: v1}}, team-project: {chart: {repoURL: r, path: charts/team-project, version: v1}, namespace: argocd}}\n",
		"fleet/teams/vault.yaml": "name: vault\ntenant: bank\nowners: [vault]\nclusters: {}\nnamespaces: [{name: vault, preset: small}]\nrepositories: [\"https://git.example/vault\"]\n",
	})
	broken := with(files, map[string]string{
		bank: "{clusterName: bank, tenant: bank, environment: prod, secretManagerSecretName: x}\n",
		"addons/tenants/bank/clusters/bank/addons/dns/values.yaml": "a: [\n",
	})
	unreadable := with(broken, map[string]string{bank: "[\n"})
	dir := t.TempDir()
	keep := func(o *server.Options) { o.Store = folderStore(t, dir) }
	s := start(t, keep)
	for _, commit := range []map[string]string{files, broken, unreadable} {
		s.say(commit)
	}
	if r := s.askAs("teams", ask); r.code != http.StatusOK || !strings.Contains(r.body, "team-vault-hub-1") {
		t.Fatal(r.code, r.body)
	}
	require.NoError(t, s.Stop(t.Context()))
	s = start(t, keep)
	for _, commit := range []map[string]string{unreadable, with(unreadable, map[string]string{"README.yaml": "x: 1\n"})} {
		s.say(commit)
		if r := s.askAs("teams", ask); r.code == http.StatusOK && !strings.Contains(r.body, "team-vault-hub-1") {
			t.Errorf("%d %s", r.code, r.body)
		}
	}
	s.say(with(files, map[string]string{bank: broken[bank]}))
	s.askAs("teams", ask).is(t, http.StatusOK, "fixed", "team-vault-hub-1")
}

// TestHubKeepsAGroupUntilTheAgentsEngineIsThere: members that become agents at once stay with the
// hub, whatever else their commit changes. Each goes over when the engine that the hub installs
// there is healthy. (M1, D4)
func TestHubKeepsAGroupUntilTheAgentsEngineIsThere(t *testing.T) {
	a := newSmallArgoCD(t, true)
	before := maps.Clone(a.apps)
	files := exampleFleet(t)
	var became []string
	for path, text := range files {
		if strings.HasPrefix(path, "fleet/fleet-members/hub-eu/") && !strings.Contains(text, "use_remote_argo") && !strings.Contains(text, "hub-cluster") {
			files[path] = text + "use_remote_argo: true\nenable_remote_addons: true\n"
			became = append(became, strings.TrimSuffix(path[strings.LastIndex(path, "/")+1:], ".yaml"))
		}
	}
	slices.Sort(became)
	engines := "argo-cd"
	a.holdBack = func(app facts.Application) bool {
		return app.Component == engines && slices.Contains(became, app.Cluster)
	}
	a.say(files)
	for range 3 {
		a.reconcile()
	}
	if lost := a.lost(before); len(lost) > 0 || len(became) < 3 {
		t.Errorf("%q are agents now; lost %q", became, lost)
	}
	first := became[0]
	a.holdBack = func(app facts.Application) bool {
		return app.Component == "argo-cd" && slices.Contains(became[1:], app.Cluster)
	}
	for range 4 {
		a.reconcile()
	}
	lost := a.lost(before)
	if len(lost) == 0 || slices.ContainsFunc(lost, func(app string) bool { return !strings.HasSuffix(app, "-"+first) }) {
		t.Errorf("the engine of %s is there; lost %q", first, lost)
	}
}

// namespaces returns the namespace of dns on each member, with its hold.
func (s *service) namespaces() map[string]string {
	s.Helper()
	r := s.askAs(ofDNS, askDNS)
	if r.code != http.StatusOK {
		s.Fatalf("%d %s", r.code, r.body)
	}
	out := map[string]string{}
	for _, set := range querytest.Sets(s, []byte(r.body)) {
		out[set.Text("name")] = strings.TrimSpace(set.Text("namespace") + " " + set.Text("hold"))
	}
	return out
}

// allOf is the same text for every member of the dozen.
func allOf(text string) map[string]string {
	out := map[string]string{}
	for i := range dozen {
		out[member(i+1)] = text
	}
	return out
}

// inNamespace has dns in another namespace, everywhere or on some members.
func inNamespace(namespace string, members ...int) map[string]string {
	if len(members) == 0 {
		all := repository(nil)["addons/defaults/application-sets/addons.yaml"] + "web: {enabled: false, chart: {repoURL: r, path: p, version: v1}}\n"
		return map[string]string{"addons/defaults/application-sets/addons.yaml": strings.Replace(all, "namespace: dns", "namespace: "+namespace, 1)}
	}
	out := map[string]string{}
	for _, i := range members {
		out["addons/tenants/retail/clusters/"+member(i)+"/application-sets/addons.yaml"] = "dns: {namespace: " + namespace + "}\n"
	}
	return out
}

// TestReplacedComponentsAreHeld: another namespace replaces what runs. On one member it happens at
// once; beyond the budget the components stay as they are, and nothing else does, until an approval
// names them or the namespace is what it was. (HOLDS.md 31)
func TestReplacedComponentsAreHeld(t *testing.T) {
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			dir := t.TempDir()
			keep := func(o *server.Options) { o.Store = folderStore(t, dir) }
			s := guarded(t, w.known, keep)
			s.say(twelve(inNamespace("other", 1)))
			want := allOf("dns")
			want[member(1)] = "other"
			assert.Equal(t, want, s.namespaces(), "on one member")
			s.say(twelve(nil))
			webValues := map[string]string{"addons/defaults/addons/web/values.yaml": "colour: blue\n"}
			s.say(twelve(with(inNamespace("other"), webValues)))
			assert.Equal(t, allOf("dns removal"), s.namespaces(), "on all")
			s.askAs(ofWeb, askWeb).is(t, http.StatusOK, "web goes on", "colour: blue")
			s.say(twelve(with(inNamespace("other"), webValues, layoutOf("{maxRemovals: 100%}"))))
			s.say(twelve(with(inNamespace("other"), webValues, layoutOf("{maxRemovals: 100%}"), map[string]string{"README.yaml": "x: 1\n"})))
			assert.Equal(t, allOf("dns removal"), s.namespaces(), "by later commits")
			s.LookAtRings(t.Context())
			require.NoError(t, s.Stop(t.Context()))
			s = goingOn(t, w.known, keep)
			s.say(twelve(with(inNamespace("other"), webValues)))
			s.until("answers", func(refresh.Status) bool {
				s.LookAtRings(t.Context())
				return s.askAs(ofDNS, askDNS).code == http.StatusOK
			})
			assert.Equal(t, allOf("dns removal"), s.namespaces(), "after a restart")
			s.say(twelve(webValues))
			assert.Equal(t, allOf("dns"), s.namespaces(), "as it was")
			s.say(twelve(with(inNamespace("other"), webValues)))
			s.say(twelve(with(inNamespace("other"), webValues, byName("addons/dns"))))
			assert.Equal(t, allOf("other"), s.namespaces(), "approved by name")
		})
	}
}
