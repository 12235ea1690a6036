package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// maxWebhooks bounds the signed bodies that are read at once. Any client may send one, and its
// signature can be verified only after it is read.
const maxWebhooks = 16

// look makes the service poll the source now. Pushes during a poll cause only one more poll.
func (s *Server) look(w http.ResponseWriter, r *http.Request) *failure {
	event, push := eventOf(r.Header)
	info(r).request = cut(event)
	code, message := http.StatusAccepted, "refresh triggered"
	if push {
		s.refresher.Trigger()
	} else {
		code, message = http.StatusOK, fmt.Sprintf("the event %q is not a push: nothing to refresh", cut(event))
	}
	respond(w, code, (&failure{Message: message}).Body())
	return nil
}

// webhook accepts a bearer token, GitLab's secret token, a signature made with a token, or Azure
// DevOps' password.
func (s *Server) webhook(w http.ResponseWriter, r *http.Request) *failure {
	token := cmp.Or(r.Header.Get("X-Gitlab-Token"), access.BearerToken(r))
	signature, signed := signatureOf(r.Header)
	if !signed && token == "" { // with a signature, user and password are for a proxy before us
		_, token, _ = r.BasicAuth()
	}
	if !signed || token != "" {
		return s.withToken(access.Webhook, func(*http.Request) string { return token }, s.look)(w, r)
	}
	if f := s.verifyClient(r); f != nil {
		return f
	}
	limit := s.o.MaxWebhookBytes
	if r.ContentLength > limit {
		return tooLarge(fmt.Sprintf("the webhook's body has %d bytes; the limit is %d (--max-webhook-bytes)", r.ContentLength, limit))
	}
	if !s.webhooks.TryAcquire(1) {
		return httpserver.Busy(s.o.MaxWait, fmt.Sprintf("too many signed webhooks at once; the limit is %d", maxWebhooks))
	}
	bearer, f := s.signer(w, r, signature, limit)
	s.webhooks.Release(1)
	if f != nil {
		return f
	}
	return s.admit(w, r, access.Webhook, bearer, s.look)
}

// signer returns the bearer whose token has signed the body.
func (s *Server) signer(w http.ResponseWriter, r *http.Request, signature []byte, limit int64) (*access.Bearer, *failure) {
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(min(s.o.WebhookTimeout, s.o.ReadTimeout))); err != nil {
		return nil, &failure{Code: http.StatusInternalServerError, Message: "the connection has no time limit", Cause: err.Error()}
	}
	secrets, bearers := s.tokens.Signing()
	by, err := signerOf(secrets, signature, http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(fmt.Sprintf("the webhook's body is larger than the limit of %d bytes (--max-webhook-bytes)", limit))
	case err != nil:
		return nil, &failure{Code: http.StatusBadRequest, Message: "the request's body broke off"}
	case by < 0:
		return nil, s.countFailure(r, httpserver.Unauthorized("the webhook's signature is wrong: its secret has to be the service's token"))
	}
	return bearers[by], nil
}
