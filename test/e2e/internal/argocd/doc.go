// Package argocd runs a release of Argo CD on a hub: redis, the repo server, the application
// controller and the ApplicationSet controller, each a process of this machine.
//
// Its rules:
//
//  1. What is on the API server is what Argo CD's own manifests put there: the CRDs of the release,
//     its ConfigMaps, its Secret and the AppProject "default". There is no argocd-server, and so
//     nobody to log in; only the ApplicationSet controller takes webhooks.
//  2. The settings are those of a release's manifests but for three. Resources are tracked by
//     annotation, v3's default, as this repository's agents do it. Objects that change without end,
//     leases foremost, are not watched, v3's default too. And what takes minutes on a large hub
//     takes seconds here: comparisons, retries, waiting between waves.
//  3. A push is noticed at once after Pushed by the Applications that read a folder with a changed
//     file, and after Refresh by one. All others notice it within twice Options.Resync and a few
//     seconds: once in that time the controller looks at each Application, and compares those whose
//     last comparison is longer ago. Each comparison writes the Application's status, so a short
//     Resync keeps all components of a hub busy.
//  4. The application controller serves its metrics on all addresses and has no flag for another.
//     It runs in a private network, and reaches redis, the repo server, the hub's API server and
//     the ports of Options.Forward.
//  5. Destination https://kubernetes.default.svc is the hub's API server; so is the hub under its
//     own name once RegisterCluster has been called for it. Both are one cluster to Argo CD.
//  6. Each program has the token of its own ServiceAccount, with the rights that Argo CD's own
//     manifests give it (rbac.yaml), and no others.
package argocd
