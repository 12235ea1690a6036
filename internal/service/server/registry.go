package server

import (
	"errors"
	"net/http"

	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
	"github.com/argosy-hub/argosy/internal/service/registry"
)

// registry responds below /v2/, with errors in the form of the OCI specification.
func (s *Server) registry(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	info(r).expected = registryToken(r) == "" // a client's first request gets the challenge
	f := s.withToken(access.Registry, registryToken, s.pull)(w, r)
	if f == nil {
		return
	}
	if f.Code == http.StatusUnauthorized {
		f.Header = map[string]string{"WWW-Authenticate": `Basic realm="argosy"`}
	}
	recordFailure(r, f)
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	respond(w, f.Code, httpserver.Encode(registry.NewErrorBody(f.Code, f.Message)))
}

// registryToken returns the token: the password of any user, or a bearer token. The challenge is
// only Basic, as clients that see Bearer look for a token service (go-containerregistry v0.21,
// pkg/v1/remote/transport; oras-go v2.5, registry/remote/auth).
func registryToken(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	return access.BearerToken(r)
}

func (s *Server) pull(w http.ResponseWriter, r *http.Request) *failure {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return &failure{Code: http.StatusMethodNotAllowed, Message: "the registry is read-only", Header: map[string]string{"Allow": "GET, HEAD"}}
	}
	if r.URL.Path == "/v2/" || r.URL.Path == "/v2" {
		respond(w, http.StatusOK, []byte("{}\n"))
		return nil
	}
	unknown := func(message string) *failure { return &failure{Code: http.StatusNotFound, Message: message} }
	ref, ok := registry.Parse(r.URL.Path)
	if !ok {
		return unknown("no such repository; expected flux/<hub>/<owner>, where the owner is a member's name or hub")
	}
	st, f := s.state(r)
	if f != nil {
		return f
	}
	auditQuery(r, query.Query{Hub: ref.Hub, Owner: ref.Owner}, st.Fleet)
	if f := httpserver.Denial(bearerOf(r).Repository(ref.Hub, ref.Owner, st.Fleet)); f != nil {
		return f
	}
	if f := ownerOfOthers(r, st, ref.Hub, ref.Owner); f != nil {
		return f
	}
	err := s.artifacts.Serve(w, r, ref, st)
	var missing registry.UnknownError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return unknown(missing.Error())
	}
	f = s.failureFor(r, st, err)
	if f.Code == http.StatusBadRequest { // an owner that has no artifact; otherwise Flux keeps its artifact
		f.Code = http.StatusNotFound
	}
	return f
}
