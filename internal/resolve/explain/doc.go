// Package explain says where everything about one component of one cluster comes from: whether the
// cluster runs it, its owner, chart and release, and for each value the level, file, line and
// column that set it and the values that it overrides (rule H7).
//
//  1. It computes the component as the components view does, without a base.
//  2. A component that the cluster does not run is explained as well, with the reason.
//  3. An Explanation is the envelope that `argosy explain -o json` and /api/v1/explain write.
package explain
