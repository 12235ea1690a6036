// Package chaos runs a campaign of accidents (package accidents, its rules) against the service and
// an Argo CD in small. After each commit that asks all that it would ask, and deletes what a 2xx
// answer leaves out, as the real one does. It is what `make test` can run anywhere; test/e2e runs
// the same accidents against a real Argo CD.
//
// `make test` runs a short campaign, `make chaos-model` a long one.
//
// Rules:
//  1. The service is the real program, started as in production, with a Git source and a state
//     directory; it is killed with SIGKILL.
//  2. One that another ApplicationSet has taken over by the time all have been asked twice has
//     moved (D4).
//  3. Each component of a release has an ApplicationSet of its own, as the chart makes them: many
//     responses are about one member.
//  4. A campaign without the removal budget does find wrong deletions: otherwise this one would
//     prove nothing.
package chaos
