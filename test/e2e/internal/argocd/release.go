package argocd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Newest is the release that runs unless another is named.
const Newest = "3.6"

// withoutClientCA: since 3.5 the repo-server wants clients' certificates by default, and refuses
// that together with --disable-tls.
var withoutClientCA = []string{"--client-ca-path="}

// A release is where a release of Argo CD needs other treatment than the rest. What is not here is
// the same in all of them (compared: cmd/*, common, controller, reposerver, util of v2.14.21 and
// v3.5.7 and v3.6.1).
type release struct {
	component string // that it was built as

	repoServer, controller []string // environment
	repoServerFlags        []string
}

var releases = map[string]release{
	"2.14": {
		component: "argocd-2.14",
		// Charts of one folder are otherwise rendered one after another: each cluster's
		// registration is one. Argo CD 3 has done away with the setting.
		repoServer: []string{"ARGOCD_HELM_ALLOW_CONCURRENCY=true"},
		controller: []string{
			"ARGOCD_CLUSTER_CACHE_BATCH_EVENTS_PROCESSING=true", // the default of Argo CD 3
		},
	},
	"3.5":  {component: "argocd-3.5", repoServerFlags: withoutClientCA},
	Newest: {component: "argocd-" + Newest, repoServerFlags: withoutClientCA},
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
