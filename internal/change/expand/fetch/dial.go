package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// maxRedirects bounds the redirects of one request.
const maxRedirects = 10

// transport makes connections to public addresses alone, unless the policy trusts the host. It
// judges every connection by the address that it is made to: after each redirect, and whatever a
// name stands for by then.
func (c *Charts) transport(config *tls.Config) http.RoundTripper {
	return &http.Transport{
		Proxy: c.proxy, DialContext: c.dial, TLSClientConfig: config, ForceAttemptHTTP2: true, DisableCompression: true,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 30 * time.Second, MaxIdleConns: 100,
	}
}

// bounded sends the requests for one file: by https alone, unless more is allowed, and no more
// bytes are read than the limit, nor than that of the run.
type bounded struct {
	charts *Charts
	of     *url.URL          // of the repository,
	own    http.RoundTripper // with its certificates
	what   string
	limit  int64
	read   int64
}

// client is a client that leaves credentials behind.
func (c *Charts) client(b *bounded) *http.Client {
	b.charts = c
	return &http.Client{Transport: b, CheckRedirect: leaveCredentials}
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !(r.URL.Scheme == "http" && b.charts.policy.allows("http://"+r.URL.Host)) {
		return nil, &source.Unavailable{
			Detail: fmt.Sprintf("the server leads to %s by %s; only https is followed", r.URL.Host, r.URL.Scheme), Hint: fmt.Sprintf("--allow %s://%s allows it", r.URL.Scheme, r.URL.Host),
		}
	}
	send := b.own
	if b.of != nil && !sameHost(r.URL, b.of) {
		send = b.charts.plain
	}
	resp, err := send.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.ContentLength > b.limit-b.read && r.Method != http.MethodHead {
		resp.Body.Close()
		return nil, &source.Unavailable{Detail: fmt.Sprintf("%s has %d bytes; the limit is %d", b.what, resp.ContentLength, b.limit)}
	}
	resp.Body = boundedBody{resp.Body, b}
	return resp, nil
}

type boundedBody struct {
	io.ReadCloser
	*bounded
}

// Read implements io.Reader.
func (b boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); b.read > b.limit {
		return 0, &source.Unavailable{Detail: fmt.Sprintf("%s has more than %d bytes, which is the limit", b.what, b.limit)}
	}
	if total := b.charts.total.Add(int64(n)); total > maxTotal {
		return 0, &source.Unavailable{Detail: fmt.Sprintf("this run has fetched %d bytes; the limit is %d", total, int64(maxTotal))}
	}
	return n, err
}

// private returns the error for a host that the base does not name and whose address is not public.
func private(host string, at netip.Addr) error {
	return &source.Unavailable{
		Detail: fmt.Sprintf("the server leads to %s, which is at the private address %s, and the base does not name that host", host, at.Unmap()),
		Hint:   "--allow " + host + " allows it",
	}
}

func (c *Charts) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 15 * time.Second}
	if !c.policy.trusts(address) {
		d.ControlContext = func(_ context.Context, _, to string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(to)
			if err != nil {
				return err
			}
			if isPublic(at.Addr()) {
				return nil
			}
			return private(address, at.Addr())
		}
	}
	return d.DialContext(ctx, network, address)
}

// proxy returns the environment's proxy, which may have a private address. It looks names up by
// itself; an address that a redirect leads to is judged here.
func (c *Charts) proxy(r *http.Request) (*url.URL, error) {
	by, err := http.ProxyFromEnvironment(r)
	if by == nil || err != nil {
		return by, err
	}
	to := hostPort(r.URL.Scheme + "://" + r.URL.Host)
	if at, err := netip.ParseAddr(r.URL.Hostname()); err == nil && !isPublic(at) && !c.policy.trusts(to) {
		return nil, private(to, at)
	}
	key := by.Scheme + "://" + by.Host
	c.policy.mu.Lock()
	c.policy.hosts[hostPort(key)] = true
	c.policy.mu.Unlock()
	return by, nil
}

// notPublic are the networks beside those that netip names: of this machine and of carriers, for
// tests and benchmarks, reserved ones, and those that embed another address.
var notPublic = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10")

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, p := range all {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

// isPublic reports whether an address is of the internet.
func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(a) })
}

// leaveCredentials takes a request's credentials and origin away where a redirect leads to another
// host.
func leaveCredentials(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return &source.Unavailable{Detail: fmt.Sprintf("the server redirects more than %d times, which is the limit", maxRedirects)}
	}
	// Each redirect starts with the headers of the first request: one host elsewhere on the way
	// is enough.
	if slices.ContainsFunc(via, func(v *http.Request) bool { return v.URL.Host != r.URL.Host || v.URL.Scheme != r.URL.Scheme }) {
		r.Header.Del("Authorization")
	}
	r.Header.Del("Referer")
	return nil
}
