package charts_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// TestPodsTakeWhatPlatformsAdd: names of a private network, containers before the service, objects
// beside it, and relabelings of its metrics.
func TestPodsTakeWhatPlatformsAdd(t *testing.T) {
	objects := rendering{Name: "service"}.objects(t, generatorPlugin, onHub, `
hostAliases: [{ip: 10.0.0.1, hostnames: [git.internal]}]
dnsPolicy: None
strategy: {type: Recreate}
tls: {enabled: true, secretName: tls}
dnsConfig: {nameservers: [10.0.0.2]}
initContainers: [{name: wait, image: "example.com/wait:1"}]
serviceMonitor:
  enabled: true
  relabelings: [{targetLabel: hub, replacement: hub-eu}]
  tlsConfig: {caFile: /ca.crt}
  metricRelabelings: [{action: drop, sourceLabels: [__name__], regex: go_.*}]
extraObjects:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-more"}}
`)
	one[*corev1.ConfigMap](t, objects, "service-more")
	deployment := one[*appsv1.Deployment](t, objects, "service-generator-plugin").Spec
	if deployment.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("strategy %v", deployment.Strategy)
	}
	pod := deployment.Template.Spec
	if len(pod.HostAliases) != 1 || pod.DNSPolicy != corev1.DNSNone || pod.DNSConfig == nil || len(pod.DNSConfig.Nameservers) != 1 {
		t.Errorf("aliases %v, DNS %s %v", pod.HostAliases, pod.DNSPolicy, pod.DNSConfig)
	}
	if len(pod.InitContainers) == 0 || pod.InitContainers[len(pod.InitContainers)-1].Name != "wait" {
		t.Errorf("containers before the service: %v", pod.InitContainers)
	}
	for _, o := range all[*unstructured.Unstructured](objects) {
		if o.GetKind() != "ServiceMonitor" {
			continue
		}
		endpoints, _, _ := unstructured.NestedSlice(o.Object, "spec", "endpoints")
		endpoint, _ := endpoints[0].(map[string]any)
		if endpoint["relabelings"] == nil || endpoint["metricRelabelings"] == nil {
			t.Errorf("endpoint %v", endpoint)
		}
		tls, _, _ := unstructured.NestedStringMap(endpoint, "tlsConfig")
		if tls["caFile"] != "/ca.crt" || tls["serverName"] != "service-generator-plugin.argocd.svc" {
			t.Errorf("TLS of scrapes: %v", tls)
		}
		return
	}
	t.Error("no ServiceMonitor")
}

// TestThePolicyLetsTheServiceMonitorScrape: with a ServiceMonitor the default NetworkPolicy admits
// the pods of the Prometheus Operator, unless the values name others; without one it admits nobody.
func TestThePolicyLetsTheServiceMonitorScrape(t *testing.T) {
	for values, want := range map[string]int{
		"serviceMonitor: {enabled: false}\n": 2, // Argo CD's two callers
		"serviceMonitor: {enabled: true}\n":  3,
		"serviceMonitor: {enabled: true}\nnetworkPolicy: {metricsFrom: [{podSelector: {matchLabels: {app: prometheus}}}]}\n": 3,
	} {
		policy := one[*networkingv1.NetworkPolicy](t, rendering{}.objects(t, generatorPlugin, onHub, values), "")
		from := policy.Spec.Ingress[0].From
		if len(from) != want {
			t.Errorf("%s: %d peers, want %d", values, len(from), want)
			continue
		}
		last := from[len(from)-1].PodSelector.MatchLabels
		byDefault := last["app.kubernetes.io/name"] == "prometheus" && last["app.kubernetes.io/managed-by"] == "prometheus-operator"
		if byDefault != strings.HasSuffix(values, "{enabled: true}\n") {
			t.Errorf("%s: the last peer is %v", values, last)
		}
	}
}

// TestPathsWithOddCharacters: a folder of the volume may have a name that YAML would read as more.
func TestPathsWithOddCharacters(t *testing.T) {
	objects := rendering{}.objects(t, generatorPlugin, "hub: h\nsource: {volume: {emptyDir: {}}, path: 'the fleet: #1'}\n")
	assert.Equal(t, "--source=/source/the fleet: #1", one[*appsv1.Deployment](t, objects, "").Spec.Template.Spec.Containers[0].Args[0], "argument")
}

// TestLabelsOfOddTags: a tag of an image may begin and end as no label may.
func TestLabelsOfOddTags(t *testing.T) {
	for tag, want := range map[string]string{
		"_next.": "next", "1.2.3+build-": "1.2.3_build", strings.Repeat("a", 62) + ".b": strings.Repeat("a", 62), "'1e3'": "1e3",
	} {
		deployment := one[*appsv1.Deployment](t, rendering{}.objects(t, generatorPlugin, onHub, "image: {tag: "+tag+"}\n"), "")
		assert.Equal(t, want, deployment.Labels["app.kubernetes.io/version"], "%s: label", tag)
	}
}

// The pages have a port of their own, which the NetworkPolicy opens for the named peers alone.
func TestPagesHaveAPortOfTheirOwn(t *testing.T) {
	for _, from := range []string{"", "from: [{podSelector: {matchLabels: {app: proxy}}}]"} {
		objects := rendering{Name: "service"}.objects(t, generatorPlugin, onHub, "web: {enabled: true, port: 5000, sourceURL: 'https://git.example.com/{revision}/{file}', trustedProxies: [10.0.12.0/24], "+from+"}\n")
		container := one[*appsv1.Deployment](t, objects, "service-generator-plugin").Spec.Template.Spec.Containers[0]
		args := strings.Join(container.Args, " ")
		assert.Contains(t, args, "--web-probe-interval=45s --web-addr=:5000 --web-source-url=https://git.example.com/{revision}/{file} --web-trusted-proxy=10.0.12.0/24", "arguments")
		if ports := one[*corev1.Service](t, objects, "service-generator-plugin").Spec.Ports; len(ports) != 2 || ports[1].Name != "web" || ports[1].Port != 5000 {
			t.Errorf("ports %v", ports)
		}
		rules := one[*networkingv1.NetworkPolicy](t, objects, "service-generator-plugin").Spec.Ingress
		if len(rules) != 1 && from == "" || from != "" && (len(rules) != 2 || len(rules[1].From) != 1 || rules[1].Ports[0].Port.StrVal != "web") {
			t.Errorf("from %q: %v", from, rules)
		}
	}
	objects := rendering{Name: "service"}.objects(t, generatorPlugin, onHub)
	if ports := one[*corev1.Service](t, objects, "service-generator-plugin").Spec.Ports; len(ports) != 1 {
		t.Errorf("without pages: ports %v", ports)
	}
}
