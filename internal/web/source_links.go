package web

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// sourceLinks returns addresses of places in the repository. Its zero value returns none.
type sourceLinks struct{ template string }

// forges holds the templates of the known forges, by a part of the host's name.
var forges = []struct{ host, template string }{
	{"github", "/blob/{revision}/{file}#L{line}"},
	{"gitlab", "/-/blob/{revision}/{file}#L{line}"},
	{"gitea", "/src/commit/{revision}/{file}#L{line}"},
	{"forgejo", "/src/commit/{revision}/{file}#L{line}"},
	{"codeberg", "/src/commit/{revision}/{file}#L{line}"},
	{"bitbucket", "/src/{revision}/{file}#lines-{line}"},
}

// newSourceLinks reads a template, or finds the template of a repository on a known forge. A folder
// and an unknown forge have no addresses.
func newSourceLinks(text string) (sourceLinks, error) {
	if text == "" {
		return sourceLinks{}, nil
	}
	if strings.Contains(text, "{file}") {
		u, err := url.Parse(strings.NewReplacer("{file}", "f", "{line}", "1", "{revision}", "r").Replace(text))
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return sourceLinks{}, fmt.Errorf("--web-source-url %q; expected an address such as https://git.example.com/fleet/blob/{revision}/{file}#L{line}", text)
		}
		return sourceLinks{text}, nil
	}
	host, path := repository(text)
	for _, f := range forges {
		if path != "" && strings.Contains(host, f.host) {
			return sourceLinks{"https://" + host + "/" + path + f.template}, nil
		}
	}
	return sourceLinks{}, nil
}

// repository returns the host and the path of a Git URL: https://host/path, ssh://git@host/path, or
// git@host:path.
func repository(text string) (host, path string) {
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		host, path = u.Host, u.Path
		if u.Scheme != "https" && u.Scheme != "http" {
			host = u.Hostname() // the port is for ssh
		}
	} else if at, rest, ok := strings.Cut(text, ":"); ok && !strings.Contains(at, "/") {
		_, host, _ = strings.Cut(at, "@")
		path = rest
	}
	return strings.ToLower(host), strings.TrimSuffix(strings.Trim(path, "/"), ".git")
}

// of returns the address of a place; empty for none. Places of other revisions are COMMIT:path.
func (l sourceLinks) of(pos problem.Pos, revision string) string {
	if l.template == "" || pos.File == "" || pos.Repository != "" || strings.Contains(pos.File, ":") || strings.HasPrefix(revision, "sha256:") || revision == "" {
		return ""
	}
	revision, _, _ = strings.Cut(revision, "+") // with mounts or --layout, it names more than the commit
	parts := strings.Split(pos.File, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.NewReplacer("{file}", strings.Join(parts, "/"), "{line}", strconv.Itoa(max(1, pos.Line)), "{revision}", url.PathEscape(revision)).Replace(l.template)
}
