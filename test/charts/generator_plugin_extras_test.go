package charts_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestPodsTakeWhatPlatformsAdd: names of a private network, containers before the service, objects
// beside it, and relabelings of its metrics.
func TestPodsTakeWhatPlatformsAdd(t *testing.T) {
	objects := rendering{Name: "service"}.objects(t, generatorPlugin, onHub, `
hostAliases: [{ip: 10.0.0.1, hostnames: [git.internal]}]
dnsPolicy: None
dnsConfig: {nameservers: [10.0.0.2]}
initContainers: [{name: wait, image: "example.com/wait:1"}]
serviceMonitor:
  enabled: true
  relabelings: [{targetLabel: hub, replacement: hub-eu}]
  metricRelabelings: [{action: drop, sourceLabels: [__name__], regex: go_.*}]
extraObjects:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-more"}}
`)
	one[*corev1.ConfigMap](t, objects, "service-more")
	pod := one[*appsv1.Deployment](t, objects, "service-generator-plugin").Spec.Template.Spec
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
		return
	}
	t.Error("no ServiceMonitor")
}
