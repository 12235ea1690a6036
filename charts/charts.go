// Package charts embeds what the resolver needs to know of the charts beside it.
package charts

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

// Registry is where the releases of these charts are. Who releases them elsewhere builds the
// program with that registry (-ldflags -X).
var Registry = "ghcr.io/argosy-hub/charts"

// ApplicationSets is the name of the chart with the catalogs.
const ApplicationSets = "application-sets"

// IsOwn reports whether a chart of a registry is one of these, at this version.
func IsOwn(repoURL, chart, version string) bool {
	_, err := fs.Stat(Files, path.Join(chart, "Chart.yaml"))
	return version == Version() && strings.TrimPrefix(repoURL, "oci://") == Registry && err == nil
}

//go:embed application-sets/catalogs/*.yaml
var catalogs embed.FS

// Files are all charts, each in a folder of its name, without the dependencies of charts/hub, which
// are links here.
//
//go:embed all:*
var Files embed.FS

// HubDependencies are the charts that charts/hub is packed with.
var HubDependencies = []string{"generator-plugin", "fleet-policies"}

// Catalogs are the catalogs of charts/application-sets, by group.
func Catalogs() map[string][]byte {
	const folder = ApplicationSets + "/catalogs"
	out := map[string][]byte{}
	entries, _ := fs.ReadDir(catalogs, folder) // cannot fail: it is embedded
	for _, e := range entries {
		data, _ := catalogs.ReadFile(path.Join(folder, e.Name()))
		out[strings.TrimSuffix(e.Name(), ".yaml")] = data
	}
	return out
}

// FleetSecretTenantSchema is the schema of what a tenant's level may set of charts/fleet-secret.
//
//go:embed fleet-secret/tenant.schema.json
var FleetSecretTenantSchema []byte

// Two classes have one health check; a chart stands alone, hence a copy.
//go:generate cp cluster-kro/health.lua cluster-crossplane/health.lua

//go:embed hub/Chart.yaml
var hubChart []byte

// Version is the version of the charts of this source.
func Version() string {
	_, rest, _ := strings.Cut(string(hubChart), "\nversion: ")
	version, _, _ := strings.Cut(rest, "\n")
	return version
}
