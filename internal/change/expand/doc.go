// Package expand follows a hub's pipeline to its end, offline: from the files that a user applies
// to every Application, as Argo CD would.
//
//	State + Snapshot + hub -> Hub;  Hub.All() -> objects;  Compare(before, after) -> differences
//
// manifest holds objects as trees, object adds their origin, source says where the objects of an
// Application come from, and flux what Flux's objects deploy.
//
// Its rules:
//
//  1. Expansion begins with fleet/bootstrap/<hub>.yaml, or without it with the files of
//     fleet/bootstrap/<hub>, and goes on until nothing new appears. An ApplicationSet becomes
//     Applications, by Argo CD's own generators and renderer, the resolver's responses and the
//     files of this repository. An Application whose source is in this repository becomes its
//     objects: by Helm's library, by kustomize's, or as its manifests are. An artifact for Flux
//     becomes its objects, HelmReleases the objects of their charts, and Flux's Kustomizations the
//     build of their folders.
//  2. Each object knows the engine that runs it (the hub's, or a member's), the object that made
//     it, and the position of its text: the file of the root, or the chart's template.
//  3. This repository is the repoURL of the root Application, at its targetRevision; for a hub that
//     runs Flux its member file names it. Other revisions of this repository are read; each is the
//     same before and after.
//  4. What cannot be followed is reported as a problem with its position, and everything else is
//     followed. An error fails in Argo CD, too; a warning is beyond this repository or this
//     program.
//  5. An object is computed when it is read. Compare computes only objects that may differ: where
//     the template and the responses are equal, nothing below differs, unless a chart or folder
//     named there has changed, or makes further objects of followed kinds. Of an unchanged
//     ApplicationSet only the parameter sets that differ are made, unless all may fail.
//  6. Renderings are cached by the digests of everything that they depend on, and shared by the
//     revisions of a RenderCache.
//  7. Same input, same objects in the same order. Objects must not be changed.
//  8. Remote charts, folders and value files are rendered with Tools.Remote, where an Application
//     differs, and where it deploys to its own engine, which may find Applications in it. A chart
//     that cannot be fetched or rendered is a problem, and the objects of its Application are not
//     compared.
//
// It links neither Argo CD nor Helm: internal/change/expand/argocd, internal/change/expand/helm and
// internal/change/expand/fetch do, which only cmd/argosy imports. The service must not (a program
// that links Argo CD has 1,400 packages).
package expand
