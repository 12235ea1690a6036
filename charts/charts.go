// Package charts embeds what the resolver needs to know of the charts beside it.
package charts

import (
	_ "embed"
	"strings"
)

// FleetSecretTenantSchema is the schema of what a tenant's level may set of charts/fleet-secret.
//
//go:embed fleet-secret/tenant.schema.json
var FleetSecretTenantSchema []byte

// FleetPoliciesValues are the values of charts/fleet-policies, FleetPoliciesPresets its presets.
var (
	//go:embed fleet-policies/values.yaml
	FleetPoliciesValues []byte
	//go:embed fleet-policies/presets.yaml
	FleetPoliciesPresets []byte
)

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
