package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/argosy-hub/argosy/internal/access"
	"github.com/argosy-hub/argosy/internal/webhook"
)

// maxWebhooks bounds the signed bodies that are read at once. Anybody may send one, and it has to
// be read before its signature can be verified. Each address has its share of them.
const maxWebhooks = 16

// webhook makes the service look at the source at once. However many pushes come meanwhile, it
// looks once more after them.
func (s *Server) webhook(w http.ResponseWriter, r *http.Request) *failure {
	if f := s.webhookAuthorized(w, r); f != nil {
		return f
	}
	event, push := webhook.Event(r.Header)
	info(r).request = cut(event)
	code, message := http.StatusAccepted, "refresh triggered"
	switch {
	case !push:
		code, message = http.StatusOK, fmt.Sprintf("the event %q is no push: nothing to refresh", cut(event))
	case s.deliveries.Repeated(bearerOf(r).Label(), webhook.Delivery(r.Header), time.Now()):
		code, message = http.StatusOK, "this delivery has come before: nothing to refresh"
	default:
		s.refresher.Trigger()
	}
	respond(w, code, (&failure{message: message}).body())
	return nil
}

// webhookAuthorized accepts a token as a bearer's, as GitLab's secret token, as the key of a
// signature, or as Azure DevOps' password.
func (s *Server) webhookAuthorized(w http.ResponseWriter, r *http.Request) *failure {
	token := cmp.Or(r.Header.Get("X-Gitlab-Token"), access.BearerToken(r))
	signature, signed := webhook.Signature(r.Header)
	if !signed && token == "" { // with a signature, user and password are for a proxy before us
		_, token, _ = r.BasicAuth()
	}
	if !signed || token != "" {
		return s.admit(r, access.Webhook, token)
	}
	if f := s.verifyClient(r); f != nil {
		return s.countFailure(r, f)
	}
	limit := s.o.MaxWebhookBytes
	if r.ContentLength > limit {
		return tooLarge(fmt.Sprintf("the webhook's body has %d bytes; the limit is %d (--max-webhook-bytes)", r.ContentLength, limit))
	}
	from := access.Site(r.RemoteAddr)
	if !s.webhooks.Take(r.Context(), from, true, -1) {
		return busy(s.o.MaxWait, fmt.Sprintf("too many signed webhooks at once from this address; the limit for all is %d", maxWebhooks))
	}
	defer s.webhooks.Release(from)
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(min(s.o.WebhookTimeout, s.o.ReadTimeout))); err != nil {
		return &failure{code: http.StatusInternalServerError, message: "the connection has no time limit", cause: err.Error()}
	}
	secrets, bearers := s.tokens.Signing()
	by, err := webhook.Signer(secrets, signature, http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge(fmt.Sprintf("the webhook's body is larger than the limit of %d bytes (--max-webhook-bytes)", limit))
	case err != nil:
		return &failure{code: http.StatusBadRequest, message: "the request's body broke off"}
	case by < 0:
		return s.countFailure(r, unauthorized("the webhook's signature is wrong: its secret has to be the service's token"))
	}
	return s.authorize(r, access.Webhook, bearers[by])
}
