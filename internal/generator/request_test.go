package generator

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// TestRequests: what cannot be asked is a bad request that says what can.
func TestRequests(t *testing.T) {
	st := noProblems(t, build(t, small().with(tree{"fleet/fleet-members/hub2/solo.yaml": "{clusterName: solo, tenant: retail, environment: prod}\n"})))
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
		`{"view":"components","group":"addons","component":"A b"}`:                         `component "A b" is no DNS-1123 label`,
		`{"view":"components","group":"addons","component":"dsn"}`:                         `component "dsn" is in no catalog of group "addons"`,
		`{"view":"members","owner":"onne"}`:                                                `owner "onne" is no member of hub "hub", did you mean "one"?`,
		`{"view":"members","owner":"solo"}`:                                                `owner "solo" is no member of hub "hub"`,
		`{"view":"members","selector":{"matchLabel":{}}}`:                                  "input.parameters.selector: expected matchLabels and matchExpressions: ",
		`{"view":"members","selector":{"matchExpressions":[{"key":"a","operator":"Is"}]}}`: `input.parameters.selector: "Is" is not a valid label selector operator`,
	} {
		r, err := ParseRequest([]byte(parameters), "hub")
		if err == nil {
			_, err = st.Answer(r)
		}
		var e *Error
		if !errors.As(err, &e) || e.Kind != BadRequest || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%s: %v, want %s", parameters, err, want)
		}
	}
	r, err := ParseRequest([]byte(`{"view":"members","hub":"","owner":null,"group":null}`), "hub")
	if err != nil || r.Hub != "hub" || r.Owner != "" {
		t.Error(r, err)
	}
	if _, err := st.Answer(Request{View: Members}); err == nil || err.Error() != "no hub given: set input.parameters.hub, or the server's --hub" {
		t.Error(err)
	}
	if got := names(t, st, `{"view":"members","hub":"hub2"}`); got != "fleet-secret-solo" {
		t.Errorf("the other hub has %q", got)
	}
}

// TestBaseDepth (H10): a request of a few kilobytes cannot make an answer of gigabytes, in which each level is indented.
func TestBaseDepth(t *testing.T) {
	nested := func(opening, closing string, levels int) string {
		return `{"view":"components","group":"addons","component":"dns","base":{"values":{"a":` + strings.Repeat(opening, levels) + "1" + strings.Repeat(closing, levels) + "}}}"
	}
	for _, c := range []struct{ opening, closing string }{{`{"a":`, "}"}, {"[", "]"}} {
		if _, err := ParseRequest([]byte(nested(c.opening, c.closing, yamldoc.MaxDepth-3)), "hub"); err != nil {
			t.Error(c.opening, err)
		}
		_, err := ParseRequest([]byte(nested(c.opening, c.closing, 5000)), "hub")
		if want := "input.parameters.base: values nested deeper than the limit; expected at most 100 levels"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", c.opening, err, want)
		}
	}
}

// TestWhoIsAsked: the owner sees its own, retired members are left out, draining ones stay, unregistered ones wait.
func TestWhoIsAsked(t *testing.T) {
	files := small().with(tree{
		member("gone"):  spoke("gone", "lifecycle: retired\n"),
		member("drain"): spoke("drain", "lifecycle: draining\n"),
		member("agent"): spoke("agent", "use_remote_argo: true\nenable_remote_addons: true\n"),
	})
	st := noProblems(t, build(t, files))
	for parameters, want := range map[string]string{
		`{"view":"members"}`:                "fleet-secret-agent fleet-secret-drain fleet-secret-one fleet-secret-two",
		`{"view":"members","owner":"one"}`:  "fleet-secret-one",
		`{"view":"agents"}`:                 "agent-agent",
		`{"view":"agents","owner":"agent"}`: "agent-agent",
		`{"view":"agents","owner":"one"}`:   "",
		addons:                              "dns-drain dns-hub dns-one dns-two",
		`{"view":"components","group":"addons","owner":"hub"}`:                                                                            "dns-drain dns-hub dns-one dns-two",
		`{"view":"components","group":"addons","owner":"agent"}`:                                                                          "dns-agent",
		`{"view":"components","group":"addons","owner":"drain"}`:                                                                          "",
		`{"view":"components","group":"addons","component":"dns","release":"default"}`:                                                    "dns-drain dns-hub dns-one",
		`{"view":"components","group":"addons","release":"unused"}`:                                                                       "",
		`{"view":"components","group":"addons","selector":{"matchExpressions":[{"key":"tenant","operator":"In","values":["platform"]}]}}`: "dns-hub",
		`{"view":"releases","group":"addons"}`:                                                                                            "application-sets-addons-canary application-sets-addons-default",
		`{"view":"releases","group":"addons","owner":"agent"}`:                                                                            "application-sets-addons-default",
		`{"view":"releases","group":"addons","owner":"one"}`:                                                                              "",
	} {
		if got := names(t, st, parameters); got != want {
			t.Errorf("%s: %q, want %q", parameters, got, want)
		}
	}
	closed, err := Build(nil, snap(files), facts.NewSet(true, facts.Cluster{Name: "two"}))
	if err != nil {
		t.Fatal(err)
	}
	for parameters, want := range map[string]string{
		`{"view":"members"}`: "fleet-secret-agent fleet-secret-drain fleet-secret-one fleet-secret-two", // what registers them
		`{"view":"agents"}`:  "", addons: "dns-two", `{"view":"releases","group":"addons"}`: "application-sets-addons-canary",
	} {
		if got := names(t, closed, parameters); got != want {
			t.Errorf("registered alone: %s: %q, want %q", parameters, got, want)
		}
	}
	for _, s := range ask(t, st, addons) {
		if s.text("deletion") != "orphan" {
			t.Errorf("%s: deletion %q, want orphan (D1)", s.text("applicationName"), s.text("deletion"))
		}
	}
}

// TestHubsOwnName: a hub that asks by its own name asks as the hub; its member's name may differ from its folder's.
func TestHubsOwnName(t *testing.T) {
	files := small().with(tree{
		"fleet/fleet-members/hub/hub.yaml": "", member("control"): "{clusterName: control, tenant: platform, environment: prod, fleet_member: hub-cluster, addons_repo_url: hubs, fleet_repo_url: hubs}\n",
		member("one"): spoke("one", "addons_repo_url: own\n"), "addons/defaults/fleet/fleet-secret/values.yaml": "externalSecret: {annotations: {fleet_repo_url: hierarchy}}\n",
	})
	st := noProblems(t, build(t, files))
	if a, b := names(t, st, addons), names(t, st, `{"view":"components","group":"addons","owner":"control"}`); a != b || a != "dns-control dns-one dns-two" {
		t.Errorf("%q and %q", a, b)
	}
	if s := ask(t, st, `{"view":"releases","group":"addons"}`)["application-sets-addons-default"]; s.text("name") != "control" {
		t.Errorf("releases go to %q", s.text("name"))
	}
	// The hub's repository keys are the default, below what the hierarchy and the member declare.
	sets := ask(t, st, `{"view":"members"}`)
	one, two := sets["fleet-secret-one"], sets["fleet-secret-two"]
	if one.annotation("addons_repo_url") != "own" || two.annotation("addons_repo_url") != "hubs" || two.annotation("fleet_repo_url") != "hierarchy" {
		t.Errorf("annotations %v and %v", one["metadata"], two["metadata"])
	}
}

// TestBrokenMembers is rule G1: who cannot be computed is named; the repository's own faults refuse the whole.
func TestBrokenMembers(t *testing.T) {
	for name, c := range map[string]struct {
		files tree
		want  string
	}{
		"member file":        {tree{member("one"): "a: ["}, "fleet/fleet-members/hub/one.yaml:1: "},
		"reserved label":     {tree{member("one"): spoke("one", "labels: {environment: dev}\n")}, `fleet/fleet-members/hub/one.yaml:4:23: label "environment": "dev"; expected "prod", which the member file gives`},
		"registration":       {tree{"addons/tenants/retail/clusters/one/fleet/fleet-secret/values.yaml": "a: [\n"}, "addons/tenants/retail/clusters/one/fleet/fleet-secret/values.yaml:"},
		"registration label": {tree{"addons/tenants/retail/clusters/one/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {a: [x]}}\n"}, `addons/tenants/retail/clusters/one/fleet/fleet-secret/values.yaml:1:30: label "a": is a list`},
		"value file":         {tree{"addons/tenants/retail/clusters/one/addons/dns/values.yaml": "a: 1\na: 2\n"}, `addons/tenants/retail/clusters/one/addons/dns/values.yaml:2:1: key "a": given again`},
	} {
		st := build(t, small().with(c.files))
		if len(st.Problems) == 0 || st.Problems[0].Cluster != "one" || st.Problems[0].Hub != "hub" {
			t.Errorf("%s: problems %s", name, problemTexts(st.Problems))
		}
		got := refused(t, st, addons)
		if !strings.HasPrefix(got, `member "one" of hub "hub": `+c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if again := refused(t, build(t, small().with(c.files)), addons); again != got {
			t.Errorf("%s: %q, then %q", name, got, again)
		}
		if got := names(t, st, `{"view":"components","group":"addons","owner":"two"}`); got != "" {
			t.Errorf("%s: the other member's engine is answered %q", name, got)
		}
	}
	retired := tree{"addons/tenants/retail/clusters/one/fleet/fleet-secret/values.yaml": "a: [\n", member("one"): spoke("one", "lifecycle: retired\n")}
	if got := names(t, build(t, small().with(retired)), addons); got != "dns-hub dns-two" {
		t.Errorf("with a retired member that cannot be computed: %q", got)
	}
	retired[member("one")] = spoke("one", "lifecycle: retired\ntenannt: x\n")
	if got := refused(t, build(t, small().with(retired)), addons); !strings.Contains(got, "tenannt") {
		t.Errorf("a member file that cannot be read says it is retired: %s", got)
	}
	if _, err := Build(nil, snap(tree{}), facts.Set{}); err == nil || !strings.Contains(err.Error(), "no member file") && !strings.Contains(err.Error(), "empty") {
		t.Error(err)
	}
	if _, err := Build(nil, snap(small().with(tree{"fleet/layout.yaml": "groups: {addons: {catalog: absent.yaml}}\n"})), facts.Set{}); err == nil || !strings.Contains(err.Error(), "no file absent.yaml") {
		t.Error(err)
	}
}

// TestTooManySets is rule H10.
func TestTooManySets(t *testing.T) {
	files := small()
	var catalog strings.Builder
	for i := range 300 {
		fmt.Fprintf(&catalog, "c%d: {enabled: true, chart: {repoURL: r, name: c, version: '1'}}\n", i)
	}
	files["addons/defaults/application-sets/addons.yaml"] = catalog.String()
	for i := range 170 {
		files[member(fmt.Sprintf("m%d", i))] = spoke(fmt.Sprintf("m%d", i), "")
	}
	st := noProblems(t, build(t, files))
	if got := refused(t, st, addons); got != "the answer has 51900 parameter sets; the limit is 50000: ask per component" {
		t.Error(got)
	}
	if got := len(ask(t, st, `{"view":"components","group":"addons","component":"c7"}`)); got != 173 {
		t.Errorf("%d sets of one component", got)
	}
}

// TestNamesFitExactly is rule N1 at its edge.
func TestNamesFitExactly(t *testing.T) {
	for n := 55; n < 75; n++ {
		full := "a-" + strings.Repeat("x", n-2)
		got := ApplicationName("a", strings.Repeat("x", n-2))
		if n <= 63 && got != full || n > 63 && (len(got) > 63 || got == full[:63]) {
			t.Errorf("%d characters give %q", n, got)
		}
	}
	if got := ApplicationName("a", strings.Repeat("x", 50)+"--------"+strings.Repeat("y", 10)); strings.Contains(got, "---") || len(got) > 63 {
		t.Errorf("%q", got)
	}
	one, two := ApplicationName("a", strings.Repeat("x", 70)), ApplicationName("a", strings.Repeat("x", 71))
	if one == two {
		t.Error("two long names are one")
	}
}

// TestN1NamesOfReleases: the type of a release is a label's value, which may be no name; types that differ in what a name
// cannot have stay apart, and what is a name stays as it is.
func TestN1NamesOfReleases(t *testing.T) {
	files := small().with(tree{
		"versions/applicationSets.yaml": "releases: {addons: [{type: default}, {type: Canary}, {type: canary}, {type: can_ary}, {type: v1.2}]}\n",
		member("a"):                     spoke("a", "labels: {addonsRelease: Canary}\n"),
		member("b"):                     spoke("b", "labels: {addonsRelease: can_ary}\n"),
		member("c"):                     spoke("c", "labels: {addonsRelease: v1.2}\n"),
	})
	const prefix = "application-sets-addons-"
	want := prefix + "can-ary-cf8841c6 " + prefix + "canary " + prefix + "canary-fc589233 " + prefix + "default " + prefix + "v1.2"
	if got := names(t, noProblems(t, build(t, files)), `{"view":"releases","group":"addons"}`); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
