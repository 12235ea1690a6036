// Package expand computes offline the objects that a hub's engine would apply. It follows the
// pipeline from the files that a user applies to the objects of every Application, as Argo CD
// would.
//
//	hub := expand.New(expand.Options{State: st, Snapshot: snap, Hub: "hub-eu", Tools: tools})
//	hub.All(true) // fleet/bootstrap/hub-eu.yaml -> Application fleet -> ApplicationSet addons
//	              //   -> Application dns-prod-eu-1 -> Deployment dns, Service dns
//	for pair := range expand.Compare(base, head) {
//		fmt.Println(pair.Any().Key()) // Deployment dns, if it differs
//	}
//
// Package manifest holds objects as trees, and object adds their origin. Package source finds where
// the objects of an Application come from, and flux does so for Flux's objects.
//
// Callers may rely on this:
//
//  1. Expansion begins with fleet/bootstrap/<hub>.yaml, or without it with the files of
//     fleet/bootstrap/<hub>, and ends when nothing new appears. ApplicationSets become Applications
//     by Argo CD's own generators and renderer, with the resolver's responses and this
//     repository's files. Applications of this repository become objects by Helm's library, by
//     kustomize's, or from plain manifests. Flux's artifacts, HelmReleases and Kustomizations
//     become objects likewise.
//  2. Each object has the engine that runs it (the hub's, or a member's), the object that made it,
//     and a position: the file of the root, or the chart's template.
//  3. This repository is the repoURL of the root Application, at its targetRevision. For a hub that
//     runs Flux, its member file names both. Other revisions of this repository are read; each is
//     the same before and after.
//  4. What cannot be followed is reported as a problem with its position, and everything else is
//     followed. An error fails in Argo CD, too. A warning is beyond this repository or this
//     program.
//  5. An object is computed when it is read, and Compare computes only objects that may differ. It
//     skips equal templates with equal responses, unless they name a chart or folder that changed
//     or that makes further followed objects.
//  6. Renderings are cached by the digests of everything that they depend on. Revisions that share
//     a rendercache.Cache share them.
//  7. The same input gives the same objects in the same order. Objects must not be changed.
//  8. Remote charts, folders and value files are rendered with Tools.Remote: where an Application
//     differs, and where it deploys to its own engine, which may find Applications in it. A chart
//     that cannot be fetched or rendered is a problem, and the objects of its Application are not
//     compared.
//
// Package expand links neither Argo CD nor Helm. Its subpackages argocd, helm and fetch do, and
// only cmd/argosy imports them: a program that links Argo CD has 1,400 packages.
package expand
