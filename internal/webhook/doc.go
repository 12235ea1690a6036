// Package webhook reads the webhooks of GitHub, GitLab, Gitea, Forgejo, Gogs, Bitbucket and Azure
// DevOps: whose signature a body has, whether the event may be a push, and whether the delivery is
// a repeated one.
//
// What a forge says in the body is not read, but for its signature: the repository itself says best
// what is new in it.
//
//	                     signature of the body              event            delivery
//	GitHub               X-Hub-Signature-256: sha256=<hex>  X-GitHub-Event   X-GitHub-Delivery
//	Gitea, Forgejo       the same; old ones have only       X-GitHub-Event   X-GitHub-Delivery
//	                     X-Gitea-Signature: <hex>           X-Gitea-Event    X-Gitea-Delivery
//	Forgejo              also X-Forgejo-Signature: <hex>    X-Forgejo-Event  X-Forgejo-Delivery
//	Gogs                 X-Gogs-Signature: <hex>            X-Gogs-Event     X-Gogs-Delivery
//	GitLab               none; X-Gitlab-Token: <token>      X-Gitlab-Event   Idempotency-Key
//	Bitbucket Cloud      X-Hub-Signature: sha256=<hex>      X-Event-Key      X-Request-UUID
//	Bitbucket Server,    X-Hub-Signature: sha256=<hex>      X-Event-Key      X-Request-Id
//	Data Center
//	Azure DevOps         none; the token as password        -                -
//
// Its rules:
//
//  1. All signatures are HMAC-SHA256 of the body, compared in constant time. GitHub and Gitea send
//     SHA-1 in X-Hub-Signature, which is not accepted.
//  2. A body is hashed as it comes and never kept.
//  3. The names of deliveries are not signed: to remember them saves work, and protects nothing. A
//     replayed webhook makes the service look at the source once more.
//
// Sources: docs.github.com, "Webhook events and payloads" (delivery headers) and "Best practices
// for using webhooks" (a redelivery has the id of the first); gitea, services/webhook/deliver.go
// (v1.16); forgejo.org/docs, "Webhooks"; gogs, internal/database/webhook.go
// (v0.13); learn.microsoft.com, "Webhooks with Azure DevOps" (HTTP basic authentication alone);
// docs.gitlab.com, "Webhooks" (delivery headers:
// Idempotency-Key since 17.4; X-Gitlab-Event-UUID is shared by all deliveries that one webhook
// causes); support.atlassian.com, Bitbucket Cloud, "Event payloads" and "Manage webhooks";
// confluence.atlassian.com, Bitbucket Data Center, "Event payload" and "Manage webhooks".
package webhook
