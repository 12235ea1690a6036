package response_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// deletions are an answer's sets by name, with their deletion where it is not orphan.
func deletions(t testing.TB, st *fleetstate.State, parameters string) string {
	t.Helper()
	sets := querytest.Ask(t, st, parameters)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		if d := sets[name].Text("deletion"); d != "orphan" {
			name += ":" + d
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// TestDeletionOfComponents is rules D2 to D4: for what reason a component's set leaves the answer
// decides whether it is answered with cascade before.
func TestDeletionOfComponents(t *testing.T) {
	off := fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: false}\n"}
	selects := func(selector, label string) fleettest.Tree {
		return fleettest.Tree{
			fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + ", selector: " + selector + "}\n",
			fleettest.Member("one"): fleettest.Spoke("one", "labels: {other: x"+label+"}\n"), fleettest.Member("two"): fleettest.Spoke("two", "labels: {use_dns: \"true\", gpu: none}\n"),
			"fleet/fleet-members/hub/hub.yaml": "",
		}
	}
	const (
		base  = `{"view":"components","group":"addons","component":"dns","base":{"chart":{"repoURL":"b","name":"b","version":"0.1"}},"release":"default"}`
		whole = querytest.Addons
	)
	defaultRelease := `{"view":"components","group":"addons","release":"default"}`
	canary := `{"view":"components","group":"addons","release":"canary"}`
	there := fleettest.Application("dns", "one", "default")
	agent := "use_remote_argo: true\nenable_remote_addons: true\n"
	for _, c := range []struct {
		name string
		more fleettest.Tree
		apps []facts.Application
		ask  string
		want string
	}{
		{"D1: what is to run is orphan, whatever its Application carries", nil, []facts.Application{fleettest.WithFinalizer(there)}, defaultRelease, "dns-hub dns-one"},
		{"D3 disabled: switched off, there", off, []facts.Application{there}, defaultRelease, "dns-hub dns-one:cascade"},
		{"D3 disabled: the finalizer shows", off, []facts.Application{fleettest.WithFinalizer(there)}, defaultRelease, "dns-hub"},
		{"D3 disabled: gone", off, []facts.Application{fleettest.Application("dns", "two", "canary")}, defaultRelease, "dns-hub"},
		{"D3 disabled: there never was one", off, nil, defaultRelease, "dns-hub"},
		{"D3 disabled: one component asked, with a base", off, []facts.Application{there}, base, "dns-hub dns-one:cascade"},
		{"D3 disabled: the group as a whole", off, []facts.Application{fleettest.Application("dns", "one", "")}, whole, "dns-hub dns-one:cascade dns-two"},
		{"D3 disabled: of the group as a whole, any release's", off, []facts.Application{fleettest.Application("dns", "one", "canary")}, whole, "dns-hub dns-one:cascade dns-two"},
		{"D3 disabled: as text", fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: \"false\"}\n"}, []facts.Application{there}, defaultRelease, "dns-hub dns-one:cascade"},
		{"D3 disabled: at a higher level", fleettest.Tree{"addons/tenants/retail/defaults/application-sets/addons.yaml": "dns: {enabled: false}\n"}, []facts.Application{there, fleettest.Application("dns", "two", "canary")}, whole, "dns-hub dns-one:cascade dns-two:cascade"},
		{"D3 disabled: switched on again", nil, []facts.Application{there}, defaultRelease, "dns-hub dns-one"},
		{"D2 disabled: a label says no", selects("{matchLabels: {use_dns: \"true\"}}", ", use_dns: \"false\""), []facts.Application{there}, whole, "dns-one:cascade dns-two"},
		{"D2 disabled: a label says what must not be", selects("{matchExpressions: [{key: gpu, operator: NotIn, values: [big]}]}", ", gpu: big"), []facts.Application{there}, whole, "dns-one:cascade dns-two"},
		{"D2 disabled: a label is there that must not", selects("{matchExpressions: [{key: paused, operator: DoesNotExist}]}", ", paused: now"), []facts.Application{there}, whole, "dns-one:cascade dns-two"},
		{"D2 lost: the label is gone", selects("{matchLabels: {use_dns: \"true\"}}", ""), []facts.Application{there}, whole, "dns-two"},
		{"D2 lost: what switched it on is gone", fleettest.Tree{fleettest.SystemCatalog: "dns: {" + fleettest.DNSChart + "}\n"}, []facts.Application{there}, defaultRelease, ""},
		{"D2 lost: only the base says that it is off", fleettest.Tree{fleettest.SystemCatalog: ""}, []facts.Application{there}, strings.Replace(base, `"chart"`, `"enabled":false,"chart"`, 1), ""},
		{"H2: enabled is null, which is no statement", fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: null}\n"}, []facts.Application{there}, defaultRelease, "dns-hub dns-one"},
		{"D2 lost: the entry is null", fleettest.Tree{fleettest.OneCatalog: "dns: null\n"}, []facts.Application{there}, base, "dns-hub"},
		{"D2 lost: no catalog knows it", fleettest.Tree{fleettest.SystemCatalog: "cert: {enabled: true, chart: {repoURL: r, name: c, version: '1'}}\n"}, []facts.Application{there}, defaultRelease, "cert-hub cert-one"},
		{"D2 lost: unknown on that cluster alone", fleettest.Tree{fleettest.SystemCatalog: "", fleettest.OneCatalog: "other: {enabled: false}\n", "addons/tenants/retail/environments/dev/application-sets/addons.yaml": "dns: {enabled: true, " + fleettest.DNSChart + "}\n"}, []facts.Application{there}, `{"view":"components","group":"addons","component":"dns"}`, "dns-two"},
		{"D2 lost: the member file", fleettest.Tree{fleettest.Member("one"): ""}, []facts.Application{there}, defaultRelease, "dns-hub"},
		{"D4 moved: another release", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "labels: {addonsRelease: canary}\n")}, []facts.Application{there}, defaultRelease, "dns-hub"},
		{"D4 moved: the new release takes it as it is", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "labels: {addonsRelease: canary}\n")}, []facts.Application{there}, canary, "dns-one dns-two"},
		{"D4 moved and switched off: the old release", off.With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "labels: {addonsRelease: canary}\n")}), []facts.Application{there}, defaultRelease, "dns-hub"},
		{"D4 moved and switched off: the new release", off.With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "labels: {addonsRelease: canary}\n")}), []facts.Application{there}, canary, "dns-two"},
		{"D4 moved: another owner", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", agent)}, []facts.Application{there}, defaultRelease, "dns-hub"},
		{"D4 moved and switched off: another owner", off.With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", agent)}), []facts.Application{there}, defaultRelease, "dns-hub"},
		{"the member's own engine removes its own", off.With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", agent)}), []facts.Application{there}, `{"view":"components","group":"addons","owner":"one"}`, "dns-one:cascade"},
		{"not this requester's: its selector does not select the cluster", off, []facts.Application{there}, `{"view":"components","group":"addons","selector":{"matchLabels":{"tenant":"platform"}}}`, "dns-hub"},
		{"somebody else's Application: another cluster", off, []facts.Application{{Name: "dns-one", Cluster: "two", Group: "addons", Component: "dns"}}, defaultRelease, "dns-hub"},
		{"somebody else's Application: another group", off, []facts.Application{{Name: "dns-one", Cluster: "one", Group: "resources", Component: "dns"}}, defaultRelease, "dns-hub"},
		{"somebody else's Application: another component", off, []facts.Application{{Name: "dns-one", Cluster: "one", Group: "addons", Component: "cert"}}, defaultRelease, "dns-hub"},
		{"somebody else's Application: no labels", off, []facts.Application{{Name: "dns-one"}}, defaultRelease, "dns-hub"},
		{"what cannot be computed any more stays", fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: false, values: {x: '{{ .labels.gone }}'}}\n"}, []facts.Application{there}, defaultRelease, "dns-hub"},
		{"D3 retired, by default what runs stays", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\n")}, []facts.Application{there}, defaultRelease, "dns-hub"},
		{"D3 retired, orphan", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: orphan\n")}, []facts.Application{there}, defaultRelease, "dns-hub"},
		{"D3 retired, orphan, and switched off before", off.With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: orphan\n")}), []facts.Application{there}, defaultRelease, "dns-hub"},
		{"D3 retired, cascade", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\n")}, []facts.Application{there}, defaultRelease, "dns-hub dns-one:cascade"},
		{"D3 retired, cascade, what was switched off or not", fleettest.Tree{fleettest.SystemCatalog: "dns: {" + fleettest.DNSChart + "}\n", fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\n")}, []facts.Application{there}, defaultRelease, "dns-one:cascade"},
		{"D3 retired, cascade, but the entry is null", fleettest.Tree{fleettest.OneCatalog: "dns: null\n", fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\n")}, []facts.Application{there}, base, "dns-hub"},
		{"D3 retired, cascade, the finalizer shows", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\n")}, []facts.Application{fleettest.WithFinalizer(there)}, defaultRelease, "dns-hub"},
		{"D3 retired, cascade, nothing there", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\n")}, nil, defaultRelease, "dns-hub"},
		{"D3 retired, cascade, moved to another release before", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\n")}, []facts.Application{fleettest.Application("dns", "one", "canary")}, defaultRelease, "dns-hub"},
		{"active with deletion: cascade is active", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "deletion: cascade\n")}, []facts.Application{there}, defaultRelease, "dns-hub dns-one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := querytest.BuildWith(t, fleettest.Small().With(c.more), c.apps...)
			assert.Equal(t, c.want, deletions(t, st, c.ask), "%s", c.ask)
			unknown := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(c.more)))
			want := strings.Join(strings.Fields(removeCascade(c.want)), " ")
			assert.Equal(t, want, deletions(t, unknown, c.ask), "without Applications known there is one step")
		})
	}
}

// removeCascade is an answer in short without what is in it for its removal.
func removeCascade(sets string) string {
	var out []string
	for _, s := range strings.Fields(sets) {
		if !strings.HasSuffix(s, ":cascade") {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

// TestSetToBeRemovedIsComputedAsBefore: until its Application goes, nothing else changes for what
// runs. (D3)
func TestSetToBeRemovedIsComputedAsBefore(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{fleettest.SystemCatalog: "dns: {enabled: true, namespace: net, values: {who: '{{ .cluster }}'}, " + fleettest.DNSChart + "}\n"})
	for name, more := range map[string]fleettest.Tree{
		"disabled": {fleettest.OneCatalog: "dns: {enabled: false}\n"},
		"retired":  {fleettest.Member("one"): "{clusterName: one, tenant: retail, environment: prod, lifecycle: retired, deletion: cascade}\n"},
	} {
		before := querytest.Ask(t, querytest.BuildWith(t, files, fleettest.Application("dns", "one", "default")), querytest.Addons)["dns-one"]
		after := querytest.Ask(t, querytest.BuildWith(t, files.With(more), fleettest.Application("dns", "one", "default")), querytest.Addons)["dns-one"]
		if after.Text("deletion") != "cascade" || before.Text("digest") == after.Text("digest") {
			t.Errorf("%s: %v", name, after)
		}
		for _, key := range []string{"deletion", "digest"} {
			delete(before, key)
			delete(after, key)
		}
		assert.Equal(t, fmt.Sprint(before), fmt.Sprint(after), "%s", name)
	}
}

// TestDeletionOfMembers is rule D3 for what registers a member: it stays while anything is left on
// the cluster that Argo CD has to reach it for, and then goes.
func TestDeletionOfMembers(t *testing.T) {
	const retired = "lifecycle: retired\n"
	agent := fleettest.Registration("one")
	agent.Name = "agent-one"
	named := fleettest.Registration("one")
	named.Group, named.Component = "fleet", "fleet-secret"
	for _, c := range []struct {
		name, member string
		apps         []facts.Application
		want         string
	}{
		{"active", "", []facts.Application{fleettest.WithFinalizer(fleettest.Registration("one"))}, "fleet-secret-one fleet-secret-two"},
		{"a component is left", retired, []facts.Application{fleettest.Registration("one"), fleettest.Application("dns", "one", "default")}, "fleet-secret-one fleet-secret-two"},
		{"a component is left that nobody answers for", retired, []facts.Application{fleettest.Registration("one"), fleettest.Application("old", "one", "")}, "fleet-secret-one fleet-secret-two"},
		{"a component is left, on its way", retired + "deletion: cascade\n", []facts.Application{fleettest.Registration("one"), fleettest.WithFinalizer(fleettest.Application("dns", "one", "default"))}, "fleet-secret-one fleet-secret-two"},
		{"another's component is left", retired, []facts.Application{fleettest.Registration("one"), fleettest.Application("dns", "two", "canary")}, "fleet-secret-one:cascade fleet-secret-two"},
		{"no component is left", retired, []facts.Application{fleettest.Registration("one")}, "fleet-secret-one:cascade fleet-secret-two"},
		{"no component is left, with cascade", retired + "deletion: cascade\n", []facts.Application{fleettest.Registration("one")}, "fleet-secret-one:cascade fleet-secret-two"},
		{"no component is left, with all labels", retired, []facts.Application{named}, "fleet-secret-one:cascade fleet-secret-two"},
		{"the agent is no component", retired, []facts.Application{fleettest.Registration("one"), agent}, "fleet-secret-one:cascade fleet-secret-two"},
		{"the finalizer shows", retired, []facts.Application{fleettest.WithFinalizer(fleettest.Registration("one"))}, "fleet-secret-two"},
		{"gone", retired, nil, "fleet-secret-two"},
		{"never registered anew for its removal", retired, []facts.Application{fleettest.Application("dns", "one", "default")}, "fleet-secret-two"},
		{"somebody else's Application", retired, []facts.Application{{Name: "fleet-secret-one", Cluster: "two"}}, "fleet-secret-two"},
		{"a component's Application of that name", retired, []facts.Application{fleettest.Application("fleet-secret", "one", "")}, "fleet-secret-one:cascade fleet-secret-two"},
		{"another component's Application of that name", retired, []facts.Application{{Name: "fleet-secret-one", Cluster: "one", Component: "fleet"}}, "fleet-secret-two"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", c.member)})
			assert.Equal(t, c.want, deletions(t, querytest.BuildWith(t, files, c.apps...), `{"view":"members"}`))
			want := "fleet-secret-one fleet-secret-two"
			if c.member != "" {
				want = "fleet-secret-two"
			}
			assert.Equal(t, want, deletions(t, querytest.NoProblems(t, querytest.Build(t, files)), `{"view":"members"}`), "without Applications known there is one step")
		})
	}
}

// TestRetiredAgents: an agent is left alone when its member retires. Its own engine removes what is
// its own.
func TestRetiredAgents(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "use_remote_argo: true\nenable_remote_addons: true\nlifecycle: retired\ndeletion: cascade\n")})
	st := querytest.BuildWith(t, files, facts.Application{Name: "agent-one", Cluster: "one"}, fleettest.Application("dns", "one", "default"))
	for parameters, want := range map[string]string{
		`{"view":"agents"}`: "", querytest.Addons: "dns-hub dns-two", `{"view":"components","group":"addons","owner":"one"}`: "dns-one:cascade",
	} {
		assert.Equal(t, want, deletions(t, st, parameters), "%s", parameters)
	}
	// What a flux agent runs is no Application: the hub has no part in its removal
	// (TestDeletionOfHelmReleases).
	flux := fleettest.Small().With(fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: false}\n", fleettest.Member("one"): fleettest.Spoke("one", "use_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n")})
	if s := querytest.Ask(t, querytest.BuildWith(t, flux, fleettest.Application("dns", "one", "default")), `{"view":"agents"}`)["agent-one"]; s == nil || s["components"] != nil {
		t.Errorf("%v", s)
	}
}

// TestRemovedComponentKeepsItsApplicationSet: as long as an Application of a removed component is
// there, its ApplicationSet is kept. (R7)
func TestRemovedComponentKeepsItsApplicationSet(t *testing.T) {
	catalog := fleettest.Tree{
		"fleet/layout.yaml": "groups: {addons: {catalog: catalog.yaml}}\n",
		"catalog.yaml":      "components:\n  dns: {" + fleettest.DNSChart + "}\n  auto: {enabled: true, chart: {repoURL: r, name: c, version: '1'}, selector: {matchLabels: {ring: a}}}\n",
	}
	onTwo := "addons/tenants/retail/environments/dev/application-sets/addons.yaml"
	cascading := "lifecycle: retired\ndeletion: cascade\nlabels: {addonsRelease: canary}\n"
	two := func(more string) string { return "clusterName: two\ntenant: retail\nenvironment: dev\n" + more }
	for _, c := range []struct {
		name string
		more fleettest.Tree
		apps []facts.Application
		want string // release: its components, its clusters
	}{
		{"all at rest", nil, nil, "canary: dns [two]; default: dns [hub one]"},
		{"removed on one cluster, kept by the other", fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: false}\n"}, []facts.Application{fleettest.Application("dns", "one", "default")}, "canary: dns [two]; default: dns [hub one]"},
		{"removed on the release's only cluster", fleettest.Tree{onTwo: "dns: {enabled: false}\n"}, []facts.Application{fleettest.Application("dns", "two", "canary")}, "canary: dns [two]; default: dns [hub one]"},
		{"until the Application is gone", fleettest.Tree{onTwo: "dns: {enabled: false}\n"}, []facts.Application{fleettest.WithFinalizer(fleettest.Application("dns", "two", "canary"))}, "canary: dns [two]; default: dns [hub one]"},
		{"gone", fleettest.Tree{onTwo: "dns: {enabled: false}\n"}, nil, "canary: [two]; default: dns [hub one]"},
		{"moved, and held back by the release before", nil, []facts.Application{fleettest.Controlled(fleettest.Application("dns", "two", "default"), "addons-default-dns")}, "canary: dns [two]; default: dns [hub one]"},
		{"the Application is another release's", fleettest.Tree{onTwo: "dns: {enabled: false}\n"}, []facts.Application{fleettest.Application("dns", "two", "default")}, "canary: [two]; default: dns [hub one]"},
		{"lost", fleettest.Tree{onTwo: "dns: null\n"}, []facts.Application{fleettest.Application("dns", "two", "canary")}, "canary: [two]; default: dns [hub one]"},
		{"unknown component", nil, []facts.Application{fleettest.Application("old", "two", "canary")}, "canary: dns [two]; default: dns [hub one]"},
		{"another group", fleettest.Tree{onTwo: "dns: {enabled: false}\n"}, []facts.Application{{Name: "dns-two", Cluster: "two", Group: "resources", Component: "dns"}}, "canary: [two]; default: dns [hub one]"},
		{"not to be rendered: the catalog has lost it", catalog.With(fleettest.Tree{onTwo: "gone: {enabled: false}\n"}), []facts.Application{fleettest.Application("gone", "two", "canary")}, "canary: dns [two]; default: dns [hub one]"},
		{"the catalog describes it", catalog.With(fleettest.Tree{fleettest.SystemCatalog: "dns: {enabled: false}\n"}), []facts.Application{fleettest.Application("dns", "two", "canary")}, "canary: dns [two]; default: [hub one]"},
		{"the catalog's own, refused by a label", catalog.With(fleettest.Tree{fleettest.Member("two"): two("labels: {addonsRelease: canary, ring: b}\n")}), []facts.Application{fleettest.Application("auto", "two", "canary")}, "canary: auto dns [two]; default: dns [hub one]"},
		{"only a retired cluster's removals", fleettest.Tree{fleettest.Member("two"): two(cascading)}, []facts.Application{fleettest.Application("dns", "two", "canary")}, "canary: dns [two]; default: dns [hub one]"},
		{"only a retired cluster's, the finalizer shows", fleettest.Tree{fleettest.Member("two"): two(cascading)}, []facts.Application{fleettest.WithFinalizer(fleettest.Application("dns", "two", "canary"))}, "canary: dns [two]; default: dns [hub one]"},
		{"a retired cluster, done", fleettest.Tree{fleettest.Member("two"): two(cascading)}, nil, "default: dns [hub one]"},
		{"a retired cluster, orphan", fleettest.Tree{fleettest.Member("two"): two(strings.Replace(cascading, "cascade", "orphan", 1))}, []facts.Application{fleettest.Application("dns", "two", "canary")}, "default: dns [hub one]"},
		{"another owner's", fleettest.Tree{onTwo: "dns: {enabled: false}\n", fleettest.Member("two"): two("labels: {addonsRelease: canary}\nuse_remote_argo: true\nenable_remote_addons: true\n")}, []facts.Application{fleettest.Application("dns", "two", "canary")}, "default: dns [hub one]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := querytest.BuildWith(t, fleettest.Small().With(c.more), c.apps...)
			sets := querytest.Ask(t, st, `{"view":"releases","group":"addons"}`)
			var got []string
			for _, name := range slices.Sorted(maps.Keys(sets)) {
				parts := []string{strings.TrimPrefix(name, "application-sets-addons-") + ":"}
				for line := range strings.Lines(sets[name].Text("helmValues")) {
					if component, ok := strings.CutPrefix(strings.TrimRight(line, ":\n"), "  "); ok && !strings.HasPrefix(component, " ") {
						parts = append(parts, component)
					}
				}
				got = append(got, strings.Join(append(parts, fmt.Sprint(sets[name]["clusters"])), " "))
			}
			assert.Equal(t, c.want, strings.Join(got, "; "))
		})
	}
}

// TestRetiredMembersConcernNobody: what is wrong with a retired member's values refuses no answer
// while it is removed.
func TestRetiredMembersConcernNobody(t *testing.T) {
	for name, more := range map[string]fleettest.Tree{
		"values": {"addons/tenants/retail/clusters/one/addons/dns/values.yaml": "a: [\n"}, "catalog": {fleettest.OneCatalog: "dns: [x]\n"}, "labels": {"addons/tenants/retail/clusters/one/fleet/fleet-secret/values.yaml": "a: [\n"},
		"release": {fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\nlabels: {addonsRelease: nowhere, fleetSecretsRelease: nowhere}\n")},
	} {
		files := fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\n")}).With(more)
		st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", files), facts.NewSet(false).WithApplications(fleettest.Application("dns", "one", "default"), fleettest.Registration("one")))
		if err != nil || len(st.Problems) == 0 {
			t.Fatal(name, err)
		}
		assert.Equal(t, "dns-hub dns-two", deletions(t, st, querytest.Addons), "%s", name)
		for _, parameters := range []string{`{"view":"members"}`, `{"view":"agents"}`, `{"view":"releases","group":"addons"}`, `{"view":"components","group":"resources"}`} {
			deletions(t, st, parameters)
		}
	}
	// A retired cluster alone has no say in which components there are.
	only := fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\n"), "fleet/fleet-members/hub/hub.yaml": "", fleettest.Member("two"): ""}
	assert.Equal(t, "", deletions(t, querytest.BuildWith(t, fleettest.Small().With(only)), `{"view":"components","group":"addons","component":"nobodys"}`))
}

// An approval counts with its commit, and no longer than it is there, though nothing else changes.
// (C3, G6)
func TestApprovalOfADeletionCountsAtOnce(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{
		"fleet/layout.yaml":          "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n  provisioning: {catalog: catalogs/provisioning.yaml}\n",
		"catalogs/provisioning.yaml": "eks: {enabled: true, chart: {repoURL: r, path: p, version: v}}\n",
		fleettest.Member("one"):      fleettest.Spoke("one", "provision: {class: eks, version: \"1.31\"}\nlifecycle: retired\ndeletion: cascade\ninfrastructure: delete\n"),
	})
	approved := files.With(fleettest.Tree{"fleet/approvals/one.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: RemovalApproval\nexpires: 2099-01-01\n" +
		"removals: [{hub: hub, clusters: [one], components: [provisioning/eks], reason: a test}]\n"})
	known := facts.NewSet(false).WithApplications(facts.Application{Name: "eks-one", Cluster: "one", Group: "provisioning", Component: "eks"})
	q := querytest.Query(t, `{"view":"components","group":"provisioning"}`)
	var cache response.Cache
	var st *fleetstate.State
	for i, step := range []struct {
		files fleettest.Tree
		want  string
	}{{files, "orphan"}, {approved, "cascade"}, {files, "orphan"}} {
		st = querytest.NoProblems(t, querytest.Next(t, st, fleettest.Snapshot(strconv.Itoa(i), step.files), known))
		r, err := cache.Get(t.Context(), st, q)
		require.NoError(t, err)
		sets := querytest.Sets(t, r.Bytes())
		if len(sets) != 1 || sets[0].Text("deletion") != step.want {
			t.Errorf("step %d: %v, want %s", i, sets, step.want)
		}
	}
}
