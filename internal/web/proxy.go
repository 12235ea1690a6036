package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/argosy-hub/argosy/internal/service/access"
)

// DefaultProxyHeader is the header by which oauth2-proxy names a user's groups.
const DefaultProxyHeader = "X-Forwarded-Groups"

// parseProxies reads addresses and networks.
func parseProxies(list []string) (out []netip.Prefix, err error) {
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, other := netip.ParseAddr(text)
			if other != nil {
				return nil, fmt.Errorf("--web-trusted-proxy %q; expected an address or a network such as 10.0.12.0/24", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// isProxy reports whether a request's peer is a trusted proxy.
func (s *Site) isProxy(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	for _, p := range s.proxies {
		if p.Contains(peer.Addr().Unmap().WithZone("")) {
			return true
		}
	}
	return false
}

// proxied authenticates a request by a trusted proxy: the first of the user's groups that is a
// token's name gives that token's scope. It returns nil without a failure where no trusted proxy
// names groups. The header of any other peer does not count.
func (s *Site) proxied(r *http.Request) (*access.Bearer, *failure) {
	lines := r.Header.Values(s.o.ProxyHeader)
	if len(lines) == 0 || !s.isProxy(r) {
		return nil, nil
	}
	refused := func(format string, args ...any) *failure {
		return &failure{Code: http.StatusForbidden, Message: fmt.Sprintf(format, args...), Hint: "Ask the platform team for a token in the tokens file that has the name of your group and the route \"web\"."}
	}
	if len(lines) > 1 {
		return nil, refused("the header %s is there %d times: the proxy has to replace its users' own", s.o.ProxyHeader, len(lines))
	}
	for group := range strings.SplitSeq(lines[0], ",") {
		if b := s.o.Tokens.Named(strings.TrimSpace(group)); b != nil && b.Route(access.Web) == nil {
			return b, nil
		}
	}
	return nil, refused("none of your groups may see these pages")
}
