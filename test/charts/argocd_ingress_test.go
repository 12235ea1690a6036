package charts_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// The values that each way of exposing starts from.
const (
	onAWS     = "host: cd.example.com\ningress: {class: alb, controller: aws}\n"
	onNginx   = "host: cd.example.com\ngrpc: {host: grpc.cd.example.com}\ningress: {class: nginx, controller: nginx}\n"
	onGateway = "type: gateway\nhost: cd.example.com\ngateway: {parentRefs: [{name: public}]}\n"
)

func TestArgocdIngressGoldens(t *testing.T) { chartGoldens(t, argocdIngress) }

// What the AWS Load Balancer Controller reads as one: the condition's name is that of the Service
// that gRPC goes to, and that Service's path stands before the server's.
func TestArgocdIngressTellsGRPC(t *testing.T) {
	for _, release := range []string{"argocd-ingress", strings.Repeat("x", 53)} {
		objects := rendering{Name: release}.objects(t, argocdIngress, onAWS)
		ingress, service := one[*networkingv1.Ingress](t, objects, ""), one[*corev1.Service](t, objects, "")
		if _, ok := ingress.Annotations["alb.ingress.kubernetes.io/conditions."+service.Name]; !ok {
			t.Errorf("no condition for the Service %s among %v", service.Name, ingress.Annotations)
		}
		paths := ingress.Spec.Rules[0].HTTP.Paths
		if len(paths) != 2 || paths[0].Backend.Service.Name != service.Name || paths[0].Backend.Service.Port.Number != service.Spec.Ports[0].Port {
			t.Errorf("paths %+v", paths)
		}
		assert.Equal(t, "GRPC", service.Annotations["alb.ingress.kubernetes.io/backend-protocol-version"], "annotations of the Service %v", service.Annotations)
	}
}

// An HTTPRoute and a GRPCRoute never have a host name in common: an implementation has to refuse
// one of the two.
func TestArgocdIngressRoutesShareNoHostName(t *testing.T) {
	for _, values := range []string{onGateway, onGateway + "grpc: {host: grpc.cd.example.com}\nextraHosts: [a.example.com]\n", onGateway + "grpc: {enabled: false}\n"} {
		kindOf := map[string]string{}
		for _, object := range all[*unstructured.Unstructured](rendering{}.objects(t, argocdIngress, values)) {
			hosts, _, err := unstructured.NestedStringSlice(object.Object, "spec", "hostnames")
			if err != nil || len(hosts) == 0 {
				t.Errorf("%s has the host names %v, %v", object.GetKind(), hosts, err)
			}
			for _, host := range hosts {
				if other, taken := kindOf[host]; taken {
					t.Errorf("%s is of a %s and of a %s", host, other, object.GetKind())
				}
				kindOf[host] = object.GetKind()
			}
		}
	}
}

// The notes say how to log in.
func TestArgocdIngressNotes(t *testing.T) {
	for values, want := range map[string]string{
		onAWS:                                  "argocd login cd.example.com\n",
		onNginx:                                "argocd login grpc.cd.example.com\n",
		onGateway + "grpc: {enabled: false}\n": "argocd login cd.example.com --grpc-web\n",
		onAWS + "grpc: {enabled: 'false'}\npath: /cd\n": "argocd login cd.example.com --grpc-web-root-path /cd\n",
	} {
		_, notes, err := rendering{}.render(argocdIngress, valuesFile(t, values))
		if err != nil || !strings.Contains(notes, want) {
			t.Errorf("%s: %v, want %q in:\n%s", values, err, want, notes)
		}
	}
}

func TestArgocdIngressBadValues(t *testing.T) {
	for _, c := range []struct{ base, values, message string }{
		{"", "ingress: {controller: aws}", "host is required"},
		{onAWS, "grpc: {host: cd.example.com}", `grpc.host: "cd.example.com" is host, too`},
		{onAWS, "grpc: {enabled: 'false', host: grpc.example.com}", "grpc.host has no effect with grpc.enabled: false"},
		{onAWS, "extraHosts: [cd.example.com]", `extraHosts: "cd.example.com" is host already`},
		{onNginx, "extraHosts: [grpc.cd.example.com]", `extraHosts: "grpc.cd.example.com" is grpc.host already`},
		{onAWS, "path: /cd", `path: "/cd": gRPC has no path`},
		{onAWS, "path: cd", "does not match pattern"},
		{onAWS, "host: https://cd.example.com", "does not match pattern"},
		{onNginx, "tls: {clusterIssuer: letsencrypt}", "tls.secretName is required with tls.clusterIssuer"},
		{onNginx, "tls: {secretName: a}", "tls.grpcSecretName is required: grpc.host has a certificate of its own"},
		{onNginx, "tls: {secretName: a, grpcSecretName: a}", "controllers mix up hosts that share a certificate"},
		{onNginx, "tls: {enabled: false, secretName: a, grpcSecretName: b}", "tls.secretName has no effect with tls.enabled: false"},
		{onNginx, "grpc: {host: ''}", "grpc.host is required with ingress.controller: nginx"},
		{onNginx, "grpc: {host: ''}\nnginx: {sslPassthrough: true}", "nginx.sslPassthrough needs server.insecure: false"},
		{onAWS, "nginx: {sslPassthrough: true}", "nginx.sslPassthrough has an effect with ingress.controller: nginx only"},
		{onGateway, "gateway: {parentRefs: []}", "gateway.parentRefs is required with type: gateway"},
		{onGateway, "server: {insecure: false}", "a route reaches its backends without TLS"},
		{onGateway, "tls: {secretName: a}", "tls.secretName has no effect with type: gateway"},
		{onGateway, "type: ingress", "gateway.parentRefs has an effect with type: gateway only"},
		{onGateway, "gateway: {parentRefs: [{gateway: public}]}", "at '/gateway/parentRefs/0': missing property 'name'"},
		{onAWS, "ingress: {controller: traefik}", "at '/ingress/controller': value must be one of 'aws', 'generic', 'nginx'"},
		{onAWS, "aws: {certificateArn: certificate/1}", "does not match pattern"},
		{onAWS, "ingres: {}", "at '': additional properties 'ingres' not allowed"},
		{onAWS, "server: {httpPort: 0}", "at '/server/httpPort': minimum: got 0, want 1"},
	} {
		t.Run(c.values, func(t *testing.T) { rendering{}.fails(t, c.message, argocdIngress, c.base, c.values) })
	}
}
