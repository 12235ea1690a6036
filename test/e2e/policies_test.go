package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kyverno"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

const (
	// Who writes. All may by RBAC: what refuses one is a policy.
	fleetWriter  = "system:serviceaccount:external-secrets:external-secrets"
	argoCDWriter = "system:serviceaccount:argocd:argocd-application-controller"
	somebody     = "somebody"

	secretType = "argocd.argoproj.io/secret-type"

	role     = `{"awsAuthConfig":{"clusterName":"c","roleARN":"arn:aws:iam::123456789012:role/argocd"},"tlsClientConfig":{"caData":"Q0E="}}`
	longLife = ` has %s, a credential that does not expire: use a role (awsAuthConfig or execProviderConfig) instead`
)

// policies are charts/fleet-policies on an API server.
type policies struct {
	*testcluster.Cluster
	engine   string
	checkout string
	users    map[string]kubernetes.Interface
	// objects are the same users'.
	objects map[string]dynamic.Interface
}

// TestPolicies: with validationActions Deny, the API server refuses what charts/fleet-policies is
// there to refuse, says what to do, and admits the rest; with Kubernetes' own policies, and with
// Kyverno's admission controller.
func TestPolicies(t *testing.T) {
	hubs.beside(t, 30)
	t.Run("vap", func(t *testing.T) {
		newPolicies(t, "vap").hold(t)
	})
	t.Run("kyverno", func(t *testing.T) {
		p := newPolicies(t, "kyverno", "kyverno")
		must(t, kyverno.Start(t.Context(), kyverno.Options{Binaries: p.Binaries, Group: p.Group, Cluster: p.Cluster.Cluster}))
		p.hold(t)
	})
}

// newPolicies starts an API server for an engine and its components.
func newPolicies(t *testing.T, engine string, components ...string) *policies {
	t.Helper()
	p := &policies{engine: engine, users: map[string]kubernetes.Interface{}, objects: map[string]dynamic.Interface{}}
	var err error
	p.checkout, err = filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	p.Cluster = testcluster.Start(t, append(components, "argocd-"+argoCD(), "external-secrets")...) // Helm is built with Argo CD's component
	must(t, p.Client.Define(t.Context(), filepath.Join(p.Binaries.Files("external-secrets"), "crds")))
	for _, user := range []string{fleetWriter, argoCDWriter, somebody} {
		config := p.Config()
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
		client, err := kubernetes.NewForConfig(config)
		must(t, err)
		p.users[user] = client
		p.objects[user], err = dynamic.NewForConfig(config)
		must(t, err)
	}
	return p
}

// hold installs the chart and tries what its policies are to hold.
func (p *policies) hold(t *testing.T) {
	for _, namespace := range []string{hub.Namespace, "elsewhere"} {
		must(t, p.Client.Namespace(t.Context(), namespace))
	}
	// What was there before the policies were.
	for _, old := range []*corev1.Secret{secret("old", "repository", ""), clusterAt("old-one", oldServer), clusterAt("old-other", oldServer)} {
		_, err := p.secrets(somebody, hub.Namespace).Create(t.Context(), old, metav1.CreateOptions{})
		must(t, err)
	}
	p.install(t, "Deny")

	t.Run("cluster", p.cluster)
	t.Run("server", p.server)
	t.Run("repository", p.repository)
	t.Run("writer", p.writer)
	t.Run("external", p.external)
	t.Run("update", p.update)
	t.Run("elsewhere", p.elsewhere)
	for name, preset := range presets {
		t.Run(name, func(t *testing.T) { p.preset(t, name, preset) })
	}
	t.Run("warn", p.warn)
}

// allowed are the values of all hubs by which both engines are tried.
const allowed = "clusterSecrets: {inCluster: in-cluster}\nrepositories: {hosts: [git.example, 'git.example:8443']}\nexternalSecrets: {targets: [shared]}\n"

// presets are those of the chart, with the hub's own values, what shows that one is in force, and
// what each admits.
var presets = map[string]struct {
	values string
	probe  policyCase // refused by the preset alone
	cases  []policyCase
}{
	"no-bearer-token": {
		"clusterSecrets: {forbidden: [keyData]}",
		policyCase{config: strings.TrimSuffix(role, "}") + `,"username":"u"}`, refused: fmt.Sprintf(longLife, "username")},
		[]policyCase{
			{config: role},
			{config: strings.TrimSuffix(role, "}") + `,"bearerToken":"t"}`, refused: fmt.Sprintf(longLife, "bearerToken")},
		},
	},
	"ssh-only": {
		"",
		policyCase{data: at("https://git.example/x", "sshPrivateKey", "k"), refused: "the preset ssh-only allows addresses that begin with ssh:// or git@ alone"},
		[]policyCase{
			{data: at("git@git.example:x/y.git", "sshPrivateKey", "k")},
			{data: at("ssh://git@git.example/x", "sshPrivateKey", "k")},
			{data: at("git@git.example:x/y.git", "password", "t"), refused: "the preset ssh-only allows sshPrivateKey alone"},
			{data: at("git@git.example:x/y.git", "githubAppPrivateKey", "k"), refused: "the preset ssh-only allows sshPrivateKey alone"},
		},
	},
	"github-app-only": {
		"",
		policyCase{data: at("https://git.example/x", "sshPrivateKey", "k"), refused: "the preset github-app-only allows githubAppPrivateKey alone"},
		[]policyCase{
			{data: at("https://git.example/x", "githubAppPrivateKey", "k", "githubAppID", "1")},
			{data: at("https://git.example/x", "password", "t"), refused: "the preset github-app-only allows githubAppPrivateKey alone"},
			{data: at("git@git.example:x", "githubAppPrivateKey", "k"), refused: "the preset github-app-only allows addresses that begin with https:// alone"},
		},
	},
	"fleet-hosts": {
		"{repositories: {hosts: null}, fleet: {repositories: ['https://fleet.example/platform/fleet', 'git@code.example:a/b']}}",
		policyCase{data: at("https://git.example/x", "password", "t"), refused: "url is not at an allowed host"},
		[]policyCase{
			{data: at("https://fleet.example/other", "password", "t")},
			{data: at("git@code.example:c/d", "sshPrivateKey", "k")},
			{data: at("https://fleet.example.evil/x", "password", "t"), refused: "url is not at an allowed host"},
		},
	},
	"one-region": {
		"{repositories: {hosts: null}, fleet: {region: eu-west-1}}",
		policyCase{data: at("https://git.example/x", "password", "t"), refused: "url is not at an allowed host"},
		[]policyCase{
			{data: at("https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/x", "password", "t")},
			{data: at("oci://123456789012.dkr.ecr.eu-west-1.amazonaws.com/x", "type", "helm", "password", "t")},
			{data: at("https://git-codecommit.us-east-1.amazonaws.com/v1/repos/x", "password", "t"), refused: "url is not at an allowed host"},
			{data: at("oci://evil.ex:1/ab.dkr.ecr.eu-west-1.amazonaws.com/x", "type", "helm", "password", "t"), refused: "url is not at an allowed host"},
		},
	},
}

// policyCase is a cluster's Secret, or a repository's, and why it is refused.
type policyCase struct {
	config  string
	data    map[string]string
	refused string
}

func (p *policies) try(t *testing.T, c policyCase) error {
	t.Helper()
	if c.config != "" {
		return p.create(t, fleetWriter, secret("preset", "cluster", c.config))
	}
	return p.create(t, fleetWriter, repositorySecret("repository", c.data))
}

// preset: the policies of a preset refuse what it is there to refuse, and admit the rest.
func (p *policies) preset(t *testing.T, name string, preset struct {
	values string
	probe  policyCase
	cases  []policyCase
},
) {
	p.apply(t, "Deny", preset.values, name)
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		if last = p.try(t, preset.probe); !denied(last) || !strings.Contains(last.Error(), preset.probe.refused) {
			return false, nil
		}
		for _, c := range preset.cases { // the preset before it may be in force for a moment longer
			if last = p.try(t, c); c.refused == "" && last != nil {
				return false, nil //nolint:nilerr // not yet
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatalf("the preset is not in force: %v", last)
	}
	for _, c := range preset.cases {
		p.expect(t, fmt.Sprint(c.config, c.data), p.try(t, c), c.refused)
	}
}

// apply installs the chart with the values that the fleet has for its hub: presets and what all
// hubs have at one level, and the hub's own at another.
func (p *policies) apply(t *testing.T, action, own string, presets ...string) {
	t.Helper()
	version, err := p.Client.Typed.Discovery().ServerVersion()
	must(t, err)
	helm := exec.CommandContext(t.Context(), p.Binaries.Path("helm"), "template", "fleet-policies", filepath.Join(p.checkout, "charts", "fleet-policies"),
		"--kube-version", version.GitVersion, "--values", p.delivered(t, action, own, presets))
	helm.Stderr = os.Stderr
	manifests, err := helm.Output()
	must(t, err)
	must(t, p.Client.Apply(t.Context(), "", manifests))
	t.Logf("%s, %s %v, on Kubernetes %s", p.engine, action, presets, version.GitVersion)
}

// delivered is a file with the values that this repository's fleet has for the policies of hub-eu,
// when files of its levels switch them on.
func (p *policies) delivered(t *testing.T, action, own string, presets []string) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"addons", "charts/application-sets", "fleet", "provisioning", "resources", "versions", "workloads"} {
		must(t, os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(p.checkout, folder))))
	}
	for file, text := range map[string]string{
		"addons/control-plane/environments/prod/application-sets/fleet.yaml":              "fleet-policies: {enabled: true}\n",
		"addons/control-plane/defaults/fleet/fleet-policies/values.yaml":                  fmt.Sprintf("engine: %s\nvalidationActions: [%s]\npresets: [%s]\n%s", p.engine, action, strings.Join(presets, ", "), allowed),
		"addons/control-plane/clusters/" + hub.Name + "/fleet/fleet-policies/values.yaml": own + "\n",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o750))
		must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	out, err := exec.CommandContext(t.Context(), argosy, "params", "--repo", dir, "--hub", hub.Name, "--view", "components", "--group", "fleet", "--component", "fleet-policies").Output()
	must(t, err)
	var answer struct {
		Output struct{ Parameters []set }
	}
	must(t, json.Unmarshal(out, &answer))
	if len(answer.Output.Parameters) != 1 || answer.Output.Parameters[0].Name != hub.Name {
		t.Fatalf("the fleet delivers the policies to %v", answer.Output.Parameters)
	}
	file := filepath.Join(dir, "values.yaml")
	must(t, os.WriteFile(file, []byte(answer.Output.Parameters[0].HelmValues), 0o600))
	return file
}

// install applies the chart and waits until all policies refuse.
func (p *policies) install(t *testing.T, action string) {
	t.Helper()
	p.apply(t, action, "")
	var seen []error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		seen = []error{
			p.create(t, somebody, secret("probe", "repository", "")),
			p.create(t, fleetWriter, secret("probe", "cluster", `{"bearerToken":"t"}`)),
			p.create(t, fleetWriter, repositorySecret("repository", map[string]string{"url": "https://other.example/x"})),
			p.createExternal(t, somebody, hub.Namespace, externalSecret("probe", "{}")),
			p.createExternal(t, argoCDWriter, hub.Namespace, externalSecret("probe", `{"target":{"name":"theirs"}}`)),
		}
		return !slices.ContainsFunc(seen, func(err error) bool { return !denied(err) }), nil
	})
	if err != nil {
		t.Fatalf("the policies are not in force: %v; somebody's repository: %v; a cluster's token: %v; another host: %v; somebody's ExternalSecret: %v; one of another's: %v", err, seen[0], seen[1], seen[2], seen[3], seen[4])
	}
}

// cluster: the credentials of a cluster's Secret expire, however its config is written.
func (p *policies) cluster(t *testing.T) {
	with := func(more string) string { return strings.TrimSuffix(role, "}") + "," + more + "}" }
	escape := "has an escape or a character outside of ASCII, by which a key could be hidden"
	for name, c := range map[string]struct{ config, refused string }{
		"role":            {role, ""},
		"program":         {`{"execProviderConfig":{"command":"argocd-k8s-auth","args":["gcp"]}}`, ""},
		"shell":           {`{"execProviderConfig":{"command":"sh","args":["-c","id"]}}`, "config runs another program in Argo CD than argocd-k8s-auth"},
		"token":           {with(`"bearerToken":"t"`), fmt.Sprintf(longLife, "bearerToken")},
		"token-first":     {`{ "bearerToken" : "t",` + role[1:], fmt.Sprintf(longLife, "bearerToken")},
		"token-case":      {with(`"BEARERtoken":"t"`), fmt.Sprintf(longLife, "bearerToken")},
		"token-escaped":   {with(`"bearer\u0054oken":"t"`), escape},
		"token-folded":    {with(`"bearerTo` + "\u212a" + `en":"t"`), escape},
		"user-folded":     {with(`"u\u017fername":"t"`), escape},
		"user":            {with(`"username":"u"`), fmt.Sprintf(longLife, "username")},
		"password":        {with(`"password":"p"`), fmt.Sprintf(longLife, "password")},
		"key":             {`{"awsAuthConfig":{},"tlsClientConfig":{"keyData":"a"}}`, fmt.Sprintf(longLife, "keyData")},
		"nothing":         {`{"tlsClientConfig":{"caData":"Q0E="}}`, "config has none of awsAuthConfig, execProviderConfig: give the cluster a role"},
		"without-config":  {"", "config has none of awsAuthConfig, execProviderConfig: give the cluster a role"},
		"in-cluster":      {"", ""},
		"large-authority": {strings.Replace(role, "Q0E=", strings.Repeat("Q0FD", 8<<10), 1), ""},
	} {
		p.expect(t, name, p.create(t, fleetWriter, secret(name, "cluster", c.config)), c.refused)
	}
	written := secret("text", "cluster", "") // as kubectl and Helm write: the API server makes data of it before it asks
	written.StringData = map[string]string{"config": with(`"bearerToken":"t"`)}
	p.expect(t, "stringData", p.create(t, fleetWriter, written), fmt.Sprintf(longLife, "bearerToken"))
}

// repositories are Secrets of repositories, and why each is refused.
var repositories = map[string]struct {
	kind, refused string
	data          map[string]string
}{
	"repository": {"repository", "", at("https://git.example/x.git", "password", "t", "username", "u")},
	"repo-creds": {"repo-creds", "", at("https://git.example:8443/team/", "type", "git", "githubAppPrivateKey", "k")},
	"ssh":        {"repository", "", at("git@git.example:x/y.git", "sshPrivateKey", "k")},
	"helm":       {"repository", "", at("https://git.example/charts", "type", "helm", "name", "charts")},
	"app":        {"repository", "", at("https://git.example/x", "githubAppEnterpriseBaseUrl", "https://git.example/api/v3")},
	"write":      {"repo-write-creds", "the fleet has no Secrets of this argocd.argoproj.io/secret-type: use cluster, repository, repo-creds", at("https://git.example/x")},
	"push":       {"repository-write", "the fleet has no Secrets of this argocd.argoproj.io/secret-type: use cluster, repository, repo-creds", at("https://git.example/x")},
	"other-host": {"repository", "url is not at an allowed host", at("https://other.example/x")},
	"prefix":     {"repo-creds", "url is not at an allowed host", at("https://git.example")}, // Argo CD would use it for git.example.evil
	"look-alike": {"repository", "url is not at an allowed host", at("https://git.example.evil.example/x")},
	"user":       {"repository", "url is not at an allowed host", at("https://git.example@evil.example/x")},
	"other-port": {"repository", "url is not at an allowed host", at("https://git.example:9/x")},
	"no-url":     {"repository", "url is not at an allowed host", map[string]string{"password": "t"}},
	"app-host":   {"repository", "githubAppEnterpriseBaseUrl, which is sent what the App signs, is not at an allowed host", at("https://git.example/x", "githubAppEnterpriseBaseUrl", "https://evil.example/api")},
	"type":       {"repository", "the fleet has no repositories of this type: use git, helm", at("https://git.example/x", "type", "oci")},
	"bearer":     {"repository", "the fleet has no credentials of this kind: use password, sshPrivateKey, githubAppPrivateKey", at("https://git.example/x", "bearerToken", "t")},
	"insecure":   {"repository", "insecure takes away what protects the credential on its way", at("https://git.example/x", "insecure", "true")},
	"proxy":      {"repository", "proxy takes away what protects the credential on its way", at("https://git.example/x", "proxy", "http://evil.example")},
}

// at are the keys of a repository's Secret.
func at(url string, more ...string) map[string]string {
	data := map[string]string{"url": url}
	for i := 0; i < len(more); i += 2 {
		data[more[i]] = more[i+1]
	}
	return data
}

// repositorySecret is written as kubectl and Helm write: the API server makes data of it before it
// asks.
func repositorySecret(kind string, data map[string]string) *corev1.Secret {
	s := secret("r", kind, "")
	s.Data, s.StringData = nil, data
	return s
}

// repository: only hosts, kinds of credentials and types that the fleet has.
func (p *policies) repository(t *testing.T) {
	for name, c := range repositories {
		p.expect(t, name, p.create(t, fleetWriter, repositorySecret(c.kind, c.data)), c.refused)
	}
}

// warned are the warnings of an API server's answers.
type warned struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader takes one in.
func (w *warned) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// warn: with the chart's own actions nothing is refused, and the client gets a warning of what
// would be.
func (p *policies) warn(t *testing.T) {
	p.apply(t, "Warn, Audit", "")
	config := p.Config()
	heard := &warned{}
	config.Impersonate, config.WarningHandler = rest.ImpersonationConfig{UserName: somebody, Groups: []string{"system:masters"}}, heard
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	p.users[somebody] = client
	token := secret("warned", "cluster", strings.TrimSuffix(role, "}")+`,"bearerToken":"t"}`)
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return p.create(t, somebody, token) == nil, nil
	})
	must(t, err)
	heard.mu.Lock()
	defer heard.mu.Unlock()
	all := strings.Join(heard.texts, "\n")
	for _, text := range []string{notAWriter, fmt.Sprintf(longLife, "bearerToken")} {
		if !strings.Contains(all, text) {
			t.Errorf("nobody is warned with %q:\n%s", text, all)
		}
	}
}

// writer: nobody but the fleet's controllers writes what Argo CD deploys with, and everybody what
// it does not.
func (p *policies) writer(t *testing.T) {
	p.expect(t, "a cluster's Secret", p.create(t, somebody, secret("w", "cluster", role)), notAWriter)
	p.expect(t, "a repository's Secret", p.create(t, somebody, repositorySecret("repository", at("https://git.example/x"))), notAWriter)
	p.expect(t, "a Secret without the label", p.create(t, somebody, secret("w", "", `{"bearerToken":"t"}`)), "")

	err := p.secrets(somebody, hub.Namespace).Delete(t.Context(), "old", metav1.DeleteOptions{})
	p.expect(t, "deletion", err, notAWriter)
}

const notAWriter = somebody + " may not write Secrets that Argo CD deploys with: change them in Git or in the store, and the fleet's controllers write them"

// update: what must not be created must not come by a change, nor by a label.
func (p *policies) update(t *testing.T) {
	for name, kind := range map[string]string{"member": "cluster", "plain": ""} {
		_, err := p.secrets(fleetWriter, hub.Namespace).Create(t.Context(), secret(name, kind, role), metav1.CreateOptions{})
		must(t, err)
	}
	update := func(user string, s *corev1.Secret) error {
		_, err := p.secrets(user, hub.Namespace).Update(t.Context(), s, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	token := strings.TrimSuffix(role, "}") + `,"bearerToken":"t"}`
	p.expect(t, "another role", update(fleetWriter, secret("member", "cluster", role+" ")), "")
	p.expect(t, "a token", update(fleetWriter, secret("member", "cluster", token)), fmt.Sprintf(longLife, "bearerToken"))
	p.expect(t, "somebody's change", update(somebody, secret("member", "cluster", role+" ")), notAWriter)
	p.expect(t, "the label taken away", update(somebody, secret("member", "", role)), notAWriter)
	p.expect(t, "the label taken away by a controller", update(fleetWriter, secret("member", "", role)), "")
	p.expect(t, "the label added", update(somebody, secret("plain", "cluster", role)), notAWriter)
	p.expect(t, "the label added to a token", update(fleetWriter, secret("plain", "cluster", token)), fmt.Sprintf(longLife, "bearerToken"))
	write := repositorySecret("repo-write-creds", at("https://git.example/x"))
	write.Name = "old"
	p.expect(t, "another kind", update(fleetWriter, write), "the fleet has no Secrets of this")
	p.expect(t, "no label before and after", update(somebody, secret("plain", "", token)), "")
	p.expect(t, "a controller's deletion", p.secrets(fleetWriter, hub.Namespace).Delete(t.Context(), "member", metav1.DeleteOptions{}), "")
}

// elsewhere: the policies hold in Argo CD's namespace.
func (p *policies) elsewhere(t *testing.T) {
	_, err := p.secrets(somebody, "elsewhere").Create(t.Context(), secret("any", "cluster", `{"bearerToken":"t"}`), metav1.CreateOptions{})
	p.expect(t, "a Secret of another namespace", err, "")
}

func (p *policies) secrets(user, namespace string) typedv1.SecretInterface {
	return p.users[user].CoreV1().Secrets(namespace)
}

// create asks the API server as a user, and leaves nothing there.
func (p *policies) create(t *testing.T, user string, s *corev1.Secret) error {
	t.Helper()
	_, err := p.secrets(user, hub.Namespace).Create(t.Context(), s, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// expect wants a policy's refusal with this text, or none.
func (p *policies) expect(t *testing.T, what string, err error, refused string) {
	t.Helper()
	switch {
	case refused == "" && err != nil:
		t.Errorf("%s: %v; expected it to be admitted", what, err)
	case refused != "" && (!denied(err) || !strings.Contains(strings.ReplaceAll(err.Error(), "''", "'"), refused)): // Kyverno quotes
		t.Errorf("%s: %v; expected a refusal with %q", what, err, refused)
	}
}

// denied tells a refusal of admission from other errors: Kyverno's is a 400.
func denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "denied the request")
}

func secret(name, kind, config string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"name": []byte(name)}}
	if kind != "" {
		s.Labels = map[string]string{secretType: kind}
	}
	if config != "" {
		s.Data["config"] = []byte(config)
	}
	return s
}
