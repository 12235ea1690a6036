// Package terraform tests the folder terraform with Terraform itself: the modules without provider
// are tested and applied. The wrappers (terraform/hub, terraform/spokes) need providers of a cloud,
// which nothing here has: they are parsed, and what they refer to is looked up.
package terraform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	jsonschema "github.com/santhosh-tekuri/jsonschema/v6"
)

const folder = "../../terraform"

// run calls Terraform in a folder and returns its output.
func run(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	program, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is not installed: its modules are not run")
	}
	command := exec.CommandContext(t.Context(), program, args...)
	var out, errs bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = dir, &out, &errs
	command.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "NO_COLOR=1", "TF_DATA_DIR="+filepath.Join(t.TempDir(), "data"))
	if err := command.Run(); err != nil {
		t.Fatalf("terraform %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.Bytes()
}

// applied applies a module without a provider and returns its outputs.
func applied(t *testing.T, module string, variables map[string]any) map[string]json.RawMessage {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(variables)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in.tfvars.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	run(t, filepath.Join(folder, "modules", module), "apply", "-auto-approve", "-input=false", "-state="+state, "-var-file="+filepath.Join(dir, "in.tfvars.json"))
	var outputs map[string]struct{ Value json.RawMessage }
	if err := json.Unmarshal(run(t, filepath.Join(folder, "modules", module), "output", "-json", "-state="+state), &outputs); err != nil {
		t.Fatal(err)
	}
	values := map[string]json.RawMessage{}
	for name, o := range outputs {
		values[name] = o.Value
	}
	return values
}

func TestFormat(t *testing.T) { run(t, folder, "fmt", "-check", "-diff", "-recursive") }

func TestModules(t *testing.T) { run(t, filepath.Join(folder, "modules", "member-record"), "test") }

// TestMemberRecordFulfilsTheContract: whatever connection and facts a record is made of, it is one
// that docs/schemas/cluster-secret.json accepts, which is what the chart reads.
func TestMemberRecordFulfilsTheContract(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertContent()
	schema, err := compiler.Compile("../../docs/schemas/cluster-secret.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		connection map[string]any
		config     string
	}{
		"role": {
			map[string]any{"role_arn": "arn:aws:iam::333344445555:role/spoke", "ca_data": "Y2E="},
			`{"awsAuthConfig":{"clusterName":"retail-prod-eu-1","roleARN":"arn:aws:iam::333344445555:role/spoke"},"tlsClientConfig":{"caData":"Y2E="}}`,
		},
		"token": {
			map[string]any{"bearer_token": "t", "ca_data": "Y2E=", "server_name": "kubernetes", "proxy_url": "http://proxy.example.com:3128"},
			`{"bearerToken":"t","proxyUrl":"http://proxy.example.com:3128","tlsClientConfig":{"caData":"Y2E=","serverName":"kubernetes"}}`,
		},
		"certificate": {
			map[string]any{"cert_data": "Y2E=", "key_data": "Y2E=", "insecure": true},
			`{"tlsClientConfig":{"certData":"Y2E=","insecure":true,"keyData":"Y2E="}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			outputs := applied(t, "member-record", map[string]any{
				"cluster_name": "retail-prod-eu-1", "server": "https://api.example.com", "connection": c.connection,
				"aws":    map[string]any{"account_id": "333344445555", "region": "eu-west-1", "vpc_id": "vpc-1"},
				"addons": map[string]any{"kubernetes_version": "1.33", "environment": ""}, "metadata": map[string]any{"note": "as text"},
				"role_arns": map[string]any{"external-dns": "arn:aws:iam::333344445555:role/dns"},
			})
			var record string
			if err := json.Unmarshal(outputs["json"], &record); err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(record))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(value); err != nil {
				t.Error(err)
			}
			var known struct {
				Config           json.RawMessage
				Addons, Metadata map[string]string
			}
			if err := json.Unmarshal([]byte(record), &known); err != nil {
				t.Fatal(err)
			}
			if string(known.Config) != c.config {
				t.Errorf("config is %s, want %s", known.Config, c.config)
			}
			if len(known.Addons) != 1 || known.Metadata["aws_account_id"] != "333344445555" ||
				known.Metadata["aws_role_external_dns"] == "" || known.Metadata["note"] == "" {
				t.Errorf("the record lacks what it is made of: addons %v, metadata %v", known.Addons, known.Metadata)
			}
		})
	}
}

// document is one of IAM, as its grammar has it.
type document struct {
	Version   string
	Statement []struct {
		Effect    string
		Action    []string
		Principal map[string]string            `json:",omitempty"`
		Resource  any                          `json:",omitempty"`
		Condition map[string]map[string]string `json:",omitempty"`
	}
}

// TestTrustGoesBothWaysAndNoFurther: hub and spoke name each other's roles, and nobody else is let
// in: no principal but the two roles, the own account and EKS.
func TestTrustGoesBothWaysAndNoFurther(t *testing.T) {
	const argocd, externalSecrets = "arn:aws:iam::111122223333:role/hub-argocd", "arn:aws:iam::111122223333:role/hub-external-secrets"
	outputs := applied(t, "trust-policies", map[string]any{
		"account_id": "333344445555", "region": "eu-west-1", "argocd_role_arn": argocd, "external_secrets_role_arn": externalSecrets,
		"spoke_role_arns": []string{"arn:aws:iam::333344445555:role/fleet-spoke-a"}, "secret_arns": []string{"arn:aws:secretsmanager:eu-west-1:333344445555:secret:fleet/*"},
		"key_arns": []string{"arn:aws:kms:eu-west-1:333344445555:key/1"},
	})
	var texts map[string]string
	if err := json.Unmarshal(outputs["documents"], &texts); err != nil {
		t.Fatal(err)
	}
	principals := map[string]string{
		"pod_identity": "pods.eks.amazonaws.com", "assume_spokes": "", "read_records": "", "spoke_role": argocd, "secret": externalSecrets,
		"key": "arn:aws:iam::333344445555:root " + externalSecrets,
	}
	for name, want := range principals {
		decoder := json.NewDecoder(strings.NewReader(texts[name]))
		decoder.DisallowUnknownFields()
		var d document
		if err := decoder.Decode(&d); err != nil {
			t.Errorf("%s is no document of IAM: %v\n%s", name, err, texts[name])
			continue
		}
		var who []string
		for _, s := range d.Statement {
			for _, p := range s.Principal {
				who = append(who, p)
			}
			if d.Version != "2012-10-17" || s.Effect != "Allow" || len(s.Action) == 0 {
				t.Errorf("%s: statement %+v", name, s)
			}
			if resource := fmt.Sprint(s.Resource); len(s.Principal) == 0 && (s.Resource == nil || resource == "*" || resource == "[*]") {
				t.Errorf("%s permits %v on everything", name, s.Action)
			}
		}
		if got := strings.Join(who, " "); got != want {
			t.Errorf("%s: principals %q, want %q", name, got, want)
		}
	}
	if len(texts) != len(principals) {
		t.Errorf("%d documents, tested are %d", len(texts), len(principals))
	}
	if !strings.Contains(texts["pod_identity"], `"aws:SourceAccount":"333344445555"`) {
		t.Errorf("clusters of other accounts may give the role away: %s", texts["pod_identity"])
	}
}

// TestWrappersReferToWhatThereIs: each variable, local, resource, data source and module that a
// wrapper names is declared, and each argument of our modules is one of theirs.
func TestWrappersReferToWhatThereIs(t *testing.T) {
	for _, wrapper := range []string{"hub", "spokes"} {
		text := configuration(t, filepath.Join(folder, wrapper))
		declared := map[string]bool{}
		for _, m := range regexp.MustCompile(`(?m)^(variable|module|resource|data) "([a-z0-9_]+)"(?: "([a-z0-9_]+)")? \{`).FindAllStringSubmatch(text, -1) {
			switch m[1] {
			case "variable":
				declared["var."+m[2]] = true
			case "module":
				declared["module."+m[2]] = true
			case "resource":
				declared[m[2]+"."+m[3]] = true
			case "data":
				declared["data."+m[2]+"."+m[3]] = true
			}
		}
		for _, block := range regexp.MustCompile(`(?s)\nlocals \{\n(.*?)\n\}`).FindAllStringSubmatch("\n"+text, -1) {
			for _, m := range regexp.MustCompile(`(?m)^  ([a-z_]+) +=`).FindAllStringSubmatch(block[1], -1) {
				declared["local."+m[1]] = true
			}
		}
		used := regexp.MustCompile(`\b(?:var|local|module)\.[a-z_0-9]+|\bdata\.[a-z_0-9]+\.[a-z_0-9]+|\b(?:aws|helm)_[a-z_0-9]+\.[a-z_0-9]+`).FindAllString(text, -1)
		if len(used) < 20 {
			t.Errorf("terraform/%s: %d references found", wrapper, len(used))
		}
		for _, reference := range used {
			if !declared[reference] && !declared["data."+reference] {
				t.Errorf("terraform/%s refers to %s, which nothing declares", wrapper, reference)
			}
		}
		for _, m := range regexp.MustCompile(`(?s)\nmodule "([a-z_]+)" \{\n  source = "(\.\./modules/[a-z-]+)"\n(.*?)\n\}`).FindAllStringSubmatch(text, -1) {
			module := configuration(t, filepath.Join(folder, wrapper, m[2]))
			for _, argument := range regexp.MustCompile(`(?m)^  ([a-z_]+) +=`).FindAllStringSubmatch(m[3], -1) {
				if !strings.Contains(module, `variable "`+argument[1]+`" {`) {
					t.Errorf("terraform/%s: module %s has no variable %s", wrapper, m[1], argument[1])
				}
			}
			for _, output := range regexp.MustCompile(`module\.`+m[1]+`\.([a-z_]+)`).FindAllStringSubmatch(text, -1) {
				if !strings.Contains(module, `output "`+output[1]+`" {`) {
					t.Errorf("terraform/%s: module %s has no output %s", wrapper, m[1], output[1])
				}
			}
			if required := regexp.MustCompile(`(?s)\nvariable "([a-z_]+)" \{\n(.*?)\n\}`).FindAllStringSubmatch("\n"+module, -1); len(required) == 0 {
				t.Errorf("module %s has no variables", m[1])
			} else {
				for _, v := range required {
					if !regexp.MustCompile(`(?m)^  default +=`).MatchString(v[2]) && !regexp.MustCompile(`(?m)^  `+v[1]+` +=`).MatchString(m[3]) {
						t.Errorf("terraform/%s: module %s wants %s", wrapper, m[1], v[1])
					}
				}
			}
		}
	}
}

// configuration is the text of a folder's files.
func configuration(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no configuration: %v", dir, err)
	}
	var text strings.Builder
	for _, file := range files {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(part)
		text.WriteString("\n")
	}
	return text.String()
}
