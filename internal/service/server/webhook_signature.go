package server

// The webhooks of forges:
//
//	                     signature of the body              event
//	GitHub               X-Hub-Signature-256: sha256=<hex>  X-GitHub-Event
//	Gitea, Forgejo       the same; old ones have only       X-GitHub-Event
//	                     X-Gitea-Signature: <hex>           X-Gitea-Event
//	Forgejo              also X-Forgejo-Signature: <hex>    X-Forgejo-Event
//	Gogs                 X-Gogs-Signature: <hex>            X-Gogs-Event
//	GitLab               none; X-Gitlab-Token: <token>      X-Gitlab-Event
//	Bitbucket            X-Hub-Signature: sha256=<hex>      X-Event-Key
//	Azure DevOps         none; the token as password        -
//
// A body is hashed while it is read, and never stored. GitHub's and Gitea's SHA-1 in
// X-Hub-Signature is not accepted. Delivery ids are not signed: a replayed webhook only makes the
// service poll the source once more.
//
// Sources: docs.github.com, "Webhook events and payloads"; gitea, services/webhook/deliver.go
// (v1.16); forgejo.org/docs, "Webhooks"; gogs, internal/database/webhook.go (v0.13);
// learn.microsoft.com, "Webhooks with Azure DevOps" (only HTTP basic authentication);
// docs.gitlab.com, "Webhooks"; support.atlassian.com, Bitbucket Cloud, "Event payloads" and
// "Manage webhooks"; confluence.atlassian.com, Bitbucket Data Center, the same.

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
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

// signatureOf returns the HMAC in a request's header, nil if it is malformed, and whether the
// header holds a signature at all.
func signatureOf(h http.Header) (digest []byte, signed bool) {
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

// eventOf returns the forge's name of the event, "" without one, and whether it may be a push.
func eventOf(h http.Header) (event string, push bool) {
	for _, name := range eventHeaders {
		if event = h.Get(name); event != "" {
			break
		}
	}
	return event, event == "" || slices.Contains(pushes, event)
}

// signerOf returns the index of the secret that a body was signed with, -1 if there is none. The
// error is from reading the body.
func signerOf(secrets [][]byte, signature []byte, body io.Reader) (int, error) {
	if len(signature) != sha256.Size {
		return -1, nil // malformed, whatever the body
	}
	macs, writers := make([]hash.Hash, len(secrets)), make([]io.Writer, len(secrets))
	for i, secret := range secrets {
		macs[i] = hmac.New(sha256.New, secret)
		writers[i] = macs[i]
	}
	if _, err := io.Copy(io.MultiWriter(writers...), body); err != nil {
		return -1, err
	}
	signer := -1
	for i, mac := range macs {
		if hmac.Equal(signature, mac.Sum(nil)) {
			signer = i
		}
	}
	return signer, nil
}
