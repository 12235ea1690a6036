// Package charts embeds what the resolver needs to know of the charts beside it.
package charts

import _ "embed"

// FleetSecretTenantSchema is the schema of what a tenant's level may set of charts/fleet-secret.
//
//go:embed fleet-secret/tenant.schema.json
var FleetSecretTenantSchema []byte
