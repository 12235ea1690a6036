package server

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/access"
	"github.com/argosy-hub/argosy/internal/flux"
	"github.com/argosy-hub/argosy/internal/generator"
)

// latest is the tag of what is being served.
const latest = "latest"

// What has been given away can be asked for by its digest for a while: a client that has read the manifest must find the
// layer, also when a new state has come in between.
const (
	maxKept      = 256
	maxKeptBytes = 64 << 20
)

// registry is a read-only OCI registry (distribution-spec v1.1, pull alone) of artifacts that Flux pulls, one for each
// engine: flux/<hub>/<owner>, with the tags latest and the revision.
type registry struct {
	server *Server

	mu      sync.Mutex
	state   *generator.State
	current map[string]flux.Artifact // of the state, by repository
	kept    []keptBlob               // the newest last
	bytes   int
}

type keptBlob struct {
	repository string
	flux.Blob
}

// registryError is one of the errors of the specification.
type registryError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// serve answers below /v2/. Its failures are those of the specification, which clients show to people.
func (g *registry) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	f := g.authorized(r)
	if f == nil && r.Method != http.MethodGet && r.Method != http.MethodHead {
		f = &failure{code: http.StatusMethodNotAllowed, message: "the registry is read-only", header: map[string]string{"Allow": "GET, HEAD"}}
	}
	if f == nil {
		f = g.server.roomy(g.server.limited(g.pull))(w, r)
	}
	if f == nil {
		return
	}
	noteFailure(r, f)
	for name, value := range f.header {
		w.Header().Set(name, value)
	}
	codes := map[int]string{
		http.StatusUnauthorized: "UNAUTHORIZED", http.StatusForbidden: "DENIED", http.StatusNotFound: "NAME_UNKNOWN",
		http.StatusMethodNotAllowed: "UNSUPPORTED", http.StatusTooManyRequests: "TOOMANYREQUESTS",
	}
	code := codes[f.code]
	if code == "" {
		code = "UNAVAILABLE"
	}
	respond(w, f.code, encode(struct {
		Errors []registryError `json:"errors"`
	}{[]registryError{{code, f.message}}}))
}

// authorized takes the token as a password, whoever's, or as a bearer's. The challenge is Basic alone: clients that see
// Bearer look for a token service (go-containerregistry v0.21, pkg/v1/remote/transport; oras-go v2.5, registry/remote/auth).
func (g *registry) authorized(r *http.Request) *failure {
	presented := bearer(r)
	if _, password, ok := r.BasicAuth(); ok {
		presented = password
	}
	note(r).expected = presented == "" // so clients ask how to authenticate
	f := g.server.admit(r, access.Registry, presented)
	if f != nil && f.code == http.StatusUnauthorized {
		f.header = map[string]string{"WWW-Authenticate": `Basic realm="argosy"`}
	}
	return f
}

var repositoryPath = regexp.MustCompile(`^/v2/(flux/([^/]+)/([^/]+))/(manifests|blobs|tags)/([^/]+)$`)

func (g *registry) pull(w http.ResponseWriter, r *http.Request) *failure {
	if r.URL.Path == "/v2/" || r.URL.Path == "/v2" {
		respond(w, http.StatusOK, []byte("{}\n"))
		return nil
	}
	unknown := func(message string) *failure { return &failure{code: http.StatusNotFound, message: message} }
	m := repositoryPath.FindStringSubmatch(r.URL.Path)
	if m == nil {
		return unknown("no such repository; expected flux/<hub>/<owner>, where the owner is a member's name or hub")
	}
	repository, hub, owner, what, reference := m[1], m[2], m[3], m[4], m[5]
	st, f := g.server.state()
	if f != nil {
		return f
	}
	if f := denied(grant(r).Repository(hub, owner, st.Fleet)); f != nil {
		return f
	}
	isDigest := strings.HasPrefix(reference, "sha256:")
	if isDigest {
		if b, ok := g.find(repository, reference); ok {
			return g.give(w, r, b)
		}
	}
	tags := []string{latest, tagOf(st.Revision)}
	if what == "manifests" && !isDigest && !slices.Contains(tags, reference) {
		return unknown("no such tag; expected " + strings.Join(tags, " or "))
	}
	artifact, f := g.artifact(r, st, repository, hub, owner)
	if f != nil {
		return f
	}
	w.Header().Set("X-Argosy-Revision", st.Revision)
	switch {
	case what == "tags" && reference == "list":
		slices.Sort(tags)
		respond(w, http.StatusOK, encode(struct {
			Name string   `json:"name"`
			Tags []string `json:"tags"`
		}{repository, tags}))
		return nil
	case what == "manifests" && !isDigest:
		return g.give(w, r, artifact.Manifest)
	}
	for _, b := range []flux.Blob{artifact.Manifest, artifact.Config, artifact.Layer} {
		if b.Digest == reference && (what == "blobs" || b.MediaType == flux.ManifestType) {
			return g.give(w, r, b)
		}
	}
	return unknown("no such content here; it may be older than what is kept")
}

// give writes a blob as a whole, or the range that is asked for.
func (g *registry) give(w http.ResponseWriter, r *http.Request, b flux.Blob) *failure {
	h := w.Header()
	h.Set("Content-Type", b.MediaType)
	h.Set("Docker-Content-Digest", b.Digest)
	h.Set("Etag", strconv.Quote(b.Digest))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b.Data))
	return nil
}

// artifact is what an engine is to run by a state.
func (g *registry) artifact(r *http.Request, st *generator.State, repository, hub, owner string) (flux.Artifact, *failure) {
	g.mu.Lock()
	a, ok := g.current[repository]
	ok = ok && g.state == st
	g.mu.Unlock()
	if ok {
		return a, nil
	}
	a, err := flux.Build(st, hub, owner)
	if err != nil {
		return a, g.unavailable(r, st, err)
	}
	if limit := g.server.o.MaxResponseBytes; int64(len(a.Layer.Data)) > limit {
		return a, &failure{code: http.StatusServiceUnavailable, message: fmt.Sprintf(
			"the artifact has %d bytes; the limit is %d (--max-response-bytes)", len(a.Layer.Data), limit)}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state != st {
		g.state, g.current = st, map[string]flux.Artifact{}
	}
	g.current[repository] = a
	g.keep(repository, a.Layer, a.Config, a.Manifest)
	return a, nil
}

// keep remembers blobs; the mutex is held.
func (g *registry) keep(repository string, blobs ...flux.Blob) {
	for _, b := range blobs {
		g.kept = slices.DeleteFunc(g.kept, func(k keptBlob) bool {
			same := k.repository == repository && k.Digest == b.Digest
			if same {
				g.bytes -= len(k.Data)
			}
			return same
		})
		g.kept = append(g.kept, keptBlob{repository, b})
		g.bytes += len(b.Data)
	}
	for len(g.kept) > maxKept || g.bytes > maxKeptBytes && len(g.kept) > len(blobs) {
		g.bytes -= len(g.kept[0].Data)
		g.kept = slices.Delete(g.kept, 0, 1)
	}
}

func (g *registry) find(repository, digest string) (flux.Blob, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, k := range g.kept {
		if k.repository == repository && k.Digest == digest {
			return k.Blob, true
		}
	}
	return flux.Blob{}, false
}

// unavailable is an error of building an artifact: 404 for an owner that has none, 503 when it cannot be made as the fleet
// is; then Flux keeps what it has (G1).
func (g *registry) unavailable(r *http.Request, st *generator.State, err error) *failure {
	f := g.server.failedFor(r, st, err)
	if f.code == http.StatusBadRequest {
		f.code = http.StatusNotFound
	}
	return f
}

var unfitInTags = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// tagOf is a revision as a tag: sha256-... for a folder's.
func tagOf(revision string) string {
	tag := strings.TrimLeft(unfitInTags.ReplaceAllString(revision, "-"), ".-")
	return tag[:min(len(tag), 128)]
}
