// Package schemas embeds the schemas that the programs check by.
package schemas

import _ "embed"

// ClusterSecret is the schema of a member's record.
//
//go:embed cluster-secret.json
var ClusterSecret []byte
