package registry

import (
	"regexp"
	"strings"
)

// latest is the tag of the served state.
const latest = "latest"

// Reference names the content of a repository that a request is about.
type Reference struct {
	// Repository is flux/<hub>/<owner>.
	Repository, Hub, Owner string
	kind                   string // manifests, blobs or tags
	name                   string // a tag, a digest or "list"
}

var path = regexp.MustCompile(`^/v2/(flux/([^/]+)/([^/]+))/(manifests|blobs|tags)/([^/]+)$`)

// Parse reads the path of a request below /v2/.
func Parse(urlPath string) (r Reference, ok bool) {
	m := path.FindStringSubmatch(urlPath)
	if m == nil {
		return r, false
	}
	return Reference{m[1], m[2], m[3], m[4], m[5]}, true
}

// byDigest reports whether the reference names content rather than a tag.
func (r Reference) byDigest() bool { return strings.HasPrefix(r.name, "sha256:") }

var unfitInTags = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// tagOf returns a revision as a tag; the revision of a folder becomes sha256-...
func tagOf(revision string) string {
	tag := strings.TrimLeft(unfitInTags.ReplaceAllString(revision, "-"), ".-")
	return tag[:min(len(tag), 128)]
}
