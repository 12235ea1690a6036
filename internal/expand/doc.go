// Package expand follows a hub's pipeline to its end, offline: from the files that are applied by hand to every
// Application, as Argo CD would.
//
//	State + Snapshot + hub -> Hub;  Hub.All() -> objects;  Compare(before, after) -> what differs
//
// Its rules:
//
//  1. It begins with fleet/bootstrap/<hub>.yaml, or where there is none with the files of fleet/bootstrap/<hub>, and goes
//     on until nothing new appears: an ApplicationSet becomes Applications, by Argo CD's own generators and renderer, the
//     engine's answers and what is in this repository; an Application whose source lies in this repository becomes its
//     objects, by Helm's library, by kustomize's, or as they are written; an artifact for Flux becomes the objects that are
//     in it, HelmReleases what their charts make, and Flux's Kustomizations what their folders are built into.
//  2. Each object knows whose engine runs it (the hub's, or a member's), which object it came from, and where its text
//     stands: the file of the root, or the chart's template.
//  3. What is in this repository is told by the root Application: its repoURL, at its targetRevision; for a hub that runs Flux by
//     its own member file. Another revision of this repository is asked for; it is the same before and after.
//  4. What cannot be followed is named, as a problem with its place, and everything else is. An error is something that
//     fails in Argo CD, too; a warning, what lies beyond this repository or this program.
//  5. An object is computed when it is asked for. Compare asks for what may differ alone: where the template is the same
//     and the engine answers alike (Fingerprint), nothing below differs, unless a chart or folder has changed that is
//     named there, or what is named there makes further objects of these kinds.
//  6. Renderings are remembered by the digests of all that they depend on, and are shared by the revisions of a Memo.
//  7. Same input, same objects in the same order. Objects must not be changed.
//  8. What is not in this repository (charts, folders of other Git repositories, files of values) is rendered if there is
//     somebody to fetch it (Tools.Elsewhere), where an Application differs, and where it is deployed to its own engine, which
//     may find Applications in it. What cannot be fetched or rendered is a problem, and what the Application makes is not
//     compared.
//
// It links neither Argo CD nor Helm: internal/expand/argocd, internal/expand/helm and internal/expand/fetch do, which only
// cmd/argosy imports. The service must not (a program that links Argo CD has 1,400 packages).
package expand
