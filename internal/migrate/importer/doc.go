// Package importer makes a fleet of what runs on ApplicationSets: members, a catalog, and values
// that stand once at the level that they hold for.
//
//	ApplicationSets + clusters -> Applications -> normal forms -> components -> files -> check
//
// Its rules:
//
//  1. Argo CD's own generators and renderer say which Applications there are. Nothing is read from
//     the texts of templates.
//  2. A component is what its Applications on several clusters have in common. The way of naming
//     with the fewest names wins; two Applications of one component on one cluster are an error.
//  3. Of the main source, the catalog has the chart or folder with its version, and the hierarchy
//     the values. All else of the Application is in the template of the fleet's ApplicationSet.
//  4. Values that no value hierarchy holds are factored (internal/migrate/factor): each stands
//     once.
//  5. The files are built into a fleet and its Applications are compared with those of the
//     ApplicationSets before anything is written. What differs, and what cannot be expressed, is
//     reported with the place of its ApplicationSet.
//  6. Value files that form a hierarchy keep their places: the layout describes it, and what
//     Applications set beside their files becomes values of the catalog. If that does not give the
//     same Applications, rule 4 holds, and the result says why.
//  7. Same input, same files. Nothing outside of the files is written.
package importer
