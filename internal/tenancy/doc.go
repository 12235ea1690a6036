// Package tenancy decides what a tenant's files may say.
//
//	LoadSchemas(layout, catalogs, snapshot)  which components land on the hub, and their schemas
//	Schemas.ForbiddenValues, ForbiddenEntries  what a tenant's level says of them and may not (W1)
//	ForbiddenSecrets                           credentials of others that a tenant names
//
// What is in a level that all tenants share is the platform's, and is not judged here.
package tenancy
