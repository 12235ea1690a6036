package plugin

import (
	"errors"
	"net/http"

	"github.com/argosy-hub/argosy/internal/access"
)

// maxWebhook bounds a signed body; GitHub's own limit is 25 MB. It is streamed, not kept.
const maxWebhook = 32 << 20

// webhook makes the source look for something new at once. What a forge says in the body is not read, but for its
// signature: the repository tells best what is new.
func (s *Server) webhook(w http.ResponseWriter, r *http.Request) *failure {
	if f := s.webhookAuthorized(w, r); f != nil {
		return f
	}
	s.refresher.Trigger()
	respond(w, http.StatusAccepted, []byte("{\"message\":\"refresh triggered\"}\n"))
	return nil
}

// webhookAuthorized accepts a token as a bearer's, as GitLab's secret token, or as the key of a signature, as GitHub,
// Gitea and Forgejo make it.
func (s *Server) webhookAuthorized(w http.ResponseWriter, r *http.Request) *failure {
	if t := r.Header.Get("X-Gitlab-Token"); t != "" {
		return s.admit(r, access.Webhook, t)
	}
	signature := r.Header.Get("X-Hub-Signature-256")
	if signature == "" || bearer(r) != "" {
		return s.admit(r, access.Webhook, bearer(r))
	}
	if f := s.certified(r); f != nil {
		return s.refused(r, f)
	}
	by, err := signer(s.tokens, signature, http.MaxBytesReader(w, r.Body, maxWebhook))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge("the webhook's body is larger than 32 MiB")
	case err != nil:
		return &failure{code: http.StatusBadRequest, message: "the request's body broke off"}
	case by == nil:
		return s.refused(r, unauthorized("the webhook's signature is wrong: its secret has to be the service's token"))
	}
	return s.granted(r, access.Webhook, by)
}
