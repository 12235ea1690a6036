// Package services stands in for a cluster's DNS and for its nodes, which lead a Service's address
// to its pods. Here is neither, so what a cluster's processes ask by HTTP goes through a proxy:
//
//  1. What is asked of a Service by its name (NAME.NAMESPACE.svc:PORT) goes to the pod that runs
//     here, if the Service exists, has that port and selects that pod.
//  2. Everything else is refused, and so is TLS, which no pod here speaks. What is on 127.0.0.1 no
//     client asks a proxy for.
package services

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
)

// Proxy is an HTTP proxy that knows a cluster's Services.
type Proxy struct {
	URL string // for HTTP_PROXY and HTTPS_PROXY

	client *kube.Client
	pod    atomic.Pointer[pod]
	server *http.Server
}

// pod is what a Service may lead to.
type pod struct {
	url    string
	labels map[string]string
}

// Start starts the proxy of a cluster; it ends with Close. Pods are added afterwards.
func Start(ctx context.Context, client *kube.Client) (*Proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy to the cluster's services: %w", err)
	}
	p := &Proxy{URL: "http://" + listener.Addr().String(), client: client}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 30 * time.Second}
	go func() { _ = p.server.Serve(listener) }() // ends with Close
	return p, nil
}

// Serve has the Services that select a pod with these labels lead to a URL, in place of the
// previous pod.
func (p *Proxy) Serve(url string, labels map[string]string) { p.pod.Store(&pod{url, labels}) }

// Close ends the proxy.
func (p *Proxy) Close() error { return p.server.Close() }

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target, err := p.resolve(r.Context(), r.URL.Host)
	if err == nil && r.Method == http.MethodConnect {
		err = errors.New("the pod speaks no TLS")
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("%s: %v", r.URL.Host, err), http.StatusBadGateway)
		return
	}
	(&httputil.ReverseProxy{
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(target)
			out.Out.Host = r.Host
		},
		// The pod is away: the next request says so.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}).ServeHTTP(w, r)
}

// resolve is where a Service's only pod is.
func (p *Proxy) resolve(ctx context.Context, host string) (*url.URL, error) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(name, ".")
	if len(parts) != 3 || parts[2] != "svc" {
		return nil, errors.New("no such host: expected NAME.NAMESPACE.svc:PORT")
	}
	service, err := p.client.Typed.CoreV1().Services(parts[1]).Get(ctx, parts[0], metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(service.Spec.Ports, func(sp corev1.ServicePort) bool { return strconv.Itoa(int(sp.Port)) == port }) {
		return nil, fmt.Errorf("the Service has no port %s", port)
	}
	pod := p.pod.Load()
	if pod == nil || !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.labels)) {
		return nil, errors.New("the Service has no pod")
	}
	return url.Parse(pod.url)
}
