package paramset

import "github.com/argosy-hub/argosy/internal/fleetstate"

// commonOf are the fields that all of a cluster's sets share.
func commonOf(c *fleetstate.Cluster, application string) Common {
	out := Common{
		Name: c.Member.Name, NameNormalized: c.Member.Name, Server: c.Facts.Server,
		Tenant: c.Member.Tenant, Environment: c.Member.Environment, Hub: c.Member.Hub, Model: c.Member.Model(),
		Metadata: c.Metadata, ApplicationName: application, Hold: c.Hold,
	}
	if c.LastKnownGood != nil {
		out.Revision = c.LastKnownGood.Snapshot.Revision
	}
	return out
}

// CommonOf are the fields that all sets of components of a cluster share, without an Application.
func CommonOf(c *fleetstate.Cluster) Common { return commonOf(c, "") }
