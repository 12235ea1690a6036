// Package tenancy decides what a tenant's files may say.
//
//	LoadSchemas(layout, catalogs, snapshot)    which components land on the hub, and their schemas
//	Schemas.ForbiddenValues, ForbiddenEntries  what a tenant's level must not say of them (W1)
//	ForbiddenSecrets                           credentials of others that a tenant names
//
// A chart that lands on the hub says in tenant.schema.json, beside values.schema.json, what tenants
// may set of it:
//
//	{"type": "object", "additionalProperties": false,
//	 "properties": {"region": {"type": "string"}}}
//
// Callers may rely on the following: the platform owns the levels that all tenants share, and they
// are not checked here. A chart without a schema allows nothing. The schema is checked against each
// layer of a tenant's level before layers are merged: a problem has the place in the tenant's file.
// A schema refers to nothing outside itself.
package tenancy
