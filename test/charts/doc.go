// Package charts holds the tests of charts/ and fleet/bootstrap/: what they render, through Helm's
// own library, and what Argo CD's own code makes of it.
//
//  1. Every option of charts/application-sets has a golden: values in, ApplicationSets out
//     (testdata/application-sets/*.txtar, -update rewrites them).
//  2. Values that contradict each other or name nothing fail, and the message says where.
//  3. What is rendered decodes strictly into Argo CD's types: no unknown key, no lost one.
//  4. Rendered ApplicationSets and those of fleet/bootstrap become Applications through Argo CD's
//     plugin client, generator, renderer and patch, against an HTTP server.
//  5. The other charts decode strictly into Kubernetes' and External Secrets' types; custom
//     resources are checked against their definitions, rules included.
//  6. Cluster Secrets, credentials and tokens are made by External Secrets' own provider and
//     template engine from what charts/fleet-secret renders; Argo CD's plugin generator reads what
//     charts/generator-plugin renders, and the service accepts its command line.
//  7. What Flux is given, by charts/agent-flux and in the artifacts of this repository's members,
//     is what Flux's definitions accept, and fits together: address, Secret and facts are those of
//     the service's chart.
//  8. Every Application of this repository's fleet is permitted by its project, and no tenant's
//     project reaches another tenant's cluster.
package charts
