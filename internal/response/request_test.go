package response_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestBadQueryNamesWhatIsExpected: what cannot be asked is a bad request that says what can.
func TestBadQueryNamesWhatIsExpected(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{"fleet/fleet-members/hub2/solo.yaml": "{clusterName: solo, tenant: retail, environment: prod}\n"})))
	for parameters, want := range map[string]string{
		`[]`: "input.parameters: expected an object", `{"view":5}`: "input.parameters.view: expected a string", `{"veiw":"x"}`: `input.parameters: unknown key "veiw", did you mean "view"?; expected view, hub, group,`,
		`{"base":"x"}`: "input.parameters.base: expected an object, a catalog entry",
		`{}`:           `view "" is not known; expected one of agents, components, grants, members, releases`, `{"view":"component"}`: `view "component" is not known, did you mean "components"?; expected one of agents,`,
		`{"view":"members","hub":"hob"}`:                                                   `hub "hob" has no member files, did you mean "hub"?; expected fleet/fleet-members/{{ .hub }}/{{ .cluster }}.yaml`,
		`{"view":"components"}`:                                                            `view "components" needs a group; expected one of addons, fleet, monitoring, resources`,
		`{"view":"releases","group":"addon"}`:                                              `group "addon" is not in the layout, did you mean "addons"?; expected one of addons,`,
		`{"view":"members","component":"dns"}`:                                             `component, base and release belong to view "components", not to "members"`,
		`{"view":"releases","group":"addons","release":"canary"}`:                          `component, base and release belong to view "components", not to "releases"`,
		`{"view":"components","group":"addons","base":{}}`:                                 "base needs a component: it is one component's catalog entry",
		`{"view":"components","group":"addons","component":"A b"}`:                         `component "A b" is not a DNS-1123 label`,
		`{"view":"components","group":"addons","component":"dsn"}`:                         `component "dsn" is in no catalog of group "addons"`,
		`{"view":"members","owner":"onne"}`:                                                `owner "onne" is not a member of hub "hub", did you mean "one"?`,
		`{"view":"members","owner":"solo"}`:                                                `owner "solo" is not a member of hub "hub"`,
		`{"view":"members","selector":{"matchLabel":{}}}`:                                  "input.parameters.selector: expected matchLabels and matchExpressions: ",
		`{"view":"members","selector":{"matchExpressions":[{"key":"a","operator":"Is"}]}}`: `input.parameters.selector: "Is" is not a valid label selector operator`,
	} {
		r, err := query.Parse([]byte(parameters), "hub")
		if err == nil {
			_, err = response.Bytes(st, r)
		}
		var e *problem.QueryError
		if !errors.As(err, &e) || e.Kind != problem.KindBadRequest || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%s: %v, want %s", parameters, err, want)
		}
	}
	r, err := query.Parse([]byte(`{"view":"members","hub":"","owner":null,"group":null}`), "hub")
	if err != nil || r.Hub != "hub" || r.Owner != "" {
		t.Error(r, err)
	}
	if _, err := response.Bytes(st, query.Query{View: query.Members}); err == nil || err.Error() != "no hub given: set input.parameters.hub, or the server's --hub" {
		t.Error(err)
	}
	assert.Equal(t, "fleet-secret-solo", querytest.Names(t, st, `{"view":"members","hub":"hub2"}`), "the other hub has")
}

// TestDepthOfABaseIsBounded (H10): a request of a few kilobytes cannot make an answer of gigabytes,
// in which each level is indented.
func TestDepthOfABaseIsBounded(t *testing.T) {
	nested := func(opening, closing string, levels int) string {
		return `{"view":"components","group":"addons","component":"dns","base":{"values":{"a":` + strings.Repeat(opening, levels) + "1" + strings.Repeat(closing, levels) + "}}}"
	}
	for _, c := range []struct{ opening, closing string }{{`{"a":`, "}"}, {"[", "]"}} {
		if _, err := query.Parse([]byte(nested(c.opening, c.closing, yamldoc.MaxDepth-3)), "hub"); err != nil {
			t.Error(c.opening, err)
		}
		_, err := query.Parse([]byte(nested(c.opening, c.closing, 5000)), "hub")
		if want := "input.parameters.base: values nested deeper than the limit; expected at most 100 levels"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", c.opening, err, want)
		}
	}
}

// TestQuerySelectsItsClusters: the owner sees its own, retired members are left out, draining ones
// stay, unregistered ones wait.
func TestQuerySelectsItsClusters(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{
		fleettest.Member("gone"):  fleettest.Spoke("gone", "lifecycle: retired\n"),
		fleettest.Member("drain"): fleettest.Spoke("drain", "lifecycle: draining\n"),
		fleettest.Member("agent"): fleettest.Spoke("agent", "use_remote_argo: true\nenable_remote_addons: true\n"),
	})
	st := querytest.NoProblems(t, querytest.Build(t, files))
	for parameters, want := range map[string]string{
		`{"view":"members"}`:                                                           "fleet-secret-agent fleet-secret-drain fleet-secret-one fleet-secret-two",
		`{"view":"members","owner":"one"}`:                                             "fleet-secret-one",
		`{"view":"agents"}`:                                                            "agent-agent",
		`{"view":"agents","owner":"agent"}`:                                            "agent-agent",
		`{"view":"agents","owner":"one"}`:                                              "",
		querytest.Addons:                                                               "dns-drain dns-hub dns-one dns-two",
		`{"view":"components","group":"addons","owner":"hub"}`:                         "dns-drain dns-hub dns-one dns-two",
		`{"view":"components","group":"addons","owner":"agent"}`:                       "dns-agent",
		`{"view":"components","group":"addons","owner":"drain"}`:                       "",
		`{"view":"components","group":"addons","component":"dns","release":"default"}`: "dns-drain dns-hub dns-one",
		`{"view":"components","group":"addons","release":"unused"}`:                    "",
		`{"view":"components","group":"addons","selector":{"matchExpressions":[{"key":"tenant","operator":"In","values":["platform"]}]}}`: "dns-hub",
		`{"view":"releases","group":"addons"}`:                 "application-sets-addons-canary application-sets-addons-default",
		`{"view":"releases","group":"addons","owner":"agent"}`: "application-sets-addons-default",
		`{"view":"releases","group":"addons","owner":"one"}`:   "",
	} {
		assert.Equal(t, want, querytest.Names(t, st, parameters), "%s", parameters)
	}
	closed, err := fleetstate.Build(nil, fleettest.Snapshot("rev", files), facts.NewSet(true, facts.Cluster{Name: "two"}))
	require.NoError(t, err)
	for parameters, want := range map[string]string{
		`{"view":"members"}`: "fleet-secret-agent fleet-secret-drain fleet-secret-one fleet-secret-two", // what registers them
		`{"view":"agents"}`:  "", querytest.Addons: "dns-two", `{"view":"releases","group":"addons"}`: "application-sets-addons-canary",
	} {
		assert.Equal(t, want, querytest.Names(t, closed, parameters), "registered alone: %s", parameters)
	}
	for _, s := range querytest.Ask(t, st, querytest.Addons) {
		if s.Text("deletion") != "orphan" {
			t.Errorf("%s: deletion %q, want orphan (D1)", s.Text("applicationName"), s.Text("deletion"))
		}
	}
}

// TestHubMayAskByItsOwnName: a hub that asks by its own name asks as the hub; its member's name may
// differ from its folder's.
func TestHubMayAskByItsOwnName(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{
		"fleet/fleet-members/hub/hub.yaml": "", fleettest.Member("control"): "{clusterName: control, tenant: platform, environment: prod, fleet_member: hub-cluster, addons_repo_url: hubs, fleet_repo_url: hubs}\n",
		fleettest.Member("one"): fleettest.Spoke("one", "addons_repo_url: own\n"), "addons/defaults/fleet/fleet-secret/values.yaml": "externalSecret: {annotations: {fleet_repo_url: hierarchy}}\n",
	})
	st := querytest.NoProblems(t, querytest.Build(t, files))
	if a, b := querytest.Names(t, st, querytest.Addons), querytest.Names(t, st, `{"view":"components","group":"addons","owner":"control"}`); a != b || a != "dns-control dns-one dns-two" {
		t.Errorf("%q and %q", a, b)
	}
	if s := querytest.Ask(t, st, `{"view":"releases","group":"addons"}`)["application-sets-addons-default"]; s.Text("name") != "control" {
		t.Errorf("releases go to %q", s.Text("name"))
	}
	// The hub's repository keys are the default, below what the hierarchy and the member declare.
	sets := querytest.Ask(t, st, `{"view":"members"}`)
	one, two := sets["fleet-secret-one"], sets["fleet-secret-two"]
	if one.Annotation("addons_repo_url") != "own" || two.Annotation("addons_repo_url") != "hubs" || two.Annotation("fleet_repo_url") != "hierarchy" {
		t.Errorf("annotations %v and %v", one["metadata"], two["metadata"])
	}
}

// TestBrokenMembers is rule G1: who cannot be computed is named; the repository's own faults refuse
// the whole.
func TestBrokenMembers(t *testing.T) {
	for name, c := range map[string]struct {
		files fleettest.Tree
		want  string
	}{
		"member file":        {fleettest.Tree{fleettest.Member("one"): "a: ["}, "fleet/fleet-members/hub/one.yaml:1: "},
		"reserved label":     {fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "labels: {environment: dev}\n")}, `fleet/fleet-members/hub/one.yaml:4:23: label "environment": "dev"; expected "prod", which the member file gives`},
		"registration":       {fleettest.Tree{"addons/tenants/retail/clusters/one/fleet/fleet-secret/values.yaml": "a: [\n"}, "addons/tenants/retail/clusters/one/fleet/fleet-secret/values.yaml:"},
		"registration label": {fleettest.Tree{"addons/tenants/retail/clusters/one/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {a: [x]}}\n"}, `addons/tenants/retail/clusters/one/fleet/fleet-secret/values.yaml:1:30: label "a": is a list`},
		"value file":         {fleettest.Tree{"addons/tenants/retail/clusters/one/addons/dns/values.yaml": "a: 1\na: 2\n"}, `addons/tenants/retail/clusters/one/addons/dns/values.yaml:2:1: key "a": given again`},
	} {
		st := querytest.Build(t, fleettest.Small().With(c.files))
		if len(st.Problems) == 0 || st.Problems[0].Cluster != "one" || st.Problems[0].Hub != "hub" {
			t.Errorf("%s: problems %s", name, querytest.Problems(st.Problems))
		}
		got := querytest.Refused(t, st, querytest.Addons)
		if !strings.HasPrefix(got, `member "one" of hub "hub": `+c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if again := querytest.Refused(t, querytest.Build(t, fleettest.Small().With(c.files)), querytest.Addons); again != got {
			t.Errorf("%s: %q, then %q", name, got, again)
		}
		assert.Equal(t, "", querytest.Names(t, st, `{"view":"components","group":"addons","owner":"two"}`), "%s: the other member's engine is answered", name)
	}
	retired := fleettest.Tree{"addons/tenants/retail/clusters/one/fleet/fleet-secret/values.yaml": "a: [\n", fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\n")}
	assert.Equal(t, "dns-hub dns-two", querytest.Names(t, querytest.Build(t, fleettest.Small().With(retired)), querytest.Addons), "with a retired member that cannot be computed")
	retired[fleettest.Member("one")] = fleettest.Spoke("one", "lifecycle: retired\ntenannt: x\n")
	assert.Contains(t, querytest.Refused(t, querytest.Build(t, fleettest.Small().With(retired)), querytest.Addons), "tenannt", "a member file that cannot be read says it is retired")
	if _, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Tree{}), facts.Set{}); err == nil || !strings.Contains(err.Error(), "no member file") && !strings.Contains(err.Error(), "empty") {
		t.Error(err)
	}
	if _, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Small().With(fleettest.Tree{"fleet/layout.yaml": "groups: {addons: {catalog: absent.yaml}}\n"})), facts.Set{}); err == nil || !strings.Contains(err.Error(), "no file absent.yaml") {
		t.Error(err)
	}
}

// TestTooManySetsAreRefused is rule H10.
func TestTooManySetsAreRefused(t *testing.T) {
	files := fleettest.Small()
	var catalog strings.Builder
	for i := range 300 {
		fmt.Fprintf(&catalog, "c%d: {enabled: true, chart: {repoURL: r, name: c, version: '1'}}\n", i)
	}
	files["addons/defaults/application-sets/addons.yaml"] = catalog.String()
	for i := range 170 {
		files[fleettest.Member(fmt.Sprintf("m%d", i))] = fleettest.Spoke(fmt.Sprintf("m%d", i), "")
	}
	st := querytest.NoProblems(t, querytest.Build(t, files))
	assert.Equal(t, "the response has more than 50000 parameter sets: query per component", querytest.Refused(t, st, querytest.Addons))
	if got := len(querytest.Ask(t, st, `{"view":"components","group":"addons","component":"c7"}`)); got != 173 {
		t.Errorf("%d sets of one component", got)
	}
}

// TestApplicationNamesFitExactly: a name of at most 63 characters stays as it is; a longer one is
// cut, and ends in a hash. (N1)
func TestApplicationNamesFitExactly(t *testing.T) {
	component := strings.Repeat("a", 10)
	files := fleettest.Small().With(fleettest.Tree{
		fleettest.SystemCatalog: component + ": {enabled: true, " + fleettest.DNSChart + "}\n",
	})
	clusters := map[string]bool{strings.Repeat("x", 40) + "--------" + strings.Repeat("y", 10): true}
	for n := 45; n <= 63; n++ {
		clusters[strings.Repeat("x", n)] = true
	}
	for name := range clusters {
		files[fleettest.Member(name)] = fleettest.Spoke(name, "")
	}
	seen := map[string]bool{}
	for _, s := range querytest.List(t, querytest.Build(t, files), querytest.Query(t, querytest.Addons)) {
		full, got := component+"-"+s.Text("name"), s.Text("applicationName")
		if len(full) <= 63 && got != full || len(full) > 63 && (len(got) > 63 || got == full[:63]) || strings.Contains(got, "---") {
			t.Errorf("%s is called %q", full, got)
		}
		if seen[got] {
			t.Errorf("two Applications are called %q", got)
		}
		seen[got] = true
		delete(clusters, s.Text("name"))
	}
	if len(clusters) > 0 {
		t.Errorf("no Applications of %v", clusters)
	}
}

// TestReleaseNamesStayApart: the type of a release is a label's value, which may be no name; types
// that differ in what a name cannot have stay apart, and what is a name stays as it is. (N1)
func TestReleaseNamesStayApart(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{
		"versions/applicationSets.yaml": "releases: {addons: [{type: default}, {type: Canary}, {type: canary}, {type: can_ary}, {type: v1.2}]}\n",
		fleettest.Member("a"):           fleettest.Spoke("a", "labels: {addonsRelease: Canary}\n"),
		fleettest.Member("b"):           fleettest.Spoke("b", "labels: {addonsRelease: can_ary}\n"),
		fleettest.Member("c"):           fleettest.Spoke("c", "labels: {addonsRelease: v1.2}\n"),
	})
	const prefix = "application-sets-addons-"
	want := prefix + "can-ary-cf8841c6 " + prefix + "canary " + prefix + "canary-fc589233 " + prefix + "default " + prefix + "v1.2"
	assert.Equal(t, want, querytest.Names(t, querytest.NoProblems(t, querytest.Build(t, files)), `{"view":"releases","group":"addons"}`))
}
