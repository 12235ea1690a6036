// Package importer converts ApplicationSets to a fleet: members, a catalog, and values that are
// written once, at the level that they hold for.
//
//	result, err := importer.Import(importer.Options{
//		Hub: "hub-eu", Group: "addons", Repositories: repositories,
//		Tools: tools, SetParameters: helm.SetParameters,
//	})
//	// result.Files: the fleet repository; result.Equal: 118 of 120 Applications
//
// Callers may rely on:
//
//  1. Argo CD's own generators and renderer create the Applications. The importer never parses
//     templates.
//  2. A component is what its Applications on several clusters have in common. The naming with the
//     fewest names wins. Two Applications of one component on one cluster are an error.
//  3. The catalog has the chart or folder of the main source with its version, and the hierarchy
//     the values. The rest of the Application is in the template of the fleet's ApplicationSet.
//  4. Values that are in no value hierarchy are factored (internal/migrate/factor): each is written
//     once.
//  5. Before anything is written, the fleet is built and its Applications are compared with the
//     original ones. Differences, and what cannot be expressed, are reported with the place of
//     their ApplicationSet.
//  6. Value files that form a hierarchy keep their places, and the layout describes it. If the
//     Applications then differ, values are factored, and the result says why.
//  7. The same input gives the same files. Nothing else is written.
package importer
