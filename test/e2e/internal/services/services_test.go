package services_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
	"github.com/argosy-hub/argosy/test/e2e/internal/services"
)

// A name leads to the pod that the Service of that name selects, on a port that it has, and nothing
// else does (1, 2).
func TestProxy(t *testing.T) {
	t.Parallel()
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		_, _ = io.WriteString(w, strings.Join([]string{r.Method, r.Host, r.URL.Path, user, password}, " "))
	}))
	t.Cleanup(pod.Close)
	service := func(name, app string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: name},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": app}, Ports: []corev1.ServicePort{{Port: 8080}}},
		}
	}
	proxy, err := services.Start(t.Context(), &kube.Client{Typed: fake.NewClientset(service("here", "a"), service("elsewhere", "b"))})
	require.NoError(t, err)
	t.Cleanup(func() { _ = proxy.Close() })
	if status, body := ask(t, proxy, "http://here.flux-system.svc:8080/v2/"); status != http.StatusBadGateway {
		t.Errorf("before there is a pod: %d %s; expected 502", status, body)
	}
	proxy.Serve(pod.URL, map[string]string{"app": "a", "more": "labels"})
	if status, body := ask(t, proxy, "http://flux:secret@here.flux-system.svc:8080/v2/x"); status != http.StatusOK || body != "GET here.flux-system.svc:8080 /v2/x flux secret" {
		t.Errorf("the pod was asked: %d %q", status, body)
	}
	for _, address := range []string{
		"http://elsewhere.flux-system.svc:8080/", // selects another pod
		"http://here.flux-system.svc:80/",        // has no such port
		"http://here.argocd.svc:8080/",           // in another namespace
		"http://none.flux-system.svc:8080/",
		"http://charts.example.com:80/",
		"https://here.flux-system.svc:8080/",
	} {
		if status, body := ask(t, proxy, address); status != http.StatusBadGateway {
			t.Errorf("%s: %d %s; expected 502", address, status, body)
		}
	}
}

// ask asks through the proxy. Of one that refuses a tunnel, the client has an error alone.
func ask(t *testing.T, proxy *services.Proxy, address string) (status int, body string) {
	t.Helper()
	via, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	refused := false
	client := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(via),
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
			refused, status = true, r.StatusCode
			return nil
		},
	}}
	t.Cleanup(client.CloseIdleConnections)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	response, err := client.Do(request)
	if refused {
		return status, ""
	}
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}
