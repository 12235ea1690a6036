// Package webhook reads the webhooks of GitHub, GitLab, Gitea, Forgejo, Gogs, Bitbucket and Azure
// DevOps. It finds the secret that signed a body, and whether the event may be a push.
//
// The body is read only for its signature: the service polls the repository for changes.
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
// Callers may rely on:
//
//  1. All signatures are HMAC-SHA256 of the body, compared in constant time. GitHub and Gitea send
//     SHA-1 in X-Hub-Signature, which is not accepted.
//  2. A body is hashed while it is read, and never stored.
//  3. Delivery ids are not signed, so they cannot prevent a replay. A replayed webhook only makes
//     the service poll the source once more.
//
// Sources: docs.github.com, "Webhook events and payloads"; gitea, services/webhook/deliver.go
// (v1.16); forgejo.org/docs, "Webhooks"; gogs, internal/database/webhook.go (v0.13);
// learn.microsoft.com, "Webhooks with Azure DevOps" (only HTTP basic authentication);
// docs.gitlab.com, "Webhooks"; support.atlassian.com, Bitbucket Cloud, "Event payloads" and
// "Manage webhooks"; confluence.atlassian.com, Bitbucket Data Center, the same.
package webhook
