package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

var inputProviders = schema.GroupVersionResource{Group: "fluxcd.controlplane.io", Version: "v1", Resource: "resourcesetinputproviders"}

// TestFluxOperator proves docs/how-to/flux-operator.md: Flux Operator asks the service for the
// components of a member, by HTTPS with a token, and its ResourceSet, as the page has it, makes a
// HelmRelease of each. A value that changes in Git changes one of them; what leaves the response
// stays; and nothing changes while the service is away.
func TestFluxOperator(t *testing.T) {
	hubs.beside(t, 90)
	const component = "metrics-server"
	m := startFlux(t, fluxMember, []string{fluxMember}, []string{fluxMember}, "flux-operator")
	t.Cleanup(func() { t.Logf("\n%s", m.table()) })
	certificate, key := shortLived(t, 24*time.Hour)
	service := m.answers(t, certificate, key)
	m.startOperator(t)
	began := time.Now()
	authority, err := os.ReadFile(certificate)
	must(t, err)
	must(t, m.Client.Apply(t.Context(), flux.Namespace, fmt.Appendf(nil,
		"{apiVersion: v1, kind: Secret, metadata: {name: argosy-token}, stringData: {token: %q}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: argosy-ca}, stringData: {ca.crt: %q}}\n", operatorToken, authority)))
	port := service.url[strings.LastIndex(service.url, ":")+1:]
	must(t, m.Client.Apply(t.Context(), flux.Namespace, []byte(strings.Replace(m.page(t, "ResourceSetInputProvider"), "generator-plugin.argocd.svc:8080", "localhost:"+port, 1))))
	m.queried(t, "")
	must(t, m.Client.Apply(t.Context(), flux.Namespace, []byte(m.page(t, "ResourceSet"))))
	answered := m.ofRepositories(t)
	m.allReady(t, answered)
	m.timed("the page's objects applied, to all HelmReleases ready", began)
	m.hasValues(t, answered)
	if there, err := m.Client.List(t.Context(), flux.HelmReleases, flux.Namespace, ""); err != nil || len(there) != len(answered) {
		t.Errorf("there are %d HelmReleases of %d components (%v)", len(there), len(answered), err)
	}

	m.watch(t)
	mark, before := m.ledger.mark(), m.uids()
	must(t, m.fleet.Write(fluxLevel+component+"/values.yaml", "podLabels: {by: operator}\n"))
	began = m.push(t, "A label for "+component)
	m.queried(t, "")
	m.eventually(t, "the value on the member", func() string {
		m.query(t)
		if m.value(t, fluxMember, component, "podLabels", "by") != "operator" {
			return "it is not there"
		}
		return ""
	})
	m.timed("push to the value on the member", began)
	m.only(t, mark, func(c change) bool {
		return c.what == "changed" && (c.name == component+"-"+fluxMember || c.name == component+"-values")
	})

	must(t, m.fleet.Write("addons/tenants/analytics/clusters/"+fluxMember+"/application-sets/addons.yaml", component+": {enabled: false}\n"))
	m.push(t, component+" is switched off")
	m.eventually(t, "the input is gone", func() string {
		m.query(t)
		if said := fmt.Sprint(m.get(t, inputProviders, "argosy-addons").Object["status"]); strings.Contains(said, component+"-"+fluxMember) {
			return "it is there"
		}
		return ""
	})
	service.kill()
	m.queried(t, "connection refused")
	m.notRecreated(t, before)
	if m.get(t, flux.HelmReleases, component+"-"+fluxMember) == nil {
		t.Errorf("%s has left the response, and is gone", component)
	}
}

const operatorToken = "0123456789abcdef0123456789abcdef"

// answers runs the service on the fleet's folder, for HTTPS.
func (m *fluxEngine) answers(t *testing.T, certificate, key string) *replica {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(token, []byte(operatorToken), 0o600))
	return startService(t, listeningAt, "--source", m.git.URL("fleet"), "--interval", "1s", "--hub", fluxHub, "--token-file", token, "--facts", m.facts(), "--tls-cert", certificate, "--tls-key", key)
}

// startOperator runs Flux Operator as its chart does. It wants FIPS mode.
func (m *fluxEngine) startOperator(t *testing.T) {
	t.Helper()
	must(t, m.Client.Define(t.Context(), filepath.Join(m.Binaries.Files("flux-operator"), "crds")))
	binary, err := m.Binaries.Find("flux-operator")
	must(t, err)
	metrics, err := process.FreePort()
	must(t, err)
	health, err := process.FreePort()
	must(t, err)
	_, err = m.Group.Start(t.Context(), process.Spec{
		Name: "flux-operator", Path: binary,
		Args: []string{
			"--metrics-addr", "127.0.0.1:" + strconv.Itoa(metrics), "--health-addr", "127.0.0.1:" + strconv.Itoa(health),
			"--storage-path", t.TempDir(), "--web-server-port", "0", "--enable-leader-election=false", "--requeue-dependency", "1s",
		},
		Env:   []string{"KUBECONFIG=" + m.Kubeconfig, "RUNTIME_NAMESPACE=" + flux.Namespace, "GODEBUG=fips140=on"},
		Ports: []int{metrics, health},
		Ready: process.WaitHTTP("http://127.0.0.1:"+strconv.Itoa(health)+"/readyz", nil),
	})
	must(t, err)
}

// page is the object of a kind as the how-to has it.
func (m *fluxEngine) page(t *testing.T, kind string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.checkout, "docs", "how-to", "flux-operator.md"))
	must(t, err)
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], "\nkind: "+kind+"\n") {
			return block[1]
		}
	}
	t.Fatalf("docs/how-to/flux-operator.md has no %s", kind)
	return ""
}

// ofRepositories are the member's components of the group addons whose charts are in repositories.
func (m *fluxEngine) ofRepositories(t *testing.T) map[string]set {
	t.Helper()
	var all []set
	m.params(t, &all, "--view", "components", "--group", "addons", "--owner", fluxMember)
	out := map[string]set{}
	for _, c := range all {
		if c.Chart.Path == "" {
			out[c.ApplicationName] = c
		}
	}
	if len(out) < 5 {
		t.Fatalf("%d components are too few to prove anything", len(out))
	}
	return out
}

// query has Flux Operator query the service now.
func (m *fluxEngine) query(t *testing.T) {
	t.Helper()
	must(t, m.flux.Reconcile(t.Context(), inputProviders, flux.Namespace, "argosy-addons"))
}

// queried waits until Flux Operator has queried the service, with an error or without.
func (m *fluxEngine) queried(t *testing.T, problem string) {
	t.Helper()
	m.eventually(t, "Flux Operator has queried the service: "+problem, func() string {
		m.query(t)
		o := m.get(t, inputProviders, "argosy-addons") // whose status has no generation
		ready := fluxCondition(o, "Ready")
		if problem == "" && ready["status"] != "True" || problem != "" && !strings.Contains(fmt.Sprint(ready["message"]), problem) {
			return fmt.Sprint(ready)
		}
		return ""
	})
}
