package response_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/cases"
	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/querytest"
	"github.com/argosy-hub/argosy/internal/response"
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

// vandal edits what the tenant red owns: its folders and its members' files.
type vandal struct{ *rand.Rand }

func (v vandal) pick(options ...string) string { return options[v.IntN(len(options))] }

func (v vandal) owned(files fleettest.Tree) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(p string) bool {
		return !strings.HasPrefix(p, "addons/tenants/red/") && !strings.Contains(p, "/red-")
	})
}

func (v vandal) edit(files fleettest.Tree) fleettest.Tree {
	out := maps.Clone(files)
	for range 1 + v.IntN(4) {
		owned := v.owned(out)
		if len(owned) == 0 {
			break
		}
		p := owned[v.IntN(len(owned))]
		switch {
		case strings.HasPrefix(p, "fleet/"):
			v.member(out, p)
		case v.IntN(3) == 0:
			v.rename(out)
		default:
			v.file(out, p)
		}
	}
	return out
}

func (v vandal) member(files fleettest.Tree, p string) {
	switch v.IntN(3) {
	case 0:
		delete(files, p)
	case 1:
		name := strings.TrimSuffix(p[strings.LastIndex(p, "/")+1:], ".yaml")
		files[p] = fmt.Sprintf("clusterName: %s\ntenant: %s\nenvironment: %s\n", name, v.pick("red", "blue", "platform", "defaults"), v.pick("dev", "prod", "other")) +
			v.pick("", "addons_repo_basepath: addons/tenants/blue\n", "addons_repo_basepath: addons/tenants\n", "fleet_repo_basepath: ../x\n", "labels: {tenant: blue}\n", "labels: {addonsRelease: canary}\n", "labels: {cluster_name: blue-0}\n", "annotations: {cluster_name: blue-1}\n", "use_remote_argo: true\nenable_remote_addons: true\n", "lifecycle: retired\ndeletion: cascade\n", "secretManagerSecretName: hub/blue-0\n")
	default:
		files[p] = v.pick("", "[\n", "tenant: [\n", strings.Repeat("a: 1\n", 500), "clusterName: {a: b}\n")
	}
}

func (v vandal) rename(files fleettest.Tree) {
	from := v.pick("addons/tenants/red/", "addons/tenants/red/clusters/red-0/", "addons/tenants/red/defaults/", "addons/tenants/red/environments/prod/")
	to := v.pick("addons/tenants/red/clusters/blue-0/", "addons/tenants/red/tenants/blue/", "addons/tenants/red/environments/dev/", "addons/tenants/red/blue/", "addons/tenants/red/defaults/addons/tenants/blue/")
	for p, text := range maps.Clone(files) {
		if rest, ok := strings.CutPrefix(p, from); ok {
			delete(files, p)
			files[to+rest] = text
		}
	}
}

func (v vandal) file(files fleettest.Tree, p string) {
	if v.IntN(4) == 0 {
		p = "addons/tenants/red/" + v.pick("defaults", "clusters/blue-0", "environments/prod", "clusters/red-1") + "/" + v.pick("addons/dns/values.yaml", "addons/web/values.yaml.gotmpl", "application-sets/addons.yaml", "fleet/fleet-secret/values.yaml", "application-sets/fleet.yaml")
	}
	files[p] = v.pick("from: changed\n", "a: &a [*a]\n", "{{ range 9999999999 }}{{ end }}\n", "{{ .absent }}\n", "dns: {enabled: false}\nweb: null\n", "web: {enabled: true, selector: {matchLabels: {tenant: blue}}}\n",
		"externalSecret: {labels: {tenant: blue, addonsRelease: none}}\n", "externalSecret: {labels: {addonsRelease: canary}}\n", "dns: {enabled: true, namespace: kube-system, chart: {version: 9.9.9}}\n", "blue-0: {enabled: true, chart: {repoURL: https://x.example, name: x, version: 1.0.0}}\n", "clusterName: blue-0\n", "cluster: {{ .member.tenant }}\n", "[1\n",
		"externalSecret: {secretName: blue-0, creationPolicy: Merge, config: {execProviderConfig: {command: sh}}}\n", "externalSecret: {server: https://kubernetes.default.svc}\n", "secretStore: null\n",
		"gitCredentials: {fleet: {url: https://git.example, data: {proxy: evil}}}\n", "externalSecret: {labels: {argocd.argoproj.io/x: y}}\n", "externalSecret: {labels: {ring: a}, annotations: {owner: red}}\n", "a: {{ repeat 1000000 .cluster }}\n")
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
		if err != nil {
			t.Fatalf("%s: %v", parameters, err)
		}
		var answer struct {
			Output struct{ Parameters []map[string]any }
		}
		if err := json.Unmarshal(b, &answer); err != nil {
			t.Fatal(err)
		}
		for _, set := range answer.Output.Parameters {
			if name, _ := set["name"].(string); strings.HasPrefix(name, tenant+"-") || strings.Contains(parameters, `"owner":"`+tenant) {
				delete(set, "revision")
				text, err := json.Marshal(set)
				if err != nil {
					t.Fatal(err)
				}
				out[fmt.Sprint(parameters, name, set["applicationName"], set["release"])] = string(text)
			}
		}
	}
	return out
}

// TestTenantCannotChangeAnothersSets: whatever a tenant does to its own folders and to its members'
// files, the parameter sets of another tenant's clusters are the same, and are answered.
func TestTenantCannotChangeAnothersSets(t *testing.T) {
	files := twoTenants()
	first := querytest.NoProblems(t, querytest.Build(t, files))
	want := tenantSets(t, first, "blue")
	if len(want) < 10 {
		t.Fatalf("%d sets: the test would show nothing", len(want))
	}
	v := vandal{rand.New(rand.NewPCG(1, 2))}
	changed := 0
	edits := cases.Times(60)
	for i := range edits {
		edited := v.edit(files)
		st, err := fleetstate.Build(first, fleettest.Snapshot("rev", edited), facts.NewSet(false))
		if err != nil {
			t.Fatalf("edit %d: the repository as a whole cannot be used: %v", i, err)
		}
		if diff := cmp.Diff(want, tenantSets(t, st, "blue")); diff != "" {
			t.Fatalf("edit %d changes another tenant's sets:\n%s\nedited:\n%s", i, diff, cmp.Diff(files, edited))
		}
		if !maps.Equal(tenantSets(t, first, "red"), tenantSets(t, st, "red")) {
			changed++
		}
	}
	if changed < edits/6 {
		t.Errorf("only %d of the edits change anything at all", changed)
	}
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
	if got := querytest.Problems(st.Problems); !strings.Contains(got, `limit-exceeded fleet/fleet-members/hub/red-0.yaml`) || !strings.Contains(got, "at most 4194304 bytes for a member") {
		t.Errorf("%.600s", got)
	}
	for _, p := range st.Problems {
		if !strings.HasPrefix(p.Cluster, "red-") {
			t.Errorf("concerns %q: %s", p.Cluster, p.Error())
		}
	}
	good := querytest.NoProblems(t, querytest.Build(t, twoTenants()))
	next := querytest.Next(t, good, fleettest.Snapshot("2", files), facts.NewSet(false))
	if diff := cmp.Diff(tenantSets(t, good, "blue"), tenantSets(t, next, "blue")); diff != "" {
		t.Errorf("another tenant's sets change:\n%s", diff)
	}
}
