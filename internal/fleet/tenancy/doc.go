// Package tenancy decides what a tenant's files may say.
//
//	LoadSchemas(layout, catalogs, snapshot)  which components land on the hub, and their schemas
//	Schemas.ForbiddenValues, ForbiddenEntries  what a tenant's level says of them and may not (W1)
//	ForbiddenSecrets                           credentials of others that a tenant names
//
// What is in a level that all tenants share is the platform's, and is not judged here.
//
// What a tenant's level may set of a component that lands on the hub is in the chart's
// tenant.schema.json, beside values.schema.json. A chart without one allows nothing. The schema is
// checked against each layer of a tenant's level before layers are merged, so that a problem has
// the place in the tenant's file. A schema refers to nothing outside itself.
package tenancy
