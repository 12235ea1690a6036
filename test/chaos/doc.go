// Package chaos tries to make the service lose something. A campaign pushes accidents to a copy of this repository's own
// fleet, one commit after another: files cut short, conflict markers, folders gone, tenants renamed, files exchanged,
// history rewritten; and kills and restarts the service among them. After each commit an Argo CD in small asks all that
// it would ask, and deletes what a 2xx answer leaves out, as the real one does. Nothing that ran before an accident may
// be gone after it.
//
// `make test` runs a short campaign, `make chaos` a long one.
//
// Rules:
//  1. The service is the real program, started as in production, with a Git source and a state directory; it is killed
//     with SIGKILL.
//  2. Accidents come from a seed, which a failure prints: the same seed gives the same commits.
//  3. What should exist is what the last good commit asks for. An Application that an accident makes Argo CD delete, or
//     mark for deletion with what it runs, is a wrong deletion. One that another ApplicationSet has taken over by the
//     time all have been asked twice is not: it has moved (D4). Nor is the Application of a release that no cluster is on
//     any more: the ApplicationSets that it made stay (docs/design/0011), and each cluster is on another release.
//  4. A campaign without the removal budget does find wrong deletions: otherwise this one would prove nothing.
package chaos
