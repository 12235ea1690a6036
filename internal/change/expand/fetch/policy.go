package fetch

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// policy judges addresses, and hosts by the addresses that have passed.
type policy struct {
	// allowed are the addresses that flags name (rule 8): a URL with all that is below it, a host
	// with all its ports or one of them, or "*" for every host with a public address.
	allowed []string
	mu      sync.Mutex
	named   map[string]bool // addresses that the base names
	hosts   map[string]bool // host:port of all addresses that have passed
}

// secure are the schemes that need no flag; oci is by https.
var secure = []string{"https", "oci", "ssh"}

// anyHost is the flag for every host.
const anyHost = "*"

// View is what one revision fetches. It is a source.Remote.
type View struct {
	charts *Charts
	base   bool
	named  func() map[string]bool
}

var _ source.Remote = View{}

// Base is the view of the base, which may fetch what it names.
func (c *Charts) Base() source.Remote { return View{charts: c, base: true} }

// Head is the view of the head, which may fetch what the base names: what Base has fetched, or
// named returns, which is called once it is needed.
func (c *Charts) Head(named func() map[string]bool) source.Remote {
	keys := sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for address := range named() {
			if key, ok := addressKey(address); ok {
				out[key] = true
			}
		}
		return out
	})
	return View{charts: c, named: keys}
}

// Chart implements source.Remote.
func (v View) Chart(r source.Reference) (source.Archive, error) {
	if err := v.check(r.RepoURL); err != nil {
		return source.Archive{}, err
	}
	return v.charts.Chart(r)
}

// At implements source.Remote.
func (v View) At(p source.Place) (*snapshot.Snapshot, error) {
	if err := v.check(p.RepoURL); err != nil {
		return nil, err
	}
	return v.charts.At(p)
}

// Values implements source.Remote.
func (v View) Values(at string) ([]byte, error) {
	if err := v.check(at); err != nil {
		return nil, err
	}
	return v.charts.Values(at)
}

// check refuses an address that this view may not fetch.
func (v View) check(address string) error {
	p := &v.charts.policy
	key, ok := addressKey(address)
	if !ok {
		return &source.Unavailable{Detail: "its URL cannot be parsed", Hint: "expected is a URL with a host and without a fragment"}
	}
	if scheme, _, _ := strings.Cut(key, "://"); !slices.Contains(secure, scheme) && !p.allows(key) {
		return &source.Unavailable{
			Detail: fmt.Sprintf("it is not fetched by %s, only by https, oci and ssh", scheme),
			Hint:   fmt.Sprintf("--allow %s fetches it", source.Shown(address)),
		}
	}
	switch {
	case v.base, p.allows(key), p.isNamed(key), v.named()[key]: // named expands the base, which fetches
		p.pass(key, v.base)
	case !slices.Contains(p.allowed, anyHost):
		return &source.Unavailable{
			Detail: fmt.Sprintf("it is not fetched, because the base does not name %s", source.Shown(address)),
			Hint:   "--allow " + source.Shown(address) + " fetches it",
		}
	}
	return nil
}

// isNamed reports whether the base has fetched an address.
func (p *policy) isNamed(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.named[key]
}

// pass notes an address that may be fetched.
func (p *policy) pass(key string, base bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts[hostPort(key)] = true
	if base {
		p.named[key] = true
	}
}

// allows reports whether a flag names an address. By another scheme than the secure ones, it has to
// name the scheme, too.
func (p *policy) allows(key string) bool {
	scheme, rest, _ := strings.Cut(key, "://")
	host, _, _ := strings.Cut(rest, "/")
	return slices.ContainsFunc(p.allowed, func(flag string) bool {
		flagScheme, flagRest, isURL := strings.Cut(flag, "://")
		switch {
		case !isURL:
			return slices.Contains(secure, scheme) && isHost(flag, host)
		case !strings.Contains(flagRest, "/"):
			return flagScheme == scheme && isHost(flagRest, host)
		}
		below, ok := addressKey(flag)
		return ok && (key == below || strings.HasPrefix(key, below+"/"))
	})
}

// isHost reports whether a flag's host, with all its ports or one, is this one.
func isHost(flag, host string) bool {
	flag = strings.ToLower(flag)
	return flag == host || flag == strings.TrimSuffix(host, ":"+host[strings.LastIndexByte(host, ':')+1:])
}

// trusts reports whether a host may have a private address.
func (p *policy) trusts(hostPort string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	host, port, _ := net.SplitHostPort(hostPort)
	return p.hosts[hostPort] || p.allows("https://"+hostPort) || p.allows("http://"+hostPort) || port == "443" && p.allows("https://"+host) || port == "80" && p.allows("http://"+host)
}

// addressKey is equal for the forms of one address: scheme://host/path, without a user, and its
// query below that. An address without a scheme is ssh's as Git has it, or else a registry's. It
// reports false for what has no host for certain: net/url, which requests use, and git have to find
// the same.
func addressKey(address string) (key string, ok bool) {
	if !strings.Contains(address, "://") {
		address = withScheme(address)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" && u.Scheme != "file" || strings.Contains(address, "#") {
		return "", false
	}
	switch u.Scheme {
	case "git+ssh", "ssh+git":
		u.Scheme = "ssh"
	}
	if u.Scheme == "ssh" && strings.Contains(address, "?") {
		return "", false // a part of the host to git
	}
	folder := encodedDot.Replace(u.EscapedPath())
	folder = strings.TrimSuffix(strings.Trim(path.Clean("/"+folder), "/"), ".git")
	key = strings.TrimSuffix(u.Scheme+"://"+strings.ToLower(u.Host)+"/"+folder, "/")
	if u.RawQuery != "" {
		key += "/?" + u.RawQuery
	}
	return key, true
}

// encodedDot undoes a spelling of the folder above.
var encodedDot = strings.NewReplacer("%2e", ".", "%2E", ".")

// withScheme is an address without a scheme as a URL. What has a colon and no port behind is ssh's.
func withScheme(address string) string {
	host, behind, found := strings.Cut(address, ":")
	port, _, _ := strings.Cut(behind, "/")
	if _, err := strconv.ParseUint(port, 10, 16); !found || strings.Contains(host, "/") || err == nil && !strings.Contains(host, "@") {
		return "oci://" + address
	}
	return "ssh://" + host[strings.LastIndexByte(host, '@')+1:] + "/" + behind
}

// hostPort is the host and the port of an address.
func hostPort(key string) string {
	u, err := url.Parse(key)
	if err != nil {
		return ""
	}
	if port := u.Port(); port != "" {
		return net.JoinHostPort(u.Hostname(), port)
	}
	return net.JoinHostPort(u.Hostname(), source.Ports[u.Scheme])
}
