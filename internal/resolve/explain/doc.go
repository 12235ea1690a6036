// Package explain says where everything about one component of one cluster comes from: whether the
// cluster runs it, its owner, chart and release. For each value it has the level, file, line and
// column that set it and the values that it overrides (H7). A value looks like this:
//
//	{"path": "replicas", "value": 3, "level": "cluster",
//	 "position": {"file": "addons/tenants/bank/clusters/bank-dev/addons/external-dns/values.yaml",
//	              "line": 1, "column": 11}}
//
// Callers may rely on the following:
//
//  1. It computes the component as the components view does, without a base.
//  2. A component that the cluster does not run is explained as well, with the reason.
//  3. An Explanation is the envelope that `argosy explain -o json` and /api/v1/explain write.
package explain
