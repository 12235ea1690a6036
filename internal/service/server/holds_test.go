package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// listHolds is the service's list of holds for a query string.
func (s *service) listHolds(query string, header ...string) hold.List {
	s.Helper()
	r := s.get("/api/v1/holds?"+query, header...)
	if r.code != http.StatusOK {
		s.Fatalf("%s: %d %s", query, r.code, r.body)
	}
	var out hold.List
	d := json.NewDecoder(strings.NewReader(r.body))
	d.DisallowUnknownFields()
	require.NoError(s, d.Decode(&out))
	for _, h := range out.Items {
		if h.Ends == "" || h.Detail == "" {
			s.Errorf("%+v says nothing", h)
		}
	}
	return out
}

// inLines is a list with one line for each hold, without what a problem expects.
func inLines(l hold.List) string {
	var out []string
	for _, h := range l.Items {
		text, _, _ := strings.Cut(h.Text(), "; expected")
		out = append(out, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s: %s", h.Reason, h.Tenant, h.Cluster, h.Subject(), text)), " "))
	}
	return strings.Join(out, "\n")
}

// dnsAtRing checks from which revision a ring serves dns of a cluster; "" for one that it does not
// hold.
func (s *service) dnsAtRing(cluster, revision string) {
	s.Helper()
	l := s.listHolds("reason=ring&component=addons/dns&cluster=" + cluster)
	if len(l.Items) > 1 || len(l.Items) == 0 != (revision == "") || revision != "" && l.Items[0].Revision != revision {
		s.Errorf("%s is not held at %q: %+v", cluster, revision, l.Items)
	}
}

// TestHolds: whatever keeps a cell at an older row is one hold of /api/v1/holds, with its reason,
// its scope, what is wrong and where, and the revision that is served.
func TestHolds(t *testing.T) {
	t.Parallel()
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		s := serving(t)
		l := s.listHolds("")
		if len(l.Items) > 0 || len(l.Summary) > 0 || !l.Ready || l.Since.IsZero() || l.Revision != s.Refresher().Status().Revision || l.Kind != hold.Kind {
			t.Errorf("%+v", l)
		}
	})
	t.Run("broken and draining", func(t *testing.T) {
		t.Parallel()
		s := serving(t)
		good := s.Refresher().Status().Revision
		s.say(repository(map[string]string{fileA: memberA + "s3cret-key: x\n", "fleet/fleet-members/hub-1/b.yaml": memberB + "lifecycle: draining\n"}))
		l := s.listHolds("")
		assert.Equal(t, "broken retail a : "+fileA+":5:1: unknown-key: key \"s3cret-key\": not known in member file\n"+
			"draining retail b : fleet/fleet-members/hub-1/b.yaml:5:12: the member drains: it keeps its workloads and takes no changes", inLines(l))
		for i, reason := range []hold.Reason{hold.Broken, hold.Draining} {
			if h := l.Items[i]; h.Revision != good || h.Since.IsZero() || !h.Since.Equal(l.Summary[i].Oldest) || l.Summary[i].Holds != 1 || l.Summary[i].Members != 1 || l.Summary[i].Reason != reason {
				t.Errorf("%+v of %+v", h, l.Summary)
			}
		}
		if again := s.listHolds(""); !again.Items[1].Since.Equal(l.Items[1].Since) {
			t.Errorf("since %s, then since %s", l.Items[1].Since, again.Items[1].Since)
		}
		for query, want := range map[string]int{
			"reason=draining": 1, "tenant=retail": 2, "tenant=other": 0, "hub=hub-2": 0, "cluster=a": 1, "cluster=b&component=addons/dns": 1, "cluster=b&component=addons/gone": 1, "group=addons&component=dns": 2, "cluster=hub-1": 0,
		} {
			if n := len(s.listHolds(query).Items); n != want {
				t.Errorf("%s: %d holds, want %d", query, n, want)
			}
		}
		s.get("/readyz", "Authorization", "").is(t, 200, "readyz", `"holds":{"broken":1,"draining":1}`)
		s.get("/metrics").is(t, 200, "metrics", `argosy_holds{reason="broken"} 1`, `argosy_holds{reason="ring"} 0`,
			fmt.Sprintf("argosy_hold_oldest_since_timestamp_seconds{reason=\"draining\"} %g", float64(l.Items[1].Since.UnixMilli())/1000), `argosy_hold_oldest_since_timestamp_seconds{reason="ring"} 0`)
		for query, message := range map[string]string{
			"cluster=c":                          `no cluster is called "c", did you mean`,
			"cluster=hub-1&component=addons/dsn": `group "addons" of cluster "hub-1" has no component "dsn", did you mean "dns"?`,
			"cluster=hub-1&group=addon":          `cluster "hub-1" has no group "addon", did you mean "addons"?`,
			"component=dns":                      "a component needs its group: expected component=GROUP/COMPONENT",
			"reason=quarantined":                 `reason "quarantined"; expected one of broken, draining, removal, limits, ring, dependency, handover, mount, manual`,
			"clusters=b":                         "unknown or repeated query parameter; expected reason, hub, tenant, cluster, group, component",
		} {
			s.get("/api/v1/holds?"+query).is(t, 400, query, strings.ReplaceAll(message, `"`, `\"`))
		}
	})
	t.Run("a broken repository", func(t *testing.T) {
		t.Parallel()
		s := serving(t)
		good := s.Refresher().Status().Revision
		bad := s.say(repository(map[string]string{"fleet/layout.yaml": "s3cret-key: x\n"})).Revision
		l := s.listHolds("cluster=a&component=addons/dns")
		assert.Equal(t, "broken : revision "+bad+" is refused: fleet/layout.yaml:1:1: key \"s3cret-key\": not known in the layout", inLines(l))
		if l.Items[0].Revision != good || l.Revision != good {
			t.Errorf("%+v", l)
		}
		s.script.Reports <- fleettest.Report{Err: &source.Error{Reason: source.Unreachable, Source: "git", Detail: "no route"}}
		s.until("is away", func(st refresh.Status) bool { return st.Refused[0].Cause == refresh.Source })
		if l = s.listHolds(""); len(l.Stale) != 1 || l.Stale[0].Cause != "source" || !strings.Contains(l.Stale[0].Detail, "no route") {
			t.Errorf("%+v", l.Stale)
		}
	})
	t.Run("removal", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(o *server.Options) {
			o.Facts = &changingFacts{running: make(chan struct{}), set: running()}
			o.ApplicationSets = &asking{refreshed: make(chan string, 1000), sets: []facts.ApplicationSet{{Name: ofDNS, Requests: []json.RawMessage{[]byte(askDNS)}}}}
			o.Now = func() time.Time { return today }
		})
		s.say(twelve(nil))
		s.gives(ofDNS, askDNS, dozen)
		s.say(twelve(map[string]string{"addons/tenants/retail/defaults/application-sets/addons.yaml": "dns: {enabled: false}\n"}))
		s.askAs(ofDNS, askDNS)
		if all := inLines(s.listHolds("reason=removal&cluster=m02&component=addons/dns")); !strings.Contains(all, "removal retail m02 : removal-refused: ") {
			t.Error(all)
		}
	})
	t.Run("removal", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(o *server.Options) {
			o.Facts = &changingFacts{running: make(chan struct{}), set: running()}
			o.Now = func() time.Time { return today }
		})
		s.say(twelve(nil))
		s.say(twelve(half()))
		s.gives(ofDNS, askDNS, dozen)
		const why = "removal budget: 6 of the hub's 12 members would lose something; 1 may without approval (docs/how-to/approve-a-removal.md)"
		var want []string
		for i := 1; i <= dozen/2; i++ {
			want = append(want, "removal "+member(i)+" addons/dns: would go (lost: its member file is gone); "+why)
		}
		l := s.listHolds("group=addons")
		assert.Equal(t, strings.Join(want, "\n"), inLines(l))
		if since := l.Items[0].Since; !since.Equal(today) || l.Summary[0].Members != dozen/2 {
			t.Errorf("%s %+v", since, l.Summary)
		}
		if n := len(s.listHolds("cluster=m09&component=addons/dns").Items); n != 0 {
			t.Errorf("%d holds of a cell that loses nothing", n)
		}
		if n := len(s.listHolds("cluster=m12&component=addons/web").Items); n != 0 {
			t.Errorf("%d holds of a cell of another response", n)
		}
		if n := len(s.listHolds("cluster=m01").Items); n != 2 { // its file is gone
			t.Errorf("%d holds of a cluster without a file", n)
		}
	})
	t.Run("handover", func(t *testing.T) {
		t.Parallel()
		s := start(t, func(o *server.Options) {
			o.Facts = &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithApplications(dnsOnA, dnsOnB)}
		})
		s.say(agentA(""))
		s.say(agentA(remoteAddons))
		assert.Equal(t, "handover retail a addons: "+fileA+":6:23: the member's engine owns the group, and the hub still has Applications of it", inLines(s.listHolds("")))
	})
	t.Run("mount", func(t *testing.T) {
		t.Parallel()
		const chart = "chart: {repoURL: https://git.example.com/x, path: web, version: main}"
		cart := fleettest.NewSource()
		s := start(t, func(o *server.Options) {
			o.Mounts = func(fleet.Mount) (source.Source, error) { return cart, nil }
		})
		s.script.Reports <- fleettest.Report{Snapshot: snapshot.FromMap(repository(map[string]string{
			"fleet/layout.yaml": "groups:\n  workloads: {catalog: [catalogs/workloads.yaml]}\n  teams: {root: addons, catalog: [catalogs/teams.yaml]}\n" +
				"mounts:\n  apps/cart: {url: \"https://git.example.com/cart\", team: cart}\n",
			"catalogs/teams.yaml":     "team: {" + chart + "}\nteam-project: {" + chart + "}\n",
			"catalogs/workloads.yaml": "cart-web: {team: cart, namespace: cart, " + chart + "}\n",
			"fleet/teams/cart.yaml":   "name: cart\ntenant: retail\nowners: [o]\nclusters: {matchLabels: {cluster: a}}\nnamespaces: [{name: cart, preset: small}]\nrepositories: [https://git.example.com/*]\n",
		}))}
		cart.Reports <- fleettest.Report{Snapshot: snapshot.FromMap(map[string]string{"defaults/application-sets/workloads.yaml": "cart-web: {enabled: true}\n"})}
		isStale := func(st refresh.Status) bool { return len(st.Mounts) == 1 && st.Mounts[0].IsStale() }
		s.until("has the mount", func(st refresh.Status) bool { return len(st.Mounts) == 1 && !isStale(st) })
		cart.Reports <- fleettest.Report{Err: errors.New("no route")}
		s.until("lacks the mount", isStale)
		l := s.listHolds("")
		assert.Equal(t, "mount retail a workloads/cart-web: apps/cart (https://git.example.com/cart): no route", inLines(l))
		if l.Items[0].Revision == "" || l.Items[0].Since.IsZero() {
			t.Errorf("%+v", l.Items)
		}
	})
}

// TestHoldsOfRings: a ring holds the cells that the newest revision has otherwise, and no others.
// (G7)
func TestHoldsOfRings(t *testing.T) {
	h, first := steady(t, nil)
	if l := h.listHolds(""); len(l.Items) > 0 {
		t.Errorf("before the change: %+v", l.Items)
	}
	second := h.say(inRings(map[string]string{valuesOfAll: "replicas: 7\n"})).Revision
	h.ring("canary", second)
	h.texts()
	h.ringSays("prod", first, "waits for")
	l := h.listHolds("reason=ring")
	if len(l.Items) != 2 {
		t.Fatalf("%+v", l.Items)
	}
	for i, cluster := range []string{"b", "hub-1"} {
		if x := l.Items[i]; x.Cluster != cluster || x.Subject() != "addons/dns" || x.Revision != first || x.Since.IsZero() || !strings.HasPrefix(x.Detail, "rollout all, ring prod: waits for ") {
			t.Errorf("%+v", x)
		}
	}
	h.healthy("dns-a")
	h.ring("prod", second)
	h.eventually("nothing is held", func() bool { return len(h.listHolds("").Items) == 0 })
}

// TestHoldsOfDependencies: a component that waits for another one names it, and the revision that
// it keeps. (P1)
func TestHoldsOfDependencies(t *testing.T) {
	h := newOrderly(t)
	h.deploy()
	h.health(true, "dns-a", "web-a")
	first := h.web().Text("revision")
	h.say(ordered(bothChanged))
	var l hold.List
	h.eventually("it waits", func() bool {
		h.web()
		l = h.listHolds("cluster=a&component=addons/web")
		return len(l.Items) == 1
	})
	assert.Equal(t, "dependency retail a addons/web: waits for addons/dns: its Application is not the newest", inLines(l))
	if l.Items[0].Revision != first || l.Items[0].Since.IsZero() {
		t.Errorf("%+v; want revision %s", l.Items[0], first)
	}
}

// TestScopeOfHolds: a restricted token sees the holds of its clusters, and of all clusters without
// what is wrong.
func TestScopeOfHolds(t *testing.T) {
	t.Parallel()
	k := tokensOf(t, map[string]string{"tenant": "{routes: [fleet], tenants: [payments]}", "hub": "{routes: [fleet], hubs: [hub-2]}", "none": "{routes: [explain]}"})
	s := serving(t, k.use)
	s.say(tenants(nil))
	broken := tenants(map[string]string{fileA: memberA + "s3cret-key: x\n", "fleet/fleet-members/hub-1/c.yaml": tenants(nil)["fleet/fleet-members/hub-1/c.yaml"] + "own-key: x\n"})
	s.say(broken)
	s.say(with(broken, map[string]string{"fleet/layout.yaml": "s3cret-layout: x\n"}))
	is := func(token string, holds ...string) {
		t.Helper()
		l := s.listHolds("", "Authorization", "Bearer "+k.values[token])
		if assert.Equal(t, strings.Join(holds, "\n"), inLines(l)); l.RestrictedTo == nil {
			t.Error("it does not say that it is restricted")
		}
	}
	is("tenant", "broken : "+access.Withheld, "broken payments c : fleet/fleet-members/hub-1/c.yaml:5:1: unknown-key: key \"own-key\": not known in member file")
	is("hub", "broken : "+access.Withheld)
	for token, c := range map[string]struct{ query, message string }{
		"hub":    {"hub=hub-1", `token \"hub\" may not ask for hub \"hub-1\"`},
		"none":   {"", `token \"none\" may not ask for route \"fleet\"`},
		"tenant": {"cluster=b", `no cluster is called \"b\"`},
	} {
		code := http.StatusForbidden
		if token == "tenant" {
			code = http.StatusBadRequest
		}
		s.get("/api/v1/holds?"+c.query, "Authorization", "Bearer "+k.values[token]).is(t, code, token, c.message)
	}
	s.get("/api/v1/holds", "Authorization", "").is(t, http.StatusUnauthorized, "without a token")
}

// TestHoldsAreBounded: of many holds the first are listed, and all are counted.
func TestHoldsAreBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range hold.MaxItems {
		name := fmt.Sprintf("x%04d", i)
		files["fleet/fleet-members/hub-1/"+name+".yaml"] = "clusterName: " + name + "\ntenant: many\nenvironment: dev\nsecretManagerSecretName: x\nlifecycle: draining\n"
	}
	s := start(t)
	s.say(repository(files))
	s.say(repository(with(files, map[string]string{fileA: memberA + "lifecycle: draining\n"})))
	l := s.listHolds("")
	if len(l.Items) != hold.MaxItems || l.More != 1 || l.Summary[0].Holds != hold.MaxItems+1 || l.Items[0].Cluster != "a" {
		t.Errorf("%d items, %d more, %+v", len(l.Items), l.More, l.Summary)
	}
	names := slices.Sorted(maps.Keys(files))
	if last := l.Items[hold.MaxItems-1].Position.File; last != names[len(names)-2] {
		t.Errorf("the last is %s", last)
	}
}
