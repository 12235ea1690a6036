package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
)

// services is an HTTP proxy that knows a cluster's Services by their names, as its DNS and its nodes would: what is asked
// of one that exists, has that port and selects the pod that runs here, goes to that one.
type services struct {
	client *kube.Client
	pod    atomic.Pointer[plugin.Plugin]
	server *http.Server
}

// serve starts the proxy and gives its address.
func (s *services) serve(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("proxy to the cluster's services: %w", err)
	}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 30 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // ends with the hub
	return "http://" + listener.Addr().String(), nil
}

func (s *services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target, err := s.resolve(r.Context(), r.URL.Host)
	if err != nil {
		http.Error(w, fmt.Sprintf("%s: %v", r.URL.Host, err), http.StatusBadGateway)
		return
	}
	(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(target)
		p.Out.Host = r.Host
	}}).ServeHTTP(w, r)
}

// resolve is where a Service's only pod is.
func (s *services) resolve(ctx context.Context, host string) (*url.URL, error) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(name, ".")
	if len(parts) != 3 || parts[2] != "svc" {
		return nil, errors.New("no such host: expected NAME.NAMESPACE.svc:PORT")
	}
	service, err := s.client.Typed.CoreV1().Services(parts[1]).Get(ctx, parts[0], metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return strconv.Itoa(int(p.Port)) == port }) {
		return nil, fmt.Errorf("the Service has no port %s", port)
	}
	pod := s.pod.Load()
	if pod == nil || !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels())) {
		return nil, errors.New("the Service has no pod")
	}
	return url.Parse(pod.URL)
}
