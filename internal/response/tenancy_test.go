package response_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// twoTenants is a fleet of the tenants red and blue on one hub, each with files at every level of
// theirs.
func twoTenants() fleettest.Tree {
	files := fleettest.Small().With(fleettest.Tree{
		fleettest.Member("one"): "", fleettest.Member("two"): "",
		"addons/defaults/application-sets/addons.yaml": `dns: {enabled: true, chart: {repoURL: https://charts.example, name: dns, version: 1.0.0}}
web: {enabled: true, chart: {repoURL: https://charts.example, name: web, version: 1.0.0}}
`,
		"addons/defaults/addons/web/values.yaml.gotmpl": "cluster: {{ .cluster }}\ntenant: {{ .tenant }}\n",
	})
	for _, tenant := range []string{"red", "blue"} {
		for i, environment := range []string{"dev", "prod", "prod"} {
			name := fmt.Sprintf("%s-%d", tenant, i)
			agent := ""
			if i == 2 {
				agent = "use_remote_argo: true\nenable_remote_addons: true\n"
			}
			files[fleettest.Member(name)] = fmt.Sprintf("clusterName: %s\ntenant: %s\nenvironment: %s\nsecretManagerSecretName: hub/%s\n%s", name, tenant, environment, name, agent)
			files[fmt.Sprintf("addons/tenants/%s/clusters/%s/addons/dns/values.yaml", tenant, name)] = "from: " + name + "\n"
		}
		folder := "addons/tenants/" + tenant
		files[folder+"/defaults/addons/dns/values.yaml"] = "from: " + tenant + "\n"
		files[folder+"/defaults/application-sets/addons.yaml"] = "web: {enabled: true}\n"
		files[folder+"/environments/prod/addons/web/values.yaml.gotmpl"] = "in: {{ .environment }}\n"
		files[folder+"/defaults/fleet/fleet-secret/values.yaml"] = "externalSecret: {labels: {of: " + tenant + "}}\n"
	}
	return files
}

// tenantSets are all sets about a tenant's clusters that any engine is answered, without the
// revision.
func tenantSets(t *testing.T, st *fleetstate.State, tenant string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, parameters := range []string{
		`{"view":"members"}`, `{"view":"agents"}`, `{"view":"components","group":"addons","component":"dns"}`, `{"view":"components","group":"addons","component":"web"}`,
		`{"view":"components","group":"addons","owner":"blue-2"}`, `{"view":"releases","group":"addons","owner":"blue-2"}`,
	} {
		b, err := response.Bytes(st, querytest.Query(t, parameters))
		require.NoError(t, err, "%s", parameters)
		var answer struct {
			Output struct{ Parameters []map[string]any }
		}
		require.NoError(t, json.Unmarshal(b, &answer))
		for _, set := range answer.Output.Parameters {
			if name, _ := set["name"].(string); strings.HasPrefix(name, tenant+"-") || strings.Contains(parameters, `"owner":"`+tenant) {
				delete(set, "revision")
				text, err := json.Marshal(set)
				require.NoError(t, err)
				out[fmt.Sprint(parameters, name, set["applicationName"], set["release"])] = string(text)
			}
		}
	}
	return out
}

// TestTemplatesSeeTheirOwnClusterAlone: all that a template can get at are the facts of its own
// cluster; there is no function that reads anything else.
func TestTemplatesSeeTheirOwnClusterAlone(t *testing.T) {
	t.Setenv("ARGOSY_SECRET", "of-the-environment")
	const spy = "all: {{ . | toJson | b64enc }}\n"
	files := twoTenants().With(fleettest.Tree{"addons/tenants/red/defaults/addons/dns/values.yaml.gotmpl": spy})
	for _, name := range []string{"env", "expandenv", "getHostByName", "lookup", "include", "tpl", "Files", "readFile", "file", "exec", "now", "template"} {
		broken := files.With(fleettest.Tree{"addons/tenants/red/defaults/addons/dns/values.yaml.gotmpl": `a: {{ ` + name + ` "ARGOSY_SECRET" }}`})
		if got := querytest.Problems(querytest.Build(t, broken).Problems); !strings.Contains(got, "template-failed") || strings.Contains(got, "of-the-environment") {
			t.Errorf("%s: %s", name, got)
		}
	}
	st := querytest.NoProblems(t, querytest.Build(t, files.With(fleettest.Tree{"addons/tenants/red/defaults/addons/dns/values.yaml.gotmpl": "all: {{ . | toJson | squote }}\n"}),
		facts.Cluster{Name: "red-0", Labels: map[string]string{"live": "red"}}, facts.Cluster{Name: "blue-0", Labels: map[string]string{"live": "secret-blue"}}))
	set := querytest.Ask(t, st, `{"view":"components","group":"addons","component":"dns","selector":{"matchLabels":{"tenant":"red"}}}`)["dns-red-0"]
	values := set.Text("helmValues")
	if !strings.Contains(values, "red-0") || strings.Contains(values, "blue") {
		t.Errorf("a template of red-0 sees\n%s", values)
	}
}

// TestTenantNamesItsOwnSecretsOnly: with secretNames in the layout, what a tenant's files name in
// the secret store is its own; the problem has the place, concerns the member alone, and the member
// is not answered.
func TestTenantNamesItsOwnSecretsOnly(t *testing.T) {
	files := twoTenants().With(fleettest.Tree{"fleet/layout.yaml": `apiVersion: argosy.dev/v1alpha1
kind: Layout
secretNames:
  cluster: ["{{ .hub }}/{{ .cluster }}", "arn:aws:secretsmanager:*:*:secret:{{ .hub }}/{{ .cluster }}-??????"]
  git: ["github/{{ .tenant }}/*"]
`})
	querytest.NoProblems(t, querytest.Build(t, files))
	const layer = "addons/tenants/red/defaults/fleet/fleet-secret/values.yaml"
	own := func(name, secret string) fleettest.Tree {
		return fleettest.Tree{fleettest.Member(name): "clusterName: " + name + "\ntenant: red\nenvironment: dev\n" + secret + "\n"}
	}
	const is = " is not among the secrets that the tenant may name; expected "
	for _, c := range []struct {
		name string
		more fleettest.Tree
		want string // empty: allowed
	}{
		{"another cluster's", own("red-0", "secretManagerSecretName: hub/blue-0"), `fleet/fleet-members/hub/red-0.yaml:4:26: key "secretManagerSecretName": "hub/blue-0"` + is + "hub/red-0 or arn:"},
		{"more in front", own("red-0", "secretManagerSecretName: x/hub/red-0"), "red-0.yaml:4:26"},
		{"more behind", own("red-0", "secretManagerSecretName: hub/red-0/x"), "red-0.yaml:4:26"},
		{"an ARN", own("red-0", "secretManagerSecretName: arn:aws:secretsmanager:eu-west-1:1:secret:hub/red-0-Xk3pQz"), ""},
		{"another's ARN", own("red-0", "secretManagerSecretName: arn:aws:secretsmanager:eu-west-1:1:secret:hub/red-00-Xk3pQz"), "red-0.yaml:4:26"},
		{"another tenant's Git", own("red-0", "githubSecret: true\ngithubSecretName: github/blue/app"), `red-0.yaml:5:19: key "githubSecretName": "github/blue/app"` + is + "github/red/*"},
		{"its own Git", own("red-0", "githubSecret: true\ngithubSecretName: github/red/app"), ""},
		{"the tenant's values", fleettest.Tree{layer: "secretManagerSecretName: hub/blue-0\n"}, layer + `:1:26: key "secretManagerSecretName": "hub/blue-0"`},
		{"the tenant's Git", fleettest.Tree{layer: "githubSecretName: github/blue/x\n"}, layer + `:1:19: key "githubSecretName"`},
		{"the tenant's Git credentials", fleettest.Tree{layer: "gitCredentials: {x: {url: u, secretName: github/blue/x}}\n"}, layer + `:1:42: key "gitCredentials.x.secretName"`},
		{"a kubeconfig", fleettest.Tree{layer: "kubeconfig: {secretName: hub/blue-0}\n"}, layer + `:1:26: key "kubeconfig.secretName"`},
		{"a template", fleettest.Tree{layer: "", layer + ".gotmpl": "githubSecretName: github/{{ \"blue\" }}/x\n"}, layer + ".gotmpl:1:"},
		{"shared by all", fleettest.Tree{"addons/tenants/defaults/fleet/fleet-secret/values.yaml": "githubSecretName: github/all/x\n"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := querytest.Build(t, files.With(c.more))
			got := querytest.Problems(st.Problems)
			if c.want == "" {
				querytest.NoProblems(t, st)
				return
			}
			if !strings.Contains(got, string(problem.ForbiddenSecret)+" ") || !strings.Contains(got, c.want) || strings.Contains(got, "blue-0.yaml") {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			for _, p := range st.Problems {
				if !strings.HasPrefix(p.Cluster, "red-") {
					t.Errorf("concerns %q: %s", p.Cluster, p.Error())
				}
			}
			if _, err := response.Bytes(st, querytest.Query(t, `{"view":"members"}`)); err == nil {
				t.Error("the member is answered")
			}
		})
	}
}

// TestTemplatesOfRegistrationAndCatalogsCount: what templates write into the values that register a
// member, into its catalog files, and into the strings of a query's own entry counts, too. (H10)
func TestTemplatesOfRegistrationAndCatalogsCount(t *testing.T) {
	const large = `# {{ repeat 1000000 "x" }}` + "\n"
	for name, file := range map[string]string{"registration": "fleet/fleet-secret/values.yaml.gotmpl", "catalog": "application-sets/addons.yaml.gotmpl"} {
		t.Run(name, func(t *testing.T) {
			files := twoTenants()
			for _, level := range []string{"defaults", "environments/dev", "clusters/red-0"} {
				files["addons/tenants/red/"+level+"/"+file] = large
				files["addons/tenants/red/"+level+"/addons/dns/values.yaml.gotmpl"] = large
			}
			got := querytest.Problems(querytest.Build(t, files).Problems)
			if !strings.Contains(got, "at most 4194304 bytes of text by templates for a member") || strings.Contains(got, "blue") {
				t.Errorf("%.600s", got)
			}
		})
	}
	st := querytest.NoProblems(t, querytest.Build(t, twoTenants()))
	values := strings.Repeat(`"{{ repeat 100000 .cluster }}",`, 8)
	_, err := response.Bytes(st, querytest.Query(t, `{"view":"components","group":"addons","component":"dns","base":{"enabled":true,"chart":{"repoURL":"r","name":"n","version":"1"},"values":{"a":[`+values+`"x"]}}}`))
	if err == nil || !strings.Contains(err.Error(), "at most 4194304 bytes") {
		t.Errorf("%.600v", err)
	}
}

// TestTemplatesOfAMemberHaveABudget: many small templates, each within its limits, write too much
// for one member in all. That member alone cannot be computed, and others go on. (H10)
func TestTemplatesOfAMemberHaveABudget(t *testing.T) {
	files := twoTenants()
	catalog := ""
	for i := range 14 {
		catalog += fmt.Sprintf("bomb-%d: {enabled: true, chart: {repoURL: r, name: n, version: '1'}}\n", i)
		files[fmt.Sprintf("addons/tenants/red/defaults/addons/bomb-%d/values.yaml.gotmpl", i)] = `a: {{ repeat 900000 "x" }}{{ .cluster }}` + "\n"
	}
	files["addons/tenants/red/defaults/application-sets/addons.yaml"] += catalog
	st := querytest.Build(t, files)
	if got := querytest.Problems(st.Problems); !strings.Contains(got, `limit-exceeded addons/tenants/red/defaults/addons/bomb-0/values.yaml.gotmpl`) || !strings.Contains(got, "at most 4194304 bytes of text by templates for a member") {
		t.Errorf("%.600s", got)
	}
	for _, p := range st.Problems {
		if !strings.HasPrefix(p.Cluster, "red-") {
			t.Errorf("concerns %q: %s", p.Cluster, p.Error())
		}
	}
	good := querytest.NoProblems(t, querytest.Build(t, twoTenants()))
	next := querytest.Next(t, good, fleettest.Snapshot("2", files), facts.NewSet(false))
	assert.Equal(t, tenantSets(t, good, "blue"), tenantSets(t, next, "blue"), "another tenant's sets change")
}

// bombs are files of red that write 4 MB for each of its members, which is below a member's limit.
func bombs(members int) fleettest.Tree {
	out := fleettest.Tree{}
	catalog := ""
	for i := range 4 {
		catalog += fmt.Sprintf("bomb-%d: {enabled: true, chart: {repoURL: r, name: n, version: '1'}}\n", i)
		out[fmt.Sprintf("addons/tenants/red/defaults/addons/bomb-%d/values.yaml.gotmpl", i)] = `# {{ repeat 1000000 "x" }}` + "\n"
	}
	out["addons/tenants/red/defaults/application-sets/addons.yaml"] = "web: {enabled: true}\n" + catalog
	for i := 3; i < members; i++ {
		out[fleettest.Member(fmt.Sprintf("red-%d", i))] = fmt.Sprintf("clusterName: red-%d\ntenant: red\nenvironment: dev\nsecretManagerSecretName: hub/red-%d\n", i, i)
	}
	return out
}

// TestTenantHasABudget: templates whose work multiplies over a tenant's members, each within its
// limits, take the whole tenant and no other to its last known good snapshot. What is computed,
// reused or restored makes no difference, and the files back end it. (W2, G2, G6)
func TestTenantHasABudget(t *testing.T) {
	before := querytest.NoProblems(t, querytest.Build(t, twoTenants()))
	over := fleettest.Snapshot("2", twoTenants().With(bombs(6)))
	st := querytest.Next(t, before, over, facts.NewSet(false))
	assert.Equal(t, tenantSets(t, before, "blue"), tenantSets(t, st, "blue"), "another tenant's sets change")
	const want = `tenant-budget addons/tenants/red/defaults/addons/bomb-0/values.yaml.gotmpl: tenant "red": its members up to "red-4" take 20000`
	if got := querytest.Problems(st.Problems); strings.Count(got, want) != 6 || strings.Contains(got, "blue") {
		t.Errorf("%.1500s", got)
	}
	for _, q := range st.Quarantined("hub") {
		if known := q.Name < "red-3"; (q.Standing == fleetstate.Kept) != known {
			t.Errorf("%s is %s", q.Name, q.Standing)
		}
	}
	for name, set := range tenantSets(t, st, "red") {
		assert.Contains(t, set, `"hold":"limits"`, "%s is not held", name)
	}

	restored, err := fleetstate.Restore(nil, over, facts.NewSet(false), st.LastKnownGood())
	require.NoError(t, err)
	files := twoTenants().With(bombs(6))
	files["addons/tenants/blue/clusters/blue-0/addons/dns/values.yaml"] = "from: elsewhere\n"
	after := querytest.Next(t, st, fleettest.Snapshot("3", files), facts.NewSet(false))
	for name, other := range map[string]*fleetstate.State{"restored": restored, "the next commit of blue": after} {
		assert.Equal(t, tenantSets(t, st, "red"), tenantSets(t, other, "red"), "%s", name)
		if got, want := querytest.Problems(other.Problems), querytest.Problems(st.Problems); got != want {
			t.Errorf("%s: %s", name, cmp.Diff(want, got))
		}
	}
	if cmp.Equal(tenantSets(t, st, "blue"), tenantSets(t, after, "blue")) {
		t.Error("blue's commit is not taken")
	}

	fixed := querytest.NoProblems(t, querytest.Next(t, after, fleettest.Snapshot("4", twoTenants()), facts.NewSet(false)))
	assert.Equal(t, tenantSets(t, before, "red"), tenantSets(t, fixed, "red"), "the files are back, and red differs")
}

// broken are ways in which a tenant's files can be broken at much expense, by what is found then.
var broken = map[string]fleettest.Tree{
	"tenant-budget": bombs(6),
	"limit-exceeded addons/tenants/red/defaults/addons/dns/values.yaml.gotmpl": {
		"addons/tenants/red/defaults/addons/dns/values.yaml.gotmpl": "{{ range until 100000 }}{{ range until 100 }}{{ if semverCompare \">1\" \"2.0.0\" }}{{ end }}{{ end }}{{ end }}a: 1\n",
	},
	"limit-exceeded addons/tenants/red/defaults/application-sets/addons.yaml": {
		"addons/tenants/red/defaults/application-sets/addons.yaml": "web: {enabled: true, values: {a: '{{ range until 100000 }}{{ range until 100 }}{{ end }}{{ end }}'}}\n",
	},
	"template-failed addons/tenants/red/clusters/red-0/addons/dns/values.yaml.gotmpl": {
		"addons/tenants/red/clusters/red-0/addons/dns/values.yaml.gotmpl": "{{ range until 90000 }}{{ end }}{{ fail \"no\" }}\n",
	},
}

// others are commits of others than tenant red.
var others = map[string]fleettest.Tree{
	"another tenant's values":   {"addons/tenants/blue/defaults/addons/dns/values.yaml": "from: elsewhere\n"},
	"the platform's values":     {"addons/defaults/addons/dns/values.yaml": "from: system\n"},
	"the platform's template":   {"addons/defaults/addons/web/values.yaml.gotmpl": "cluster: {{ .cluster }}-1\n"},
	"the platform's catalog":    {"addons/tenants/defaults/application-sets/addons.yaml": "dns: {values: {more: true}}\n"},
	"a member of another":       {fleettest.Member("blue-9"): "clusterName: blue-9\ntenant: blue\nenvironment: dev\nsecretManagerSecretName: hub/blue-9\n"},
	"a file that nobody reads":  {"docs/readme.yaml": "a: 1\n"},
	"all at once, and versions": {"addons/defaults/addons/dns/values.yaml": "from: system\n", "versions/applicationSets.yaml": "releases: {addons: [{type: default, chartRepoRevision: v9}]}\n"},
}

// TestUnchangedFilesAreNotJudgedAgain: beside a tenant whose files are broken, a commit of another
// one has no template of that tenant executed again, and costs as much as without it. What is found
// stays what a fresh start finds. (W2, G6)
func TestUnchangedFilesAreNotJudgedAgain(t *testing.T) {
	for found, files := range broken {
		for what, change := range others {
			t.Run(found+" "+what, func(t *testing.T) {
				cost := func(before fleettest.Tree) (steps int64, st *fleetstate.State) {
					st = querytest.Next(t, querytest.NoProblems(t, querytest.Build(t, twoTenants())), fleettest.Snapshot("2", before), facts.NewSet(false))
					at := st.Resolver().Documents.Steps()
					st = querytest.Next(t, st, fleettest.Snapshot("3", before.With(change)), facts.NewSet(false))
					return st.Resolver().Documents.Steps() - at, st
				}
				files := twoTenants().With(files)
				got, st := cost(files)
				want, _ := cost(twoTenants())
				if got > want*3/2 {
					t.Errorf("%d steps, and %d without the broken tenant", got, want)
				}
				fresh := querytest.Next(t, querytest.NoProblems(t, querytest.Build(t, twoTenants())), fleettest.Snapshot("3", files.With(change)), facts.NewSet(false))
				if got, want := querytest.Problems(st.Problems), querytest.Problems(fresh.Problems); got != want || !strings.Contains(want, found) {
					t.Errorf("%s\n%s", cmp.Diff(want, got), want)
				}
				for _, tenant := range []string{"red", "blue"} {
					assert.Equal(t, tenantSets(t, fresh, tenant), tenantSets(t, st, tenant), "%s", tenant)
				}
			})
		}
	}
}

// TestTenantBeyondItsBudgetIsJudgedAgain: as soon as anything changes that its members read, or
// their number.
func TestTenantBeyondItsBudgetIsJudgedAgain(t *testing.T) {
	files := twoTenants().With(bombs(5))
	good := querytest.NoProblems(t, querytest.Build(t, twoTenants()))
	for what, change := range map[string]fleettest.Tree{
		"a file less":              {"addons/tenants/red/defaults/addons/bomb-0/values.yaml.gotmpl": "a: 1\n"},
		"a file of the last":       {"addons/tenants/red/clusters/red-4/addons/dns/values.yaml": "a: 1\n"},
		"a member file":            {fleettest.Member("red-3"): "clusterName: red-3\ntenant: red\nenvironment: prod\nsecretManagerSecretName: hub/red-3\n"},
		"another member":           {fleettest.Member("red-8"): "clusterName: red-8\ntenant: red\nenvironment: prod\nsecretManagerSecretName: hub/red-8\n"},
		"a member that is retired": {fleettest.Member("red-4"): "clusterName: red-4\ntenant: red\nenvironment: dev\nsecretManagerSecretName: hub/red-4\nlifecycle: retired\n"},
		"a tenant's schema":        {"addons/defaults/application-sets/addons.yaml": "bomb-1: {enabled: false}\nbomb-2: {enabled: false}\n"},
		"fewer members":            {fleettest.Member("red-4"): "", fleettest.Member("red-3"): ""},
	} {
		st := querytest.Next(t, good, fleettest.Snapshot("2", files), facts.NewSet(false))
		require.Contains(t, querytest.Problems(st.Problems), "tenant-budget")
		st = querytest.Next(t, st, fleettest.Snapshot("2b", files.With(fleettest.Tree{"docs/x.yaml": ""})), facts.NewSet(false))
		next := fleettest.Snapshot("3", files.With(change))
		st, fresh := querytest.Next(t, st, next, facts.NewSet(false)), querytest.Next(t, good, next, facts.NewSet(false))
		if got, want := querytest.Problems(st.Problems), querytest.Problems(fresh.Problems); got != want {
			t.Errorf("%s: %s", what, cmp.Diff(want, got))
		}
		assert.Equal(t, tenantSets(t, fresh, "red"), tenantSets(t, st, "red"), "%s", what)
	}
}

// TestMemberTakesTheTenantBeyondItsBudget: a State that reuses all other members of the tenant
// finds the same as one that is built anew. (W2, G6)
func TestMemberTakesTheTenantBeyondItsBudget(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, twoTenants().With(bombs(4))))
	for members := 5; members <= 7; members++ {
		s := fleettest.Snapshot(fmt.Sprint(members), twoTenants().With(bombs(members)))
		st = querytest.Next(t, st, s, facts.NewSet(false))
		built, err := fleetstate.Build(nil, s, facts.NewSet(false))
		require.NoError(t, err)
		if got, want := querytest.Problems(st.Problems), querytest.Problems(built.Problems); got != want || strings.Count(want, "tenant-budget") != members {
			t.Errorf("%d members: %s", members, cmp.Diff(want, got))
		}
	}
}

// TestEntryThatFitsNoBaseRefusesNobody: what a tenant's level says of a component may not fit the
// entry that an ApplicationSet sends. No build can know it where the layout names no catalog. The
// tenant's member is answered without that part, flagged, and all others byte for byte as before.
// (W1, G2)
func TestEntryThatFitsNoBaseRefusesNobody(t *testing.T) {
	chart := `{"enabled":true,"chart":{"repoURL":"https://charts.example","name":"ext","version":"1.0.0"}}`
	manifests := `{"enabled":true,"kind":"manifests","chart":{"repoURL":"https://git.example/m","path":"m","version":"main"}}`
	labelled := `{"enabled":true,"chart":{"repoURL":"https://charts.example","name":"ext","version":"{{ .labels.ring }}"}}`
	values := `{"enabled":true,"chart":{"repoURL":"https://charts.example","name":"ext","version":"1.0.0"},"values":{"a":"{{ if eq .labels.ring \"x\" }}{{ fail \"x\" }}{{ end }}"}}`
	const entries = "addons/tenants/red/clusters/red-0/application-sets/addons.yaml"
	const registration = "addons/tenants/red/clusters/red-0/fleet/fleet-secret/values.yaml"
	fleetFiles := twoTenants().With(fleettest.Tree{"addons/defaults/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {ring: '1'}}\n"})
	for name, c := range map[string]struct{ base, file, content string }{
		"path beside name":                       {chart, entries, "ext: {chart: {path: p}}\n"},
		"no version":                             {chart, entries, "ext: {chart: {version: null}}\n"},
		"no chart":                               {chart, entries, "ext: {chart: null}\n"},
		"another kind":                           {chart, entries, "ext: {kind: manifests}\n"},
		"name of manifests":                      {manifests, entries, "ext: {chart: {name: n}}\n"},
		"values of manifests":                    {manifests, "addons/tenants/red/clusters/red-0/addons/ext/values.yaml", "a: 1\n"},
		"values in the entry":                    {manifests, entries, "ext: {values: {a: 1}}\n"},
		"a label that the entry's version needs": {labelled, registration, "externalSecret: {labels: {ring: null}}\n"},
		"a label that the entry's version is":    {labelled, registration, "externalSecret: {labels: {ring: ''}}\n"},
		"a label that the entry's values read":   {values, registration, "externalSecret: {labels: {ring: x}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			q := querytest.Query(t, `{"view":"components","group":"addons","component":"ext","base":`+c.base+`}`)
			before := querytest.NoProblems(t, querytest.Build(t, fleetFiles))
			want := setsByName(t, before, q)
			next := querytest.NoProblems(t, querytest.Next(t, before, fleettest.Snapshot("2", fleetFiles.With(fleettest.Tree{c.file: c.content})), facts.NewSet(false)))
			got := setsByName(t, next, q)
			if red := got["ext-red-0"]; !strings.Contains(red, `"hold":"broken"`) {
				t.Errorf("the tenant's member: %s", red)
			}
			for _, key := range []string{`"chart":`, `"helmValues":`} {
				if cut(got["ext-red-0"], key) != cut(want["ext-red-0"], key) {
					t.Errorf("%s becomes %s", key, cut(got["ext-red-0"], key))
				}
			}
			delete(got, "ext-red-0")
			delete(want, "ext-red-0")
			if diff := cmp.Diff(want, got); diff != "" || len(got) < 3 {
				t.Errorf("others: %s", diff)
			}
		})
	}
}

// TestFileThatABaseReadsRefusesNobody: a component that the entry of an ApplicationSet alone
// switches on has files in a tenant's folders. One that breaks keeps the tenant's member at that
// component's last good values, flagged. All others are answered byte for byte as before, also
// after more commits and a restart, and with the file fixed everything is as it was. (W1, G2, G6)
func TestFileThatABaseReadsRefusesNobody(t *testing.T) {
	const folder = "addons/tenants/red/clusters/red-0/addons/ext/"
	plain := `{"enabled":true,"chart":{"repoURL":"https://charts.example","name":"ext","version":"1.0.0"},"values":{"a":{"b":1}}}`
	pair := `{"enabled":true,"chart":{"repoURL":"https://charts.example","name":"ext","version":"1.0.0"},"companions":{"id":{"chart":{"repoURL":"https://charts.example","name":"id","version":"1.0.0"}}}}`
	for name, c := range map[string]struct{ base, file, content string }{
		"no YAML":                    {plain, folder + "values.yaml", "a: [\n"},
		"no map":                     {plain, folder + "values.yaml", "- a\n"},
		"duplicate keys":             {plain, folder + "values.yaml", "a: 1\na: 2\n"},
		"too large":                  {plain, folder + "values.yaml", "a: " + strings.Repeat("x", 2<<20) + "\n"},
		"no template":                {plain, folder + "values.yaml.gotmpl", "a: {{ if }}\n"},
		"a template that fails":      {plain, folder + "values.yaml.gotmpl", `a: {{ fail "x" }}` + "\n"},
		"a template without a label": {plain, folder + "values.yaml.gotmpl", "a: {{ .labels.nosuch.x }}\n"},
		"a companion's":              {pair, folder + "id.yaml", "a: [\n"},
		"an entry that is off":       {plain, "addons/tenants/red/clusters/red-0/application-sets/addons.yaml", "ext: {companions: {x: {chart: {name: x}}}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			good := twoTenants().With(fleettest.Tree{folder + "values.yaml": "own: 1\n", folder + "id.yaml": "own: 2\n"})
			q := querytest.Query(t, `{"view":"components","group":"addons","component":"ext","base":`+c.base+`}`)
			before := querytest.NoProblems(t, querytest.Build(t, good))
			want := setsByName(t, before, q)
			if !strings.Contains(want["ext-red-0"], "own") || len(want) < 4 {
				t.Fatalf("%s", want)
			}
			check := func(what string, st *fleetstate.State) {
				t.Helper()
				got := setsByName(t, st, q)
				red := got["ext-red-0"]
				if !strings.Contains(red, `"hold":"broken"`) {
					t.Errorf("%s: the tenant's member: %.500s", what, red)
				}
				for _, key := range []string{`"chart":`, `"helmValues":`, `"companions":`} {
					if cut(red, key) != cut(want["ext-red-0"], key) {
						t.Errorf("%s: %s becomes %.500s", what, key, cut(red, key))
					}
				}
				delete(got, "ext-red-0")
				others := maps.Clone(want)
				delete(others, "ext-red-0")
				assert.Equal(t, others, got, "%s: others", what)
			}
			broken := good.With(fleettest.Tree{c.file: c.content})
			st := querytest.NoProblems(t, querytest.Next(t, before, fleettest.Snapshot("2", broken), facts.NewSet(false)))
			check("broken", st)
			more := broken.With(fleettest.Tree{"addons/tenants/red/clusters/red-0/addons/dns/values.yaml": "b: 1\n"})
			third := fleettest.Snapshot("3", more)
			st = querytest.NoProblems(t, querytest.Next(t, st, third, facts.NewSet(false)))
			check("another commit", st)
			restored, err := fleetstate.Restore(nil, third, facts.NewSet(false), st.LastKnownGood())
			require.NoError(t, err)
			check("restored", restored)
			fixed := querytest.NoProblems(t, querytest.Next(t, restored, fleettest.Snapshot("4", good), facts.NewSet(false)))
			if diff := cmp.Diff(want, setsByName(t, fixed, q)); diff != "" || len(fixed.LastKnownGood()) > 0 {
				t.Errorf("fixed: %s", diff)
			}
		})
	}
}

// TestLargeEntryOfAQueryIsNotTheTenants: what the templates of a query's own entry write does not
// count for the budget of a member, whose tenant's files may fill it. (H10)
func TestLargeEntryOfAQueryIsNotTheTenants(t *testing.T) {
	files := twoTenants()
	for _, level := range []string{"defaults", "environments/dev", "clusters/red-0"} {
		files["addons/tenants/red/"+level+"/addons/ext/values.yaml.gotmpl"] = `a: {{ repeat 180000 "abcde" }}` + "\n"
	}
	st := querytest.NoProblems(t, querytest.Build(t, files))
	value := `"{{ repeat 150000 .cluster }}",`
	got := setsByName(t, st, querytest.Query(t, `{"view":"components","group":"addons","component":"ext","base":{"enabled":true,"chart":{"repoURL":"https://charts.example","name":"ext","version":"1.0.0"},"values":{"b":[`+value+value+`""]}}}`))
	if len(got) < 4 || strings.Contains(got["ext-red-0"], `"hold"`) {
		t.Errorf("%d sets, %.300s", len(got), got["ext-red-0"])
	}
}

// TestFileThatABaseReadsNeverWasGood: where such a file was never good, the component is left out
// for the tenant's member as long as it has no Application, and others are answered. (G1, G2)
func TestFileThatABaseReadsNeverWasGood(t *testing.T) {
	files := twoTenants().With(fleettest.Tree{"addons/tenants/red/clusters/red-0/addons/ext/values.yaml": "a: [\n"})
	q := querytest.Query(t, `{"view":"components","group":"addons","component":"ext","base":{"enabled":true,"chart":{"repoURL":"https://charts.example","name":"ext","version":"1.0.0"}}}`)
	for name, c := range map[string]struct {
		known facts.Set
		want  bool
	}{
		"no Application":        {facts.NewSet(false).WithApplications(), true},
		"nothing known":         {facts.NewSet(false), false},
		"it has an Application": {facts.NewSet(false).WithApplications(facts.Application{Name: "ext-red-0", Cluster: "red-0"}), false},
	} {
		st := querytest.NoProblems(t, querytest.Next(t, nil, fleettest.Snapshot("1", files), c.known))
		b, err := response.Bytes(st, q)
		switch {
		case (err == nil) != c.want:
			t.Errorf("%s: %.300s %v", name, b, err)
		case err == nil && (strings.Contains(string(b), "ext-red-0") || !strings.Contains(string(b), "ext-red-1")):
			t.Errorf("%s: %s", name, b)
		}
	}
}

// cut is a text from a key on to the next comma or brace.
func cut(text, key string) string {
	_, after, _ := strings.Cut(strings.Replace(text, `"hold":"broken",`, "", 1), key)
	if i := strings.IndexAny(after, "}"); i >= 0 {
		return after[:i]
	}
	return after
}

// setsByName are the sets of a response by the name of their Application, without the revision.
func setsByName(t *testing.T, st *fleetstate.State, q query.Query) map[string]string {
	t.Helper()
	b, err := response.Bytes(st, q)
	require.NoError(t, err)
	var r struct {
		Output struct{ Parameters []map[string]any }
	}
	require.NoError(t, json.Unmarshal(b, &r))
	out := map[string]string{}
	for _, set := range r.Output.Parameters {
		delete(set, "revision")
		delete(set, "digest")
		text, err := json.Marshal(set)
		require.NoError(t, err)
		out[set["applicationName"].(string)] = string(text)
	}
	return out
}

// TestPartOfAnEntryRefusesNoRelease: an entry of a tenant's level may have a key that counts only
// with what the layout's catalog says of the component. The releases of all tenants go on. (W1, R7)
func TestPartOfAnEntryRefusesNoRelease(t *testing.T) {
	files := twoTenants().With(fleettest.Tree{
		"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups: {addons: {root: addons, catalog: catalog.yaml}}\n",
		"catalog.yaml":      "folder: {enabled: true, kind: manifests, chart: {repoURL: https://git.example/m, path: m, version: main}}\n",
	})
	want := querytest.Column(t, querytest.NoProblems(t, querytest.Build(t, files)), querytest.Query(t, `{"view":"releases","group":"addons"}`), "helmValues")
	files["addons/tenants/red/clusters/red-0/application-sets/addons.yaml"] = "folder: {substitute: true}\n"
	st := querytest.Build(t, files)
	got := querytest.Column(t, st, querytest.Query(t, `{"view":"releases","group":"addons"}`), "helmValues")
	assert.Equal(t, want, got, "releases have")
}
