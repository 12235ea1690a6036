package webhook

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
)

var (
	eventHeaders = []string{"X-GitHub-Event", "X-Gitea-Event", "X-Forgejo-Event", "X-Gogs-Event", "X-Gitlab-Event", "X-Event-Key"}
	// pushes lists the events after which the repository may have changed. GitLab's system hooks
	// name the event only in the body.
	pushes = []string{"push", "Push Hook", "Tag Push Hook", "System Hook", "repo:push", "repo:refs_changed", "mirror:repo_synchronized"}
)

// Signature returns the HMAC in a request's header, nil if it is malformed, and whether the header
// holds a signature at all.
func Signature(h http.Header) (digest []byte, signed bool) {
	for _, form := range [][2]string{
		{"X-Hub-Signature-256", "sha256="},
		{"X-Forgejo-Signature", ""},
		{"X-Gitea-Signature", ""},
		{"X-Gogs-Signature", ""},
		{"X-Hub-Signature", "sha256="}, // last, as other forges send SHA-1 in it
	} {
		value := h.Get(form[0])
		if value == "" {
			continue
		}
		text, ok := strings.CutPrefix(value, form[1])
		digest, err := hex.DecodeString(text)
		if !ok || err != nil {
			digest = nil
		}
		return digest, true
	}
	return nil, false
}

// Event returns the forge's name of the event, "" without one, and whether it may be a push.
func Event(h http.Header) (event string, push bool) {
	for _, name := range eventHeaders {
		if event = h.Get(name); event != "" {
			break
		}
	}
	return event, event == "" || slices.Contains(pushes, event)
}
