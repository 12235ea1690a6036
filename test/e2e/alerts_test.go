package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/monitoring"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
)

// monitored are two pods of the service, and a Prometheus of sorts.
type monitored struct {
	*operated
	pods     map[string]string // addresses by name
	plugins  []*plugin.Plugin
	token    string
	promtool string
	rules    []byte
	slow     *sync.WaitGroup // queries that take their time
}

// cause is what an alert is for. While it lasts, exactly these alerts fire; afterwards none does.
type cause struct {
	name       string
	begin, end func(*testing.T)
	counts     bool // what counts up goes on as it did between two scrapes
	alerts     []string
}

// alerts brings about what each alert of the chart is for, on running services. Then exactly those
// alerts fire over what was scraped, by Prometheus' own engine. Time does not pass: the samples of
// a scrape are repeated.
func alerts(t *testing.T, o *operated) {
	one, two := o.replica(t, "one", o.build()), o.replica(t, "two", o.build())
	m := &monitored{
		operated: o, plugins: []*plugin.Plugin{one, two}, pods: map[string]string{"one": one.URL, "two": two.URL},
		slow: new(sync.WaitGroup), promtool: tool(t, "PROMTOOL"), rules: specOf(t, o.rendered(t, "PrometheusRule", ""), "spec"),
	}
	token, err := one.Token()
	must(t, err)
	m.token = token
	m.fires(t, "nothing is wrong", false)
	for _, c := range m.causes(t) {
		t.Run(c.name, func(t *testing.T) {
			c.begin(t)
			m.fires(t, c.name, c.counts, c.alerts...)
			c.end(t)
			m.fires(t, "it is over", false)
		})
	}
	m.unready(t)
	m.gone(t)
	m.dashboard(t)
	must(t, one.Process.Stop())
}

const applicationOfC = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: dns-c, labels: {argosy.dev/cluster: c, argosy.dev/group: addons, argosy.dev/component: dns, argosy.dev/release: default}}
spec: {project: default, destination: {name: c, namespace: default}, source: {repoURL: https://charts.example.com, chart: dns, targetRevision: 1.0.0}}
`

// slowTemplate takes nearly as long as a template may: with it at four levels, two members take
// seconds.
var slowTemplate = "zone: {{ .annotations.zone }} of {{ .cluster }}\n" +
	"{{- range until 9 }}{{ range until 1000 }}{{ if eq 1 " + strings.Repeat("2 ", 100) + "}}{{ end }}{{ end }}{{ end }}\n"

func (m *monitored) causes(t *testing.T) []cause {
	t.Helper()
	client := m.cluster.Client
	restored := func(t *testing.T) { t.Helper(); m.restore(t) }
	commit := func(name, text string) func(*testing.T) {
		return func(t *testing.T) { t.Helper(); m.write(t, name, text); m.push(t) }
	}
	apply := func(manifest []byte) func(*testing.T) {
		return func(t *testing.T) { t.Helper(); must(t, client.Apply(t.Context(), argocd.Namespace, manifest)) }
	}
	return []cause{
		{
			name:  "Git is down",
			begin: func(t *testing.T) { t.Helper(); must(t, m.git.Down()) }, end: func(t *testing.T) { t.Helper(); must(t, m.git.Up()) },
			alerts: []string{"ArgosySourceStale"},
		},
		{
			name: "a commit is refused", begin: commit("versions/applicationSets.yaml", "<<<<<<< HEAD\n"), end: restored,
			alerts: []string{"ArgosyCommitRefused"},
		},
		{
			name: "a member is quarantined", begin: commit(memberA, "clusterName: [\n"), end: restored,
			alerts: []string{"ArgosyMembersQuarantined"},
		},
		{
			name: "a commit takes long to compute",
			begin: func(t *testing.T) {
				t.Helper()
				for _, level := range []string{"addons/defaults", "addons/tenants/defaults", "addons/tenants/t/defaults", "addons/tenants/t/environments/dev"} {
					m.write(t, level+"/addons/dns/values.yaml.gotmpl", slowTemplate)
				}
				m.push(t)
			},
			end:    restored,
			alerts: []string{"ArgosyComputing"},
		},
		{
			name: "a member with workloads has no good commit",
			begin: func(t *testing.T) {
				t.Helper()
				must(t, client.Apply(t.Context(), argocd.Namespace, []byte(applicationOfC)))
				m.write(t, "fleet/fleet-members/hub/c.yaml", "clusterName: [\n")
				m.push(t)
			},
			end: func(t *testing.T) {
				t.Helper()
				m.restore(t)
				must(t, client.Delete(t.Context(), kube.Applications, argocd.Namespace, "dns-c", metav1.DeletePropagationBackground))
			},
			counts: true, alerts: []string{"ArgosyErrors", "ArgosyMembersRefused"},
		},
		{
			name: "facts would break a response", begin: apply(clusterSecret("a", "")), end: apply(clusterSecret("a", "first")),
			alerts: []string{"ArgosyFactsStale"},
		},
		{
			name: "a cluster Secret is gone",
			begin: func(t *testing.T) {
				t.Helper()
				must(t, client.Delete(t.Context(), kube.Secrets, argocd.Namespace, "b", metav1.DeletePropagationBackground))
			},
			end:    apply(clusterSecret("b", "first")),
			alerts: []string{"ArgosyClusterSecretsGone"},
		},
		{
			name: "a commit removes too much", begin: commit(dnsCatalog, "dns: {enabled: false, chart: {repoURL: r, name: dns, version: 1.0.0}}\n"), end: restored, counts: true,
			alerts: []string{"ArgosyRemovalsRefused"},
		},
		{
			name: "the state cannot be written",
			begin: func(t *testing.T) {
				t.Helper()
				m.patch(t, roles, lastingNamespace, m.rendered(t, "Role", "-state").GetName(), func(o *unstructured.Unstructured) { setVerbs(t, o, "configmaps", "get", "list") })
				m.write(t, dnsValues, "replicas: 3\n")
				m.push(t)
			},
			end: func(t *testing.T) {
				t.Helper()
				must(t, client.ApplyObject(t.Context(), argocd.Namespace, m.rendered(t, "Role", "-state")))
				m.restore(t)
			},
			alerts: []string{"ArgosyStateProblems"},
		},
		{
			name: "queries are slow", begin: m.askSlowly, end: func(*testing.T) { m.slow.Wait() }, counts: true,
			alerts: []string{"ArgosySlow"},
		},
		{
			name: "the token's Secret is empty", begin: func(t *testing.T) { t.Helper(); m.setToken(t, "") }, end: func(t *testing.T) { t.Helper(); m.setToken(t, m.token) },
			alerts: []string{"ArgosyTokensStale"},
		},
		{
			name: "ApplicationSets cannot be annotated",
			begin: func(t *testing.T) {
				t.Helper()
				m.patch(t, roles, argocd.Namespace, m.rendered(t, "Role", "generator-plugin").GetName(), func(o *unstructured.Unstructured) { setVerbs(t, o, "applicationsets", "list", "watch") })
				m.write(t, dnsValues, "replicas: 4\n")
				m.push(t)
			},
			end: func(t *testing.T) {
				t.Helper()
				must(t, client.ApplyObject(t.Context(), argocd.Namespace, m.rendered(t, "Role", "generator-plugin")))
				m.restore(t)
			},
			counts: true, alerts: []string{"ArgosyRefreshesFail"},
		},
	}
}

// unready is the alert of a service that never read a commit, and of a certificate near its end.
func (m *monitored) unready(t *testing.T) {
	t.Helper()
	certificate, key := shortLived(t, 3*24*time.Hour)
	r := startService(t, listeningAt, "--source", t.TempDir(), "--token-file", m.tokenFile(t), "--facts", "none", "--tls-cert", certificate, "--tls-key", key)
	only := *m
	only.pods = map[string]string{"unready": r.url}
	only.fires(t, "a service without a commit, and with a certificate near its end", false, "ArgosyCertificateExpires", "ArgosyNotReady", "ArgosySourceStale")
	m.pods["unready"] = r.url // for the dashboard
}

// gone is what fires when pods are scraped no more.
func (m *monitored) gone(t *testing.T) {
	t.Helper()
	both, err := monitoring.Read(t.Context(), argocd.Namespace, map[string]string{"one": m.pods["one"], "two": m.pods["two"]})
	must(t, err)
	must(t, m.plugins[1].Process.Stop())
	delete(m.pods, "two")
	rest, err := monitoring.Read(t.Context(), argocd.Namespace, map[string]string{"one": m.pods["one"]})
	must(t, err)
	must(t, m.check(t, []monitoring.Phase{{Minutes: 60, Now: both}, {Minutes: 60, Now: rest}}, monitoring.Firing("ArgosyReplicaGone")))
	must(t, m.check(t, []monitoring.Phase{{Minutes: 60, Now: both}, {Minutes: 60}}, monitoring.Firing("ArgosyAbsent")))
}

// dashboard proves that every query of the dashboard has data.
func (m *monitored) dashboard(t *testing.T) {
	t.Helper()
	m.write(t, memberA, "clusterName: [\n") // a problem, for what counts them
	m.push(t)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	data, _, err := unstructured.NestedStringMap(m.rendered(t, "ConfigMap", "-dashboard").Object, "data")
	must(t, err)
	for _, text := range data {
		must(t, json.Unmarshal([]byte(text), &board))
	}
	var wanted []monitoring.Query
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			wanted = append(wanted, monitoring.HasData(strings.NewReplacer("$namespace", ".*", "$__rate_interval", "5m").Replace(target.Expr)))
		}
	}
	if len(wanted) < 20 {
		t.Fatalf("the dashboard has %d queries", len(wanted))
	}
	before := m.scrape(t)
	m.eventually(t, "data for every query of the dashboard", func() string {
		m.askAll(t)
		return reason(m.check(t, []monitoring.Phase{{Minutes: 30, Before: before, Now: m.scrape(t)}}, wanted...))
	})
	m.restore(t)
}

// fires waits until exactly the alerts fire, if all stays as it is for hours. With counts, what
// counts up goes on as it did since the beginning.
func (m *monitored) fires(t *testing.T, what string, counts bool, names ...string) {
	t.Helper()
	before := m.scrape(t)
	m.eventually(t, fmt.Sprintf("%s: %v", what, names), func() string {
		p := monitoring.Phase{Minutes: 150}
		m.askAll(t)
		if counts {
			p.Before = before
		}
		p.Now = m.scrape(t)
		return reason(m.check(t, []monitoring.Phase{p}, monitoring.Firing(names...)))
	})
}

func (m *monitored) scrape(t *testing.T) monitoring.Scrape {
	t.Helper()
	s, err := monitoring.Read(t.Context(), argocd.Namespace, m.pods)
	must(t, err)
	return s
}

func (m *monitored) check(t *testing.T, timeline []monitoring.Phase, q ...monitoring.Query) error {
	t.Helper()
	return monitoring.Check(t.Context(), m.promtool, t.TempDir(), m.rules, timeline, q...)
}

// askAll has each replica asked, as Argo CD does; their codes count.
func (m *monitored) askAll(t *testing.T) {
	t.Helper()
	for _, url := range m.pods {
		if strings.HasPrefix(url, "https:") {
			continue // nothing to ask for
		}
		for _, parameters := range queries {
			_, _, err := query(t.Context(), url, m.token, parameters)
			must(t, err)
		}
	}
}

// slowQuery is longer than a query may take to ArgosySlow, and shorter than the service waits for
// one.
const slowQuery = 6 * time.Second

// askSlowly begins queries that last: their last bytes arrive late, as from a requester whose
// network is slow.
func (m *monitored) askSlowly(t *testing.T) {
	t.Helper()
	text, err := queryText(queries[0])
	must(t, err)
	t.Cleanup(m.slow.Wait)
	for _, url := range slices.Repeat(slices.Collect(maps.Values(m.pods)), 3) {
		body, late := io.Pipe()
		m.slow.Go(func() {
			if code, response, err := post(t.Context(), url, m.token, body); err != nil || code != http.StatusOK {
				t.Errorf("a slow query: %d %s, %v", code, response, err)
			}
		})
		m.slow.Go(func() {
			_, _ = late.Write(text[:1])
			time.AfterFunc(slowQuery, func() {
				_, _ = late.Write(text[1:])
				_ = late.Close()
			})
		})
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// setToken writes the token's Secret, and has the pods see it.
func (m *monitored) setToken(t *testing.T, token string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"data":{"token":%q}}`, base64.StdEncoding.EncodeToString([]byte(token)))
	_, err := m.cluster.Client.Dynamic.Resource(kube.Secrets).Namespace(argocd.Namespace).Patch(t.Context(), "generator-plugin-token", types.MergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
	for _, p := range m.plugins {
		must(t, p.Sync(t.Context()))
	}
}

func (m *monitored) tokenFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(file, []byte(m.token), 0o600))
	return file
}

var roles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}

// patch changes an object as it is on the cluster.
func (m *monitored) patch(t *testing.T, r schema.GroupVersionResource, namespace, name string, edit func(*unstructured.Unstructured)) {
	t.Helper()
	o, err := m.cluster.Client.Get(t.Context(), r, namespace, name)
	must(t, err)
	if o == nil {
		t.Fatalf("there is no %s %s/%s", r.Resource, namespace, name)
	}
	edit(o)
	_, err = m.cluster.Client.Dynamic.Resource(r).Namespace(namespace).Update(t.Context(), o, metav1.UpdateOptions{})
	must(t, err)
}

// setVerbs changes what a Role allows on a resource.
func setVerbs(t *testing.T, role *unstructured.Unstructured, resource string, verbs ...any) {
	t.Helper()
	rules, _, err := unstructured.NestedSlice(role.Object, "rules")
	must(t, err)
	for _, r := range rules {
		if rule := r.(map[string]any); fmt.Sprint(rule["resources"]) == "["+resource+"]" { //nolint:forcetypeassert // rules are maps
			rule["verbs"] = verbs
		}
	}
	must(t, unstructured.SetNestedSlice(role.Object, rules, "rules"))
}

// shortLived is a certificate of 127.0.0.1 for a time.
func shortLived(t *testing.T, lives time.Duration) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "generator-plugin"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lives),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	must(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600))
	return certificate, key
}
