package git

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzAddress: no address makes the reader panic; what follows "user:" in a URL is neither shown
// nor given to Git, and what is accepted is no option and no remote helper of Git's.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{
		"", ".", "https://u:pa55word@host/x.git", "https://host:8443/x?token=pa55word#y", "ssh://git@host:22/x", "git@host:x/y.git", "-oProxyCommand=x@h:y",
		"ext::sh -c x", "ssh::x://y", "https:///x", "https://u:%zz@host/", "file:///x", "ftp://host/x", "git+ssh://u:pa55word@host/x", "HTTPS://host",
	} {
		f.Add(s, "pa55word")
	}
	f.Fuzz(func(t *testing.T, location, password string) {
		a, refused := parseAddress(location)
		if refused == "" && IsURL(location) && (strings.HasPrefix(a.url, "-") || strings.Contains(strings.SplitN(a.url, "/", 2)[0], "::") && !strings.Contains(a.url, "[")) {
			t.Fatalf("%q is given to Git as %q", location, a.url)
		}
		// The same address with a password of which nothing stands elsewhere in it.
		const unlikely = "Zq7-unlikely-"
		u, err := url.Parse(location)
		if err != nil || u.User == nil || !IsURL(u.String()) || strings.Contains(location, unlikely) {
			return
		}
		u.User = url.UserPassword(u.User.Username(), unlikely+password)
		with, fault := parseAddress(u.String())
		for _, text := range []string{with.url, with.display, with.scope, fault} {
			if strings.Contains(text, unlikely) {
				t.Fatalf("%q tells the password: %q", u.String(), text)
			}
		}
	})
}
