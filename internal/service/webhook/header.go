package webhook

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
)

var (
	eventHeaders = []string{"X-GitHub-Event", "X-Gitea-Event", "X-Forgejo-Event", "X-Gogs-Event", "X-Gitlab-Event", "X-Event-Key"}
	// pushes are the events after which the repository may be another. GitLab's system hooks say in
	// the body alone what happened.
	pushes = []string{"push", "Push Hook", "Tag Push Hook", "System Hook", "repo:push", "repo:refs_changed", "mirror:repo_synchronized"}
)

// Signature returns the HMAC of the body that a header holds, nil if it is malformed, and whether
// the header holds a signature at all.
func Signature(h http.Header) (digest []byte, signed bool) {
	for _, form := range [][2]string{
		{"X-Hub-Signature-256", "sha256="},
		{"X-Forgejo-Signature", ""},
		{"X-Gitea-Signature", ""},
		{"X-Gogs-Signature", ""},
		{"X-Hub-Signature", "sha256="}, // last: others have SHA-1 there
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
