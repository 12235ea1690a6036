package e2e

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

const stateNamespace = "argosy-state"

// stateAccess is what charts/generator-plugin allows with state.type: kubernetes.
const stateAccess = `apiVersion: v1
kind: ServiceAccount
metadata: {name: service, namespace: argosy-state}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: state, namespace: argosy-state}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, create, update, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: state, namespace: argosy-state}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: state}
subjects: [{kind: ServiceAccount, name: service, namespace: argosy-state}]
`

// replica is a service that keeps its state in Kubernetes.
type replica struct {
	command *exec.Cmd
	url     string
	read    chan struct{} // closed when all that it said was read
}

// servingAt is what the service says when it serves.
var servingAt = regexp.MustCompile(`^generator-plugin: serving .* at (https?://[^,]+),`)

// replica starts a service and waits until it serves.
func startReplica(t *testing.T, repository, kubeconfig, token string) *replica {
	t.Helper()
	return startService(t, servingAt, "--source", repository, "--token-file", token, "--kubeconfig", kubeconfig, "--state", "kubernetes", "--state-namespace", stateNamespace)
}

// listeningAt is what the service logs when it listens, with or without something to serve.
var listeningAt = regexp.MustCompile(` msg=listening address=(\S+) `)

// startService starts a service of the hub with further arguments, and waits until it prints its
// address.
func startService(t *testing.T, prints *regexp.Regexp, args ...string) *replica {
	t.Helper()
	binary, err := filepath.Abs(filepath.Join("..", "..", "bin", "generator-plugin"))
	must(t, err)
	r := &replica{read: make(chan struct{}), command: exec.CommandContext(t.Context(), binary, append([]string{"--hub", "hub", "--listen", "127.0.0.1:0"}, args...)...)}
	stderr, err := r.command.StderrPipe()
	must(t, err)
	must(t, r.command.Start())
	t.Cleanup(r.kill)
	found := make(chan string, 1)
	go func() {
		defer close(r.read)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			t.Log(lines.Text())
			if m := prints.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
			}
		}
	}()
	select {
	case r.url = <-found:
	case <-time.After(time.Minute):
		t.Fatalf("the service does not print %s", prints)
	}
	return r
}

// kill ends it as an accident does.
func (r *replica) kill() {
	_ = r.command.Process.Kill()
	<-r.read // os/exec: Wait closes the pipe
	_ = r.command.Wait()
}

func (r *replica) ask(t *testing.T) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/api/v1/getparams.execute",
		strings.NewReader(`{"applicationSetName":"x","input":{"parameters":{"view":"components","group":"addons"}}}`))
	must(t, err)
	q.Header.Set("Authorization", "Bearer "+stateToken)
	q.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(q)
	must(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	return string(body)
}

const stateToken = "0123456789abcdef0123456789abcdef"

// sharedState: with the permissions that the chart gives, on a real API server, replicas keep a
// state that takes several ConfigMaps and answer the same bytes while a member is broken. So does
// one that starts when all others were killed.
func sharedState(t *testing.T, cluster *testcluster.Cluster) {
	must(t, cluster.Client.Namespace(t.Context(), stateNamespace))
	must(t, cluster.Client.Apply(t.Context(), "", []byte(stateAccess)))
	kubeconfig, token := filepath.Join(t.TempDir(), "kubeconfig"), filepath.Join(t.TempDir(), "token")
	must(t, cluster.ServiceAccountKubeconfig(t.Context(), stateNamespace, "service", kubeconfig))
	must(t, os.WriteFile(token, []byte(stateToken), 0o600))
	repository := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(repository, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path+".new", []byte(text), 0o600))
		must(t, os.Rename(path+".new", path))
	}
	const member, values = "fleet/fleet-members/hub/a.yaml", "addons/defaults/addons/dns/values.yaml"
	const good = "{clusterName: a, tenant: t, environment: dev, secretManagerSecretName: x}\n"
	write("fleet/fleet-members/hub/hub.yaml", "{clusterName: hub, tenant: p, environment: prod, fleet_member: hub-cluster}\n")
	write("fleet/fleet-members/hub/b.yaml", strings.Replace(good, "a,", "b,", 1))
	write(member, good)
	write("versions/applicationSets.yaml", "releases: {addons: [{type: default, version: v1, chartRepoUrl: r, chartRepo: c, ecrChartName: c}]}\n")
	write("versions/fleetSecrets.yaml", "releases: [{type: default, version: v1, chartRepoUrl: r, chartRepo: c, ecrChartName: c}]\n")
	write("addons/defaults/application-sets/addons.yaml", "dns: {enabled: true, chart: {repoURL: r, name: dns, version: 1.0.0}}\n")
	write(values, "replicas: 1\n")
	for _, name := range []string{"one", "two", "three", "four", "five", "six"} { // more than one ConfigMap holds
		noise := make([]byte, 200<<10)
		_, err := rand.Read(noise)
		must(t, err)
		write("addons/tenants/t/defaults/addons/"+name+"/values.yaml", "text: "+hex.EncodeToString(noise)+"\n")
	}

	first, second := startReplica(t, repository, kubeconfig, token), startReplica(t, repository, kubeconfig, token)
	until := func(what string, ok func() bool) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return ok(), nil })
		if err != nil {
			t.Fatalf("never: %s", what)
		}
	}
	write(values, "replicas: 2\n")
	until("a good commit", func() bool {
		return strings.Contains(first.ask(t), "replicas: 2") && strings.Contains(second.ask(t), "replicas: 2")
	})
	write(member, "clusterName: [\n")
	until("the member broken", func() bool { return strings.Contains(first.ask(t), `"hold":"broken"`) && first.ask(t) == second.ask(t) })
	want := first.ask(t)
	if !strings.Contains(want, `"name":"a"`) {
		t.Fatalf("the member is left out: %s", want)
	}
	maps, err := cluster.Client.Typed.CoreV1().ConfigMaps(stateNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "argosy.dev/state"})
	must(t, err)
	chunks := slices.DeleteFunc(maps.Items, func(m corev1.ConfigMap) bool { return !strings.Contains(m.Name, ".") })
	if len(chunks) < 2 {
		t.Errorf("%d ConfigMaps with chunks", len(chunks))
	}
	first.kill()
	second.kill()
	third := startReplica(t, repository, kubeconfig, token)
	until("what was answered last has been read", func() bool { return !strings.Contains(third.ask(t), "has not been read") })
	if got := third.ask(t); got != want {
		t.Errorf("after a restart: %s, want %s", got, want)
	}
}
