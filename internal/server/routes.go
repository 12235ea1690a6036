package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/argosy-hub/argosy/internal/access"
)

// handler is everything the server answers.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	open := func(method, path, name string, h http.Handler) {
		mux.Handle(method+" "+path, named(name, h))
		allow := method
		if method == http.MethodGet {
			allow += ", HEAD"
		}
		mux.Handle(path, named(name, handle(func(http.ResponseWriter, *http.Request) *failure {
			return &failure{code: http.StatusMethodNotAllowed, message: "method not allowed; expected " + method, header: map[string]string{"Allow": allow}}
		})))
	}
	route := func(method, path, name string, h handle) { open(method, path, name, s.roomy(h)) }
	route(http.MethodPost, "/api/v1/getparams.execute", "getparams", s.authorized(access.GetParams, bearerToken, s.limited(s.getparams)))
	route(http.MethodPost, "/api/v1/webhook", "webhook", s.webhook)
	route(http.MethodGet, "/api/v1/fleet", "fleet", s.authorized(access.FleetRoute, bearerToken, s.limited(s.fleet)))
	route(http.MethodGet, "/api/v1/explain", "explain", s.authorized(access.Explain, bearerToken, s.limited(s.explain)))
	route(http.MethodGet, "/api/v1/flux/inputs", "flux-inputs", s.authorized(access.FluxInputs, tokenOrPassword, s.limited(s.fluxInputs)))
	open(http.MethodGet, "/healthz", "healthz", handle(s.healthz))
	open(http.MethodGet, "/readyz", "readyz", handle(s.readyz))
	open(http.MethodGet, "/metrics", "metrics", promhttp.HandlerFor(s.o.Gatherer, promhttp.HandlerOpts{
		ErrorLog: logError{s.o.Logger}, MaxRequestsInFlight: 4,
	}))
	mux.Handle("/v2/", named("registry", http.HandlerFunc(s.registry)))
	mux.Handle("/", named("other", handle(func(http.ResponseWriter, *http.Request) *failure {
		return &failure{code: http.StatusNotFound, message: "no such page; the API is POST /api/v1/getparams.execute"}
	})))
	return secured(s.observed(s.recovered(mux)))
}

// named writes down what a request was for.
func named(name string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r).endpoint = name
		h.ServeHTTP(w, r)
	})
}

// authorized admits requests with a token that is good for the route.
func (s *Server) authorized(route string, presented func(*http.Request) string, next handle) handle {
	return func(w http.ResponseWriter, r *http.Request) *failure {
		if f := s.admit(r, route, presented(r)); f != nil {
			return f
		}
		return next(w, r)
	}
}
