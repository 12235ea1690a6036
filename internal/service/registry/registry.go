package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
)

// Bounds of the content that stays available by its digest.
const (
	maxServed      = 256
	maxServedBytes = 64 << 20
)

// Registry builds, remembers and serves artifacts.
type Registry struct {
	build    Build
	maxLayer int64
	logger   *slog.Logger

	mu      sync.Mutex
	state   *fleetstate.State
	current map[string]flux.Artifact // of the state, by repository
	served  *simplelru.LRU[blobID, flux.Blob]
	bytes   int // of served
	// leftOut lists why the last artifact of a repository left clusters out.
	leftOut map[string][]string
}

// blobID names content within its repository.
type blobID struct{ repository, digest string }

// Build makes an engine's artifact, as flux.Build does.
type Build func(st *fleetstate.State, hub, owner string) (flux.Artifact, error)

// New makes a registry of artifacts whose layers have at most maxLayer bytes. It logs the clusters
// that an artifact leaves out.
func New(build Build, maxLayer int64, logger *slog.Logger) *Registry {
	g := &Registry{build: build, maxLayer: maxLayer, logger: logger}
	var err error
	g.served, err = simplelru.NewLRU(maxServed, func(_ blobID, b flux.Blob) { g.bytes -= len(b.Data) })
	if err != nil {
		panic(err) //nolint:forbidigo // the size is above zero
	}
	return g
}

// UnknownError says that a repository has no such tag or content.
type UnknownError string

// Error returns the message for the client.
func (e UnknownError) Error() string { return string(e) }

// Serve responds to a GET or HEAD request from a state. With an error it has written nothing. It
// returns an error of Build unchanged.
func (g *Registry) Serve(w http.ResponseWriter, r *http.Request, ref Reference, st *fleetstate.State) error {
	if ref.byDigest() {
		if b, ok := g.find(ref); ok {
			serveBlob(w, r, b)
			return nil
		}
	}
	tags := []string{latest, tagOf(st.Revision)}
	if ref.kind == "manifests" && !ref.byDigest() && !slices.Contains(tags, ref.name) {
		return UnknownError("no such tag; expected " + strings.Join(tags, " or "))
	}
	artifact, err := g.artifact(ref, st)
	if err != nil {
		return err
	}
	w.Header().Set("X-Argosy-Revision", st.Revision)
	switch {
	case ref.kind == "tags" && ref.name == "list":
		slices.Sort(tags)
		return serveTags(w, ref.Repository, tags)
	case ref.kind == "manifests" && !ref.byDigest():
		serveBlob(w, r, artifact.Manifest)
		return nil
	}
	for _, b := range []flux.Blob{artifact.Manifest, artifact.Config, artifact.Layer} {
		if b.Digest == ref.name && (ref.kind == "blobs" || b.MediaType == flux.ManifestType) {
			serveBlob(w, r, b)
			return nil
		}
	}
	return UnknownError("no such content here; it may be older than what is kept")
}

// serveBlob writes a blob, or the requested range of it.
func serveBlob(w http.ResponseWriter, r *http.Request, b flux.Blob) {
	h := w.Header()
	h.Set("Content-Type", b.MediaType)
	h.Set("Docker-Content-Digest", b.Digest)
	h.Set("Etag", strconv.Quote(b.Digest))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b.Data))
}

func serveTags(w http.ResponseWriter, repository string, tags []string) error {
	body, err := json.Marshal(struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}{repository, tags})
	if err != nil {
		return err
	}
	body = append(body, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client may be gone
	return nil
}

// artifact returns an engine's artifact in a state; it is built once for each state.
func (g *Registry) artifact(ref Reference, st *fleetstate.State) (flux.Artifact, error) {
	g.mu.Lock()
	a, ok := g.current[ref.Repository]
	ok = ok && g.state == st
	g.mu.Unlock()
	if ok {
		return a, nil
	}
	a, err := g.build(st, ref.Hub, ref.Owner)
	if err != nil {
		return a, err
	}
	if size := int64(len(a.Layer.Data)); size > g.maxLayer {
		return a, fmt.Errorf("the artifact has %d bytes; the limit is %d (--max-response-bytes)", size, g.maxLayer)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.logLeftOut(ref.Repository, a.LeftOut)
	if g.state != st {
		g.state, g.current = st, map[string]flux.Artifact{}
	}
	g.current[ref.Repository] = a
	g.remember(ref.Repository, a.Layer, a.Config, a.Manifest)
	return a, nil
}

// logLeftOut logs the clusters that an artifact leaves out, unless the previous artifact did so for
// the same reason. The caller holds the lock.
func (g *Registry) logLeftOut(repository string, problems []problem.Problem) {
	before := g.leftOut[repository]
	delete(g.leftOut, repository)
	if len(problems) == 0 {
		return
	}
	if g.leftOut == nil || len(g.leftOut) >= maxServed {
		g.leftOut = map[string][]string{}
	}
	for _, p := range problems {
		text := p.Cluster + ": " + p.Error()
		g.leftOut[repository] = append(g.leftOut[repository], text)
		if !slices.Contains(before, text) {
			g.logger.Warn("the artifact leaves a cluster out", "repository", repository, "cluster", p.Cluster, "problem", p.Error())
		}
	}
}

// remember makes blobs available by their digest. The caller holds the lock.
func (g *Registry) remember(repository string, blobs ...flux.Blob) {
	for _, b := range blobs {
		id := blobID{repository, b.Digest}
		g.served.Remove(id)
		g.served.Add(id, b)
		g.bytes += len(b.Data)
	}
	for g.bytes > maxServedBytes && g.served.Len() > len(blobs) {
		g.served.RemoveOldest()
	}
}

func (g *Registry) find(ref Reference) (flux.Blob, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.served.Peek(blobID{ref.Repository, ref.name})
}

var codes = map[int]string{
	http.StatusUnauthorized: "UNAUTHORIZED", http.StatusForbidden: "DENIED", http.StatusNotFound: "NAME_UNKNOWN",
	http.StatusMethodNotAllowed: "UNSUPPORTED", http.StatusTooManyRequests: "TOOMANYREQUESTS",
}

// ErrorBody is the JSON object of a refusal, by the specification. Clients show it to users.
type ErrorBody struct {
	Errors []Error `json:"errors"`
}

// Error is an error as the specification defines it.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// NewErrorBody returns the refusal for an HTTP status.
func NewErrorBody(status int, message string) ErrorBody {
	code := codes[status]
	if code == "" {
		code = "UNAVAILABLE"
	}
	return ErrorBody{[]Error{{code, message}}}
}
