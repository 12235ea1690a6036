package checks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/rollout"
)

// Client carries out checks. It may be used by several goroutines.
type Client struct {
	allowed []origin
	http    *http.Client
}

// origin is an allowed scheme and host, with one port or all of them.
type origin struct{ scheme, host, port string }

// New makes a client that queries only allowed hosts: HOST or HOST:PORT by https, or an origin such
// as http://prometheus.monitoring:9090.
func New(allowed []string) (*Client, error) {
	c := &Client{}
	for _, text := range allowed {
		full := text
		if !strings.Contains(text, "://") {
			full = "https://" + text
		}
		u, err := url.Parse(full)
		if err != nil || u.Hostname() == "" || strings.Contains(u.Host, "*") || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "" {
			return nil, fmt.Errorf("%q is not a host of checks; expected HOST, HOST:PORT or an origin such as http://prometheus.monitoring:9090", text)
		}
		c.allowed = append(c.allowed, origin{u.Scheme, strings.ToLower(u.Hostname()), u.Port()})
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: c.dial, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 30 * time.Second,
			MaxIdleConns: 20, MaxConnsPerHost: 4, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// Look carries out a check once.
func (c *Client) Look(ctx context.Context, check rollout.Check) rollout.CheckOutcome {
	ctx, cancel := context.WithTimeout(ctx, check.Timeout)
	defer cancel()
	why, fails := c.look(ctx, check)
	if why == "" {
		return rollout.CheckOutcome{}
	}
	return rollout.CheckOutcome{Why: fmt.Sprintf("check %q: %s", check.Name, why), Fails: fails}
}

func (c *Client) look(ctx context.Context, check rollout.Check) (why string, fails bool) {
	u, err := url.Parse(check.URL)
	if err != nil || u.Host == "" {
		return "its address cannot be read", false
	}
	if !c.allows(u) {
		return fmt.Sprintf("the service may not query %s://%s (--rollout-check-host allows it)", u.Scheme, u.Host), false
	}
	if check.Query != "" {
		u = u.JoinPath("api", "v1", "query")
		u.RawQuery = url.Values{"query": {check.Query}}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "its address cannot be read", false
	}
	response, err := c.http.Do(request)
	if err != nil {
		return unreachable(err), false
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		// A Prometheus server that does not carry out a query leaves its result unknown.
		return fmt.Sprintf("%s responds with status %d; expected 200", u.Host, response.StatusCode), check.Query == ""
	}
	if check.Query == "" {
		return "", false
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	switch {
	case err != nil:
		return unreachable(err), false
	case len(data) > maxBytes:
		return fmt.Sprintf("its response has more than %d bytes, which is the limit", maxBytes), false
	}
	return judge(data, check)
}

// unreachable returns why a request failed, without its address and the server's text.
func unreachable(err error) string {
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		return refused.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "no response within its timeout"
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return "its host is not found"
	}
	return "its host cannot be reached"
}

// allows reports whether the operator allows an address.
func (c *Client) allows(u *url.URL) bool {
	return slices.ContainsFunc(c.allowed, func(o origin) bool {
		port := u.Port()
		return o.scheme == u.Scheme && o.host == strings.ToLower(u.Hostname()) && (o.port == "" || o.port == port || port == "" && o.port == ports[u.Scheme])
	})
}

// ports holds the default port of each scheme.
var ports = map[string]string{"http": "80", "https": "443"}

// refusedError reports an address to which a host name must not resolve.
type refusedError struct {
	host string
	at   netip.Addr
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("%s leads to %s, an address of this machine or a link-local one", e.host, e.at)
}

// dial connects to an address. A host name must not resolve to this machine or a link-local one.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err != nil { // a name
		d.ControlContext = func(_ context.Context, _, to string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(to)
			if err != nil {
				return err
			}
			if a := at.Addr().Unmap(); !a.IsGlobalUnicast() {
				return &refusedError{host, a}
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, address)
}
