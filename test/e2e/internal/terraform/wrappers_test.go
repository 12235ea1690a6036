package terraform

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
)

const checkout = "../../../.."

var update = flag.Bool("update", false, "write the golden file again")

// runner initializes the wrappers in a folder of the test's own.
func runner(t *testing.T) *Runner {
	t.Helper()
	b, err := component.Build(t.Context(), component.Options{Root: checkout + "/test/e2e/components"}, Components()...)
	require.NoError(t, err)
	r, err := New(t.Context(), b, checkout, t.TempDir())
	require.NoError(t, err)
	return r
}

// application is one run of a wrapper: what a user types.
type application struct {
	wrapper, workspace, account string
	variables                   map[string]any
}

const (
	hubEU, hubUS = "hub-eu", "hub-us"
	alone, agent = "analytics-dev-eu-1", "payments-prod-eu-1" // a member that the hub deploys to, and an agent in an account of its own
	american     = "retail-prod-us-1"

	platform, payments = "111122223333", "444455556666"
)

var (
	fleet = map[string]any{"url": "https://github.com/argosy-hub/argosy"}
	hubs  = []application{
		{"hub", hubEU, platform, map[string]any{
			"region": "eu-west-1", "fleet": fleet, "argosy_version": "0.1.0", "chart_repository": "oci://ghcr.io/argosy-hub/charts",
			"github_app": map[string]any{"id": "1", "installation_id": "2", "private_key": "PEM"},
		}},
		{"hub", hubUS, platform, map[string]any{"region": "us-east-1", "fleet": fleet, "argosy_version": "0.1.0", "chart_repository": "oci://ghcr.io/argosy-hub/charts"}},
	}
	spokes = []application{
		{"spokes", alone, platform, map[string]any{
			"region": "eu-west-1", "hub": map[string]any{"name": hubEU, "region": "eu-west-1"}, "vpc_cidr": "10.1.0.0/16", "agent": false,
			"addons": map[string]any{"region": "eu-west-1"},
		}},
		{"spokes", agent, payments, map[string]any{
			// Its cluster is in another region than its hub, and hence than its record.
			"region": "eu-north-1", "hub": map[string]any{"name": hubEU, "region": "eu-west-1", "reader_role_arn": "arn:aws:iam::" + platform + ":role/reader"}, "vpc_cidr": "10.2.0.0/16",
			"identities": map[string]any{"external-dns": map[string]any{"namespace": "external-dns", "service_accounts": []string{"external-dns"}, "policy_arns": []string{"arn:aws:iam::aws:policy/AmazonRoute53FullAccess"}}},
		}},
		{"spokes", american, platform, map[string]any{"region": "us-east-1", "hub": map[string]any{"name": hubUS, "region": "us-east-1"}, "vpc_cidr": "10.3.0.0/16", "agent": false}},
	}
)

// applyAll applies all of them, each in a workspace of its own, and returns their outputs by
// workspace.
func applyAll(t *testing.T, r *Runner) map[string]map[string]json.RawMessage {
	t.Helper()
	out := map[string]map[string]json.RawMessage{}
	for _, a := range slices.Concat(hubs, spokes) {
		outputs, err := r.Apply(t.Context(), a.wrapper, a.workspace, a.account, a.variables)
		require.NoError(t, err)
		out[a.workspace] = outputs
	}
	return out
}

func text(t *testing.T, value json.RawMessage) (out string) {
	t.Helper()
	require.NoError(t, json.Unmarshal(value, &out))
	return out
}

// names reads the convention of names.
func names(t *testing.T) func(name, hub, cluster, component string) string {
	t.Helper()
	data, err := os.ReadFile(checkout + "/docs/schemas/cluster-secret.json")
	require.NoError(t, err)
	var schema struct {
		Names map[string]string `json:"x-names"`
	}
	require.NoError(t, json.Unmarshal(data, &schema))
	return func(name, hub, cluster, component string) string {
		if schema.Names[name] == "" {
			t.Fatalf("x-names has no %s", name)
		}
		return strings.NewReplacer("<hub>", hub, "<cluster>", cluster, "<component>", component, "<tenant>", hub, "<name>", component).Replace(schema.Names[name])
	}
}

// TestWrappers: two hubs and three spokes, each in a workspace of its own, have the names of the
// convention, and each may do what it has to and no more. Their records and releases are the golden
// file that test/charts registers members with.
func TestWrappers(t *testing.T) {
	r := runner(t)
	outputs := applyAll(t, r)

	t.Run("names", func(t *testing.T) { named(t, r) })
	t.Run("rights", func(t *testing.T) { rights(t, r) })
	t.Run("lint", func(t *testing.T) { linted(t, outputs) })
	t.Run("golden", func(t *testing.T) { golden(t, r, outputs) })
	t.Run("unchanged", func(t *testing.T) {
		for _, a := range slices.Concat(hubs, spokes) {
			// Status 2 would be a plan with changes.
			args := [][]string{{"workspace", "select", a.workspace}, {"plan", "-input=false", "-detailed-exitcode", "-var-file=" + a.workspace + ".tfvars.json"}}
			for _, args := range args {
				if _, err := r.Run(t.Context(), a.wrapper, a.account, args...); err != nil {
					t.Error(err)
				}
			}
		}
	})
	t.Run("mistakes", func(t *testing.T) { mistakes(t, r) })
}

// named compares the names of what is in the cloud with the convention.
func named(t *testing.T, r *Runner) {
	t.Helper()
	name := names(t)
	want := map[string][]string{}
	add := func(kind, account, name string) { want[kind] = append(want[kind], account+" "+name) }
	for _, h := range hubs {
		for _, component := range []string{"argo-cd", "external-secrets"} {
			add("aws_ssm_parameter", h.account, name("roleParameter", h.workspace, "", component))
		}
		if h.variables["github_app"] != nil {
			add("aws_secretsmanager_secret", h.account, name("repositoryCredentials", h.workspace, "", "fleet"))
		}
	}
	hubOf := map[string]string{hubEU: hubEU, hubUS: hubUS, alone: hubEU, agent: hubEU, american: hubUS}
	for _, a := range slices.Concat(hubs, spokes) {
		add("aws_iam_role", a.account, name("spokeRole", "", a.workspace, ""))
		add("aws_secretsmanager_secret", a.account, name("record", hubOf[a.workspace], a.workspace, ""))
		if a.variables["agent"] == nil {
			for _, component := range []string{"argo-cd", "external-secrets"} {
				add("aws_iam_role", a.account, name("componentRole", "", a.workspace, component))
			}
		}
	}
	add("aws_iam_role", payments, name("componentRole", "", agent, "external-dns"))
	for kind, want := range want {
		objects, err := r.cloud.all(kind)
		require.NoError(t, err)
		var got []string
		for _, o := range objects {
			got = append(got, o.Account+" "+o.text("name"))
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-convention +terraform):\n%s", kind, diff)
		}
	}
}

// rights compares who may read which secret, and assume which role, with who should.
func rights(t *testing.T, r *Runner) {
	t.Helper()
	a := newAWS(t, r.cloud)
	reads := map[string][]string{
		"hub-eu-external-secrets":             {"github/hub-eu/fleet", "hub-eu/analytics-dev-eu-1", "hub-eu/hub-eu", "hub-eu/payments-prod-eu-1"},
		"hub-us-external-secrets":             {"hub-us/hub-us", "hub-us/retail-prod-us-1"},
		"payments-prod-eu-1-external-secrets": nil, // no record: the repository credentials of its own account
	}
	assumes := map[string][]string{
		"hub-eu-argo-cd":             {"fleet-spoke-analytics-dev-eu-1", "fleet-spoke-hub-eu", "fleet-spoke-payments-prod-eu-1"},
		"hub-us-argo-cd":             {"fleet-spoke-hub-us", "fleet-spoke-retail-prod-us-1"},
		"payments-prod-eu-1-argo-cd": {"fleet-spoke-payments-prod-eu-1"},
	}
	for _, role := range a.roles {
		var readable, assumable []string
		for _, s := range a.secrets {
			if a.mayRead(t, role, s) {
				readable = append(readable, s.text("name"))
			}
		}
		for _, other := range a.roles {
			if a.mayAssume(t, role, other) {
				assumable = append(assumable, other.text("name"))
			}
		}
		slices.Sort(readable)
		if name := role.text("name"); !slices.Equal(readable, reads[name]) || !slices.Equal(assumable, assumes[name]) {
			t.Errorf("%s reads %q and assumes %q; expected %q and %q", name, readable, assumable, reads[name], assumes[name])
		}
	}
	argoCD, _ := find(a.roles, "name", "payments-prod-eu-1-argo-cd")
	for role, want := range map[string]bool{"fleet-spoke-payments-prod-eu-1": true, "fleet-spoke-payments-dev-eu-1": false} {
		if got := a.roleMay(t, argoCD, request{action: "sts:AssumeRole", resource: "arn:aws:iam::" + payments + ":role/" + role}); got != want {
			t.Errorf("%s may assume %s: %t", argoCD.text("name"), role, got)
		}
	}
	own, _ := find(a.roles, "name", "payments-prod-eu-1-external-secrets")
	for secret, want := range map[string]bool{
		"arn:aws:secretsmanager:eu-north-1:" + payments + ":secret:github/payments/app-creds-a1b2c3": true,
		"arn:aws:secretsmanager:eu-north-1:" + payments + ":secret:orders/database-a1b2c3":           false,
		"arn:aws:secretsmanager:eu-north-1:" + platform + ":secret:github/payments/app-creds-a1b2c3": false,
	} {
		if got := a.roleMay(t, own, request{action: "secretsmanager:GetSecretValue", resource: secret}); got != want {
			t.Errorf("%s may read %s: %t", own.text("name"), secret, got)
		}
	}
	for _, role := range a.roles { // a role of a component is for pods of the account's own clusters
		pods := request{principal: "pods.eks.amazonaws.com", action: "sts:AssumeRole", context: map[string]string{"aws:SourceAccount": role.Account}}
		if is := !strings.HasPrefix(role.text("name"), "fleet-spoke-"); allows(t, role.text("assume_role_policy"), pods) != is {
			t.Errorf("%s is for pods: %t", role.text("name"), !is)
		}
		pods.context["aws:SourceAccount"] = "999999999999"
		if allows(t, role.text("assume_role_policy"), pods) {
			t.Errorf("%s is for pods of other accounts", role.text("name"))
		}
	}
}

// memberKey is the line of a member's file that names its record.
var memberKey = regexp.MustCompile(`(?m)^secretManagerSecretName: .*$`)

// linted runs the command lint on this repository's fleet with the wrappers' outputs in the
// members' files, and with the outputs of two members exchanged; and on the records, and one with a
// misspelt key.
func linted(t *testing.T, outputs map[string]map[string]json.RawMessage) {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range fleetrepo.Folders {
		require.NoError(t, os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(checkout, folder))))
	}
	write := func(hub, member, secret string) {
		file := filepath.Join(dir, "fleet", "fleet-members", hub, member+".yaml")
		data, err := os.ReadFile(file)
		if err != nil || !memberKey.Match(data) {
			t.Fatalf("%s has no secretManagerSecretName: %v", file, err)
		}
		require.NoError(t, os.WriteFile(file, memberKey.ReplaceAll(data, []byte("secretManagerSecretName: "+secret)), 0o600))
	}
	var clusters []json.RawMessage
	for _, a := range slices.Concat(hubs, spokes) {
		clusters = append(clusters, outputs[a.workspace]["facts"])
	}
	facts, err := json.Marshal(map[string]any{"apiVersion": "argosy.dev/v1alpha1", "kind": "Facts", "clusters": clusters})
	require.NoError(t, err)
	factsFile := filepath.Join(t.TempDir(), "facts.json")
	require.NoError(t, os.WriteFile(factsFile, facts, 0o600))
	lint := func(more ...string) string {
		program, err := filepath.Abs(checkout + "/bin/argosy")
		require.NoError(t, err)
		out, err := exec.CommandContext(t.Context(), program, append([]string{"lint", "--repo", dir, "--facts", factsFile}, more...)...).CombinedOutput()
		if len(out) == 0 {
			t.Fatalf("%v: build it with `make build`", err)
		}
		return string(out)
	}
	secret := func(member string) string { return text(t, outputs[member]["secretManagerSecretName"]) }
	write(hubEU, alone, secret(alone))
	write(hubEU, agent, secret(agent))
	write(hubUS, american, secret(american))
	if out := lint(); !strings.HasPrefix(out, "no problems: ") {
		t.Errorf("with the outputs of Terraform in the members' files, lint says\n%s", out)
	}
	records := t.TempDir()
	for name, a := range map[string]string{"hub-eu/" + alone: alone, "hub-eu/" + agent: agent, "hub-us/" + american: american, "hub-eu/hub-eu": hubEU} {
		writeRecord(t, records, name, text(t, outputs[a]["record"]))
	}
	if out := lint("--records", records); !strings.HasPrefix(out, "no problems: ") {
		t.Errorf("of the records that Terraform has written, lint says\n%s", out)
	}
	changed := strings.NewReplacer(`"server"`, `"servr"`).Replace(text(t, outputs[agent]["record"]))
	writeRecord(t, records, "hub-eu/"+agent, changed)
	file := filepath.Join(records, "hub-eu", agent+".json")
	if got, want := lint("--records", records), fmt.Sprintf(`%[1]s:1:1: error: key "server": is missing; expected address of the API server; not kubernetes.default.svc, the cluster of Argo CD itself [invalid-value]
    hint: terraform/modules/member-record writes a record
    concerns cluster %[2]s of hub hub-eu
%[1]s:1:%[3]d: error: key "servr": is not known in a record; expected one of addons, cluster_name, config, metadata, server [unknown-key]
    hint: did you mean "server"?
    concerns cluster %[2]s of hub hub-eu
2 errors, 0 warnings: 16 clusters of 2 hubs
`, file, agent, strings.Index(changed, `"servr"`)+1); got != want {
		t.Errorf("of a record with a misspelt key, lint says\n%s\nexpected\n%s", got, want)
	}
	write(hubEU, alone, secret(agent))
	write(hubEU, agent, secret(alone))
	out := lint()
	for _, member := range []string{alone, agent} {
		if !regexp.MustCompile(`(?m)^fleet/fleet-members/hub-eu/` + member + `\.yaml:\d+:\d+: error: key "secretManagerSecretName": .*\[forbidden-secret\]$`).MatchString(out) {
			t.Errorf("with the output of another member in the file of %s, lint says\n%s", member, out)
		}
	}
}

// writeRecord writes a record to a folder by the name of its secret.
func writeRecord(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name)+".json")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// golden compares what test/charts goes on with: records by the name that a member's file has for
// them, records of other connections, the facts, and the values of the hub's releases.
func golden(t *testing.T, r *Runner, outputs map[string]map[string]json.RawMessage) {
	t.Helper()
	records, err := r.Records()
	require.NoError(t, err)
	store := map[string]json.RawMessage{}
	for _, record := range records {
		store[record.Name] = json.RawMessage(record.Value)
	}
	members, facts := map[string]string{}, map[string]json.RawMessage{}
	for _, a := range slices.Concat(hubs, spokes) {
		members[a.workspace], facts[a.workspace] = text(t, outputs[a.workspace]["secretManagerSecretName"]), outputs[a.workspace]["facts"]
	}
	releases := map[string]string{}
	all, err := r.cloud.all("helm_release")
	require.NoError(t, err)
	for _, release := range all {
		if values, _ := release.Attributes["values"].([]any); len(values) == 1 && strings.Contains(fmt.Sprint(values[0]), `"`+hubEU+`"`) {
			releases[release.text("chart")] = fmt.Sprint(values[0])
		}
	}
	got, err := json.MarshalIndent(map[string]any{
		"members": members, "store": store, "connections": connections(t, r), "facts": facts, "releases": releases,
	}, "", "  ")
	require.NoError(t, err)
	got = append(got, '\n')
	const file = checkout + "/test/charts/testdata/terraform.json"
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what Terraform makes (-update writes it):\n%s", file, diff)
	}
}

// connections are records of the module member-record for clusters outside of AWS.
func connections(t *testing.T, r *Runner) map[string]json.RawMessage {
	t.Helper()
	out := map[string]json.RawMessage{}
	for name, connection := range map[string]map[string]any{
		"token":       {"bearer_token": "t", "ca_data": "Y2E=", "server_name": "kubernetes", "proxy_url": "http://proxy.example.com:3128"},
		"certificate": {"cert_data": "Y2E=", "key_data": "Y2E=", "insecure": true},
	} {
		outputs, err := r.Apply(t.Context(), "modules/member-record", name, "", map[string]any{
			"cluster_name": "retail-dev-eu-1", "server": "https://retail-dev-eu-1.example.com", "connection": connection,
			"addons": map[string]any{"kubernetes_version": "1.33", "environment": ""}, "metadata": map[string]any{"note": "as text", "nothing": ""},
		})
		require.NoError(t, err)
		out[name] = json.RawMessage(text(t, outputs["json"]))
	}
	return out
}

// mistakes are refused before anything is written, with their place, and all else can be applied.
func mistakes(t *testing.T, r *Runner) {
	t.Helper()
	before := contents(t, string(r.cloud))
	with := func(a application, changes map[string]any) application {
		variables := map[string]any{}
		for _, from := range []map[string]any{a.variables, changes} {
			for key, value := range from {
				variables[key] = value
			}
		}
		a.variables = variables
		return a
	}
	in := func(a application, workspace string) application {
		a.workspace = workspace
		return a
	}
	for name, c := range map[string]struct {
		application
		want []string
	}{
		"another cluster's variables in this one's workspace": {
			with(spokes[0], map[string]any{"name": agent}), []string{"on variables.tf line 1:", "name: expected the name of the workspace, analytics-dev-eu-1, or none"},
		},
		"no workspace and no name":  {in(spokes[0], "default"), []string{"on variables.tf line 1:", "in the workspace default, a name."}},
		"a hub without a workspace": {in(hubs[0], "default"), []string{"on variables.tf line 1:", "in the workspace default, a name."}},
		"a name too long for roles": {in(spokes[0], strings.Repeat("a", 48)), []string{"on variables.tf line 1:", "at most 47 characters: roles are named <name>-external-secrets"}},
		"a hub that is not there":   {in(with(spokes[0], map[string]any{"hub": map[string]any{"name": "hub-ap", "region": "eu-west-1"}}), "new"), []string{"on main.tf line", "ParameterNotFound: /fleet/hub-ap/argo-cd-role-arn"}},
		"no label": {in(with(spokes[0], map[string]any{"addons": map[string]any{"ring": "a b"}}), "new"), []string{
			"on ../modules/registration/main.tf line", "addons: expected values of labels",
		}},
	} {
		_, err := r.Apply(t.Context(), c.wrapper, c.workspace, c.account, c.variables)
		for _, want := range c.want {
			if err == nil || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), want) {
				t.Errorf("%s: %v; expected %q", name, err, want)
			}
		}
	}
	if diff := cmp.Diff(before, contents(t, string(r.cloud))); diff != "" {
		t.Errorf("what was refused has changed the cloud:\n%s", diff)
	}
	for _, a := range spokes {
		if _, err := r.Apply(t.Context(), a.wrapper, a.workspace, a.account, a.variables); err != nil {
			t.Error(err)
		}
	}
}

// contents are the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		out[file] = string(bytes.TrimSpace(data))
		return err
	})
	require.NoError(t, err)
	return out
}

// TestMistakesInAModulesArguments: who calls the module with an argument too few or too many gets
// the place and a hint.
func TestMistakesInAModulesArguments(t *testing.T) {
	t.Parallel()
	r := runner(t)
	write := func(text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Join(r.Dir, "mine"), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(r.Dir, "mine", "main.tf"), []byte(text), 0o600))
		if _, err := r.Run(t.Context(), "mine", "", "get"); err != nil {
			t.Fatal(err)
		}
	}
	const begin = "module \"record\" {\n  source       = \"../modules/member-record\"\n  cluster_name = \"edge-1\"\n"
	for rest, want := range map[string]string{
		"  connection   = { bearer_token = \"t\" }\n}\n":                                                     `on main.tf line 1, in module "record": 1: module "record" { The argument "server" is required, but no definition was found.`,
		"  server       = \"https://a\"\n  addon        = {}\n}\n":                                           `on main.tf line 5, in module "record": 5: addon = {} An argument named "addon" is not expected here. Did you mean "addons"?`,
		"  server       = \"https://a\"\n  connection   = { bearer_token = \"t\", ca_date = \"Y2E=\" }\n}\n": `on main.tf line 5, in module "record": 5: connection = { bearer_token = "t", ca_date = "Y2E=" } The object type for input variable "connection" does not include an attribute named "ca_date", so this definition is unused. Did you mean to set attribute "ca_data" instead?`,
	} {
		write(begin + rest)
		out, err := r.Run(t.Context(), "mine", "", "plan", "-input=false")
		all := string(out)
		if err != nil {
			all = err.Error()
		}
		if !strings.Contains(strings.Join(strings.Fields(all), " "), want) {
			t.Errorf("%s\nis answered by\n%s\nexpected %s", rest, all, want)
		}
	}
}

// TestPage runs the commands of docs/how-to/terraform.md with the files that it writes. Beyond the
// page, the tests do not ask, and `tofu get` is in the place of `tofu init`, which would ask the
// registry for the providers.
func TestPage(t *testing.T) {
	t.Parallel()
	r := runner(t)
	page, err := os.ReadFile(checkout + "/docs/how-to/terraform.md")
	require.NoError(t, err)
	for _, file := range regexp.MustCompile("(?s)```hcl\n# terraform/(\\S+)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		require.NoError(t, os.WriteFile(filepath.Join(r.Dir, filepath.FromSlash(file[1])), []byte(file[2]), 0o600))
	}
	block := regexp.MustCompile("(?s)```console\n(\\$ cd terraform/hub.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no commands")
	}
	folder, out, ran := "", "", 0
	for line := range strings.Lines(string(block[1])) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if !is {
			if strings.TrimSpace(line) != strings.TrimSpace(out) {
				t.Errorf("the page has %q, printed was %q", line, out)
			}
			continue
		}
		if dir, rest, is := strings.Cut(command, " && "); is {
			folder, command = filepath.Base(strings.TrimPrefix(dir, "cd ")), rest
		}
		args := strings.Fields(command)[1:]
		switch args[0] {
		case "init":
			args = []string{"get"}
		case "apply":
			args = append(args, "-auto-approve", "-input=false")
		}
		printed, err := r.Run(t.Context(), folder, platform, args...)
		require.NoError(t, err)
		out = string(printed)
		ran++
	}
	if ran < 7 {
		t.Errorf("%d commands were found", ran)
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	if out, err := runner(t).Run(t.Context(), "", "", "fmt", "-check", "-diff", "-recursive"); err != nil {
		t.Error(err, string(out))
	}
}

// TestModule runs the tests that the module member-record has of its own.
func TestModule(t *testing.T) {
	t.Parallel()
	r := runner(t)
	for _, args := range [][]string{{"init", "-input=false"}, {"test"}} {
		if _, err := r.Run(t.Context(), "modules/member-record", "", args...); err != nil {
			t.Error(err)
		}
	}
}
