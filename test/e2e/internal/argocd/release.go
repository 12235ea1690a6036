package argocd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A release is where a release of Argo CD needs other treatment than the rest. What is not here is
// the same in all of them (compared: cmd/*, common, controller, reposerver, util of v2.14.21 and
// v3.2.11 and v3.5.7).
type release struct {
	component string // that it was built as

	repoServer, controller []string // environment
	repoServerFlags        []string
}

var releases = map[string]release{
	"v2": {
		component: "argocd-v2",
		// Charts of one folder are otherwise rendered one after another: each cluster's
		// registration is one. v3 has done away with the setting.
		repoServer: []string{"ARGOCD_HELM_ALLOW_CONCURRENCY=true"},
		controller: []string{
			"ARGOCD_CLUSTER_CACHE_BATCH_EVENTS_PROCESSING=true", // v3's default
		},
	},
	"v3": {component: "argocd-v3"},
	"v3.5": {
		component: "argocd-v3.5",
		// By default it wants clients' certificates, which it refuses together with --disable-tls.
		repoServerFlags: []string{"--client-ca-path="},
	},
}

// Versions are the names of the releases that there are.
func Versions() []string { return slices.Sorted(maps.Keys(releases)) }

func releaseOf(version string) (release, error) {
	r, ok := releases[version]
	if !ok {
		return release{}, fmt.Errorf("version %q: expected one of %s", version, strings.Join(Versions(), ", "))
	}
	return r, nil
}
