package web_test

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/web"
)

// Places link into the forge that has the repository, at the revision that the page shows.
func TestPlacesLinkIntoTheForge(t *testing.T) {
	t.Parallel()
	const (
		revision = "2222222222222222222222222222222222222222"
		file     = "addons/tenants/retail/clusters/four/addons/dns/values.yaml"
	)
	for from, want := range map[string]string{
		"https://github.com/acme/fleet.git":                                "https://github.com/acme/fleet/blob/" + revision + "/" + file + "#L1",
		"git@github.example.com:acme/fleet.git":                            "https://github.example.com/acme/fleet/blob/" + revision + "/" + file + "#L1",
		"ssh://git@gitlab.example.com:2222/platform/eu/fleet.git":          "https://gitlab.example.com/platform/eu/fleet/-/blob/" + revision + "/" + file + "#L1",
		"https://gitlab.example.com:8443/platform/fleet":                   "https://gitlab.example.com:8443/platform/fleet/-/blob/" + revision + "/" + file + "#L1",
		"https://user:password@gitea.example.com/platform/fleet.git":       "https://gitea.example.com/platform/fleet/src/commit/" + revision + "/" + file + "#L1",
		"https://codeberg.org/acme/fleet":                                  "https://codeberg.org/acme/fleet/src/commit/" + revision + "/" + file + "#L1",
		"git@bitbucket.org:acme/fleet.git":                                 "https://bitbucket.org/acme/fleet/src/" + revision + "/" + file + "#lines-1",
		"https://git.example.com/view?at={revision}&file={file}&to={line}": "https://git.example.com/view?at=" + revision + "&amp;file=" + file + "&amp;to=1",
		"https://git.example.com/fleet.git":                                "",
		"/srv/fleet":                                                       "",
	} {
		server := site(t, wide(t), func(o *web.Options) { o.SourceURL = from })
		page := strings.ReplaceAll(get(t, server, secret, "/why?cluster=four&group=addons&component=dns").body, "<wbr>", "")
		if got := strings.Contains(page, `href="http`); got != (want != "") || !strings.Contains(page, want) {
			t.Errorf("%s: the page has a link: %t; expected %q", from, got, want)
		}
		if strings.Contains(page, "password") {
			t.Errorf("%s: the page shows its password", from)
		}
	}
}

// An address that no browser should follow is refused at the start.
func TestAddressOfTheForgeIsChecked(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"javascript:alert('{file}')", "data:text/html,{file}", "{file}", "https:///{file}"} {
		if _, err := web.New(web.Options{Fleet: wide(t), Tokens: tokensOf(t), SourceURL: text}); err == nil || !strings.Contains(err.Error(), "--web-source-url") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
