package server

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// What forges put into a webhook's header:
//
//	                     signature of the body                     event             delivery
//	GitHub               X-Hub-Signature-256: sha256=<hex>         X-GitHub-Event    X-GitHub-Delivery
//	Gitea, Forgejo       the same; old ones have alone             X-GitHub-Event    X-GitHub-Delivery
//	                     X-Gitea-Signature: <hex>                  X-Gitea-Event     X-Gitea-Delivery
//	Forgejo              also X-Forgejo-Signature: <hex>           X-Forgejo-Event   X-Forgejo-Delivery
//	GitLab               none; X-Gitlab-Token: <token>             X-Gitlab-Event    Idempotency-Key
//	Bitbucket Cloud      X-Hub-Signature: sha256=<hex>             X-Event-Key       X-Request-UUID
//	Bitbucket Server,    X-Hub-Signature: sha256=<hex>             X-Event-Key       X-Request-Id
//	Data Center
//
// All signatures are HMAC-SHA256 of the body. In X-Hub-Signature, GitHub and Gitea send SHA-1, which is not accepted.
//
// Sources: docs.github.com, "Webhook events and payloads" (delivery headers) and "Best practices for using webhooks" (a
// redelivery has the id of the first); gitea, services/webhook/deliver.go (v1.16); forgejo.org/docs, "Webhooks";
// docs.gitlab.com, "Webhooks" (delivery headers: Idempotency-Key since 17.4. X-Gitlab-Event-UUID is no delivery's: what a
// webhook sets off has it again); support.atlassian.com, Bitbucket Cloud, "Event payloads" and "Manage webhooks";
// confluence.atlassian.com, Bitbucket Data Center, "Event payload" and "Manage webhooks".
var (
	eventHeaders    = []string{"X-GitHub-Event", "X-Gitea-Event", "X-Forgejo-Event", "X-Gitlab-Event", "X-Event-Key"}
	deliveryHeaders = []string{"X-GitHub-Delivery", "X-Gitea-Delivery", "X-Forgejo-Delivery", "Idempotency-Key", "X-Request-UUID"}
	// pushes are the events after which the repository may be another. GitLab's system hooks tell in the body alone.
	pushes = []string{"push", "Push Hook", "Tag Push Hook", "System Hook", "repo:push", "repo:refs_changed", "mirror:repo_synchronized"}
)

// signatureOf is the HMAC that a header has of the body, nil if what is there is none, and whether anything is there.
func signatureOf(h http.Header) (digest []byte, there bool) {
	for _, form := range [][2]string{
		{"X-Hub-Signature-256", "sha256="},
		{"X-Forgejo-Signature", ""},
		{"X-Gitea-Signature", ""},
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

// eventOf is what a forge says has happened, "" if it does not, and whether that may be a push.
func eventOf(h http.Header) (event string, push bool) {
	event = first(h, eventHeaders)
	return event, event == "" || slices.Contains(pushes, event)
}

// deliveryOf is what a forge calls a delivery, "" if it has no such name.
func deliveryOf(h http.Header) string {
	id := first(h, deliveryHeaders)
	if id == "" && h.Get("X-Event-Key") != "" { // with anybody else it may be a proxy's, or stand for many requests
		id = h.Get("X-Request-Id")
	}
	if !saneID.MatchString(id) {
		return ""
	}
	return id
}

// first is the first of some headers that is there.
func first(h http.Header, names []string) string {
	for _, name := range names {
		if value := h.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// Bounds of deliveries (H10). A minute is how often the source is looked at anyway, by default.
const (
	maxDeliveries  = 1024
	deliveryWindow = time.Minute
)

// deliveries are webhooks that have come not long ago. A forge sends one again that it has had no answer to. Names of
// deliveries are not signed, so this saves work and is no wall: who replays a webhook makes the source look once more.
type deliveries struct {
	mu    sync.Mutex
	known map[delivery]bool
	order []arrived // the oldest first
}

// delivery is named by its forge. That another token's bearer uses the name takes nothing away from it.
type delivery struct{ token, id string }

type arrived struct {
	delivery
	at time.Time
}

// again tells whether a delivery has come before; from now on it has. One without a name never has.
func (d *deliveries) again(token, id string, now time.Time) bool {
	if id == "" {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.order) > 0 && now.Sub(d.order[0].at) >= deliveryWindow {
		d.forget()
	}
	this := delivery{token, id}
	if d.known[this] {
		return true
	}
	if len(d.order) == maxDeliveries {
		d.forget()
	}
	if d.known == nil {
		d.known = map[delivery]bool{}
	}
	d.known[this] = true
	d.order = append(d.order, arrived{this, now})
	return false
}

// forget takes the oldest out. The caller holds the lock.
func (d *deliveries) forget() {
	delete(d.known, d.order[0].delivery)
	d.order = d.order[1:]
}
