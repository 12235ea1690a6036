package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// handler returns the handler of all requests.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	route := func(method, path, name string, h http.Handler) {
		mux.Handle(method+" "+path, withEndpoint(name, h))
		allow := method
		if method == http.MethodGet {
			allow += ", HEAD"
		}
		mux.Handle(path, withEndpoint(name, handle(func(http.ResponseWriter, *http.Request) *failure {
			return &failure{Code: http.StatusMethodNotAllowed, Message: "method not allowed; expected " + method, Header: map[string]string{"Allow": allow}}
		})))
	}
	route(http.MethodPost, "/api/v1/getparams.execute", "getparams", s.withToken(access.GetParams, access.BearerToken, s.getparams))
	route(http.MethodPost, "/api/v1/webhook", "webhook", handle(s.webhook))
	route(http.MethodGet, "/api/v1/fleet", "fleet", s.withToken(access.FleetRoute, access.BearerToken, s.fleet))
	route(http.MethodGet, "/api/v1/holds", "holds", s.withToken(access.FleetRoute, access.BearerToken, s.holds))
	route(http.MethodGet, "/api/v1/rollouts", "rollouts", s.withToken(access.FleetRoute, access.BearerToken, s.rollouts))
	route(http.MethodGet, "/api/v1/explain", "explain", s.withToken(access.Explain, access.BearerToken, s.explain))
	route(http.MethodGet, "/api/v1/flux/inputs", "flux-inputs", s.withToken(access.FluxInputs, tokenOrPassword, s.fluxInputs))
	route(http.MethodGet, "/healthz", "healthz", handle(s.healthz))
	route(http.MethodGet, "/readyz", "readyz", handle(s.readyz))
	metrics := promhttp.HandlerFor(s.o.Gatherer, promhttp.HandlerOpts{ErrorLog: logError{s.o.Logger}, MaxRequestsInFlight: 4})
	// It writes into memory first, so that a slow client does not take one of the 4 requests.
	route(http.MethodGet, "/metrics", "metrics", http.TimeoutHandler(metrics, s.o.WriteTimeout, "the metrics are late"))
	mux.Handle("/v2/", withEndpoint("registry", http.HandlerFunc(s.registry)))
	mux.Handle("/", withEndpoint("other", handle(func(http.ResponseWriter, *http.Request) *failure {
		return &failure{Code: http.StatusNotFound, Message: "no such page; the API is POST /api/v1/getparams.execute"}
	})))
	// Responses are data of the fleet, never pages.
	return httpserver.Secured("default-src 'none'; frame-ancestors 'none'", s.withLog(httpserver.Recovered(s.o.Logger, write, mux)))
}

// withEndpoint records the endpoint of a request.
func withEndpoint(name string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info(r).endpoint = name
		h.ServeHTTP(w, r)
	})
}
