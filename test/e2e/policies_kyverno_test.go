package e2e

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
)

// TestPoliciesInKyverno: Kyverno's own engine, as its command has it, says of the same Secrets what the API server says of them
// with Kubernetes' own policies (TestPolicies).
func TestPoliciesInKyverno(t *testing.T) {
	components, err := filepath.Abs("components")
	must(t, err)
	binaries, err := component.Build(t.Context(), component.Options{Root: components, Progress: func(line string) { t.Log(line) }}, "kyverno", "argocd-v2")
	must(t, err)
	k := &kyverno{command: binaries.Path("kyverno"), dir: t.TempDir()}
	chart, err := filepath.Abs(filepath.Join("..", "..", "charts", "fleet-policies"))
	must(t, err)
	helm := exec.CommandContext(t.Context(), binaries.Path("helm"),
		append([]string{"template", "fleet-policies", chart, "--set", "engine=kyverno", "--set", "validationActions={Deny}", "--kube-version", "v1.33.0"}, allowed...)...)
	helm.Stderr = os.Stderr
	manifests, err := helm.Output()
	must(t, err)
	k.policies = k.write(t, "policies.yaml", manifests)

	escaped := strings.TrimSuffix(role, "}") + `,"bearer\u0054oken":"t"}`
	secrets := map[string]*corev1.Secret{
		"role": secret("role", "cluster", role), "token": secret("token", "cluster", strings.TrimSuffix(role, "}")+`,"bearerToken":"t"}`),
		"escaped": secret("escaped", "cluster", escaped), "nothing": secret("nothing", "cluster", `{"tlsClientConfig":{}}`),
		"in-cluster": secret("in-cluster", "cluster", ""), "plain": secret("plain", "", escaped),
	}
	refused := map[string]string{
		"token": " has bearerToken, a credential that does not expire", "escaped": "has an escape or a character outside of ASCII",
		"nothing": "config has none of awsAuthConfig, execProviderConfig",
	}
	for name, c := range repositories {
		s := repositorySecret(c.kind, nil)
		s.Name, s.Data = name, map[string][]byte{}
		for key, value := range c.data {
			s.Data[key] = []byte(value)
		}
		if secrets[name] = s; c.refused != "" {
			refused[name] = c.refused
		}
	}
	elsewhere := secret("elsewhere", "cluster", `{"bearerToken":"t"}`)
	elsewhere.Namespace = "elsewhere"
	secrets["elsewhere"] = elsewhere

	k.check(t, fleetWriter, secrets, refused)
	for name := range secrets {
		refused[name] = notAWriter
	}
	for _, name := range []string{"plain", "elsewhere"} {
		delete(refused, name)
	}
	k.check(t, somebody, secrets, refused)
}

// kyverno is Kyverno's command with policies.
type kyverno struct{ command, dir, policies string }

func (k *kyverno) write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(k.dir, name)
	must(t, os.WriteFile(path, content, 0o600))
	return path
}

// failure is what the command says of one Secret that a rule refuses.
var failure = regexp.MustCompile(`(?m)^policy \S+ -> resource [^/\s]+/Secret/(\S+) failed:\s*\n((?:\d+ - .*\n?)+)`)

// check wants these Secrets refused with these texts when a user creates them, and no others.
func (k *kyverno) check(t *testing.T, user string, secrets map[string]*corev1.Secret, refused map[string]string) {
	t.Helper()
	var resources bytes.Buffer
	for name, s := range secrets {
		s = s.DeepCopy()
		s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
		if s.Name = name; s.Namespace == "" {
			s.Namespace = hub.Namespace
		}
		text, err := yaml.Marshal(s)
		must(t, err)
		resources.WriteString("---\n" + string(text))
	}
	info, err := yaml.Marshal(map[string]any{
		"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "UserInfo", "metadata": map[string]any{"name": "user"}, "userInfo": map[string]any{"username": user},
	})
	must(t, err)
	command := exec.CommandContext(t.Context(), k.command, "apply", k.policies, "--resource", k.write(t, "secrets.yaml", resources.Bytes()),
		"--userinfo", k.write(t, "user.yaml", info), "--remove-color")
	command.Env = append(os.Environ(), "HOME="+k.dir)
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, m := range failure.FindAllStringSubmatch(string(output), -1) {
		said[m[1]] += m[2]
	}
	if !strings.Contains(string(output), "error: 0") || len(said) == 0 {
		t.Fatalf("%s: %v\n%s", user, err, output)
	}
	for name := range secrets {
		if want := refused[name]; !strings.Contains(said[name], want) || want == "" && said[name] != "" {
			t.Errorf("%s, %s: %q; expected %q", user, name, said[name], want)
		}
		delete(said, name)
	}
	if len(said) > 0 {
		t.Errorf("%s: refused besides: %v", user, maps.Keys(said))
	}
}
