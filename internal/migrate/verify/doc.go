// Package verify compares the Applications that Argosy creates with the live ones, or with the
// Applications that ApplicationSets create.
//
//	v, err := verify.Verify(question) // for hub-eu, with its 120 live Applications
//	// v.Compared: 120, v.Equal: 119, v.Differences[0].Path: spec.sources.0.helm.values.replicas
//
// Callers may rely on:
//
//  1. Two Applications are equal if Argo CD deploys the same from them: their normal forms are
//     equal. Names, labels and annotations do not count.
//  2. The normal form begins with Argo CD's own normalization. It has a list of sources, a revision
//     for each, and the destination's cluster by name. An automated sync that is switched off
//     counts as none.
//  3. Value files, values, valuesObject and parameters become one tree of values, by Helm's merge
//     and in Helm's order. A source that only provides value files is then left out.
//  4. Value files of a remote chart cannot be read. They stay as they are if they come first, and
//     are Unreadable otherwise.
//  5. The name of a Helm release is part of the normal form: Argo CD takes the Application's name
//     where the source has none.
//  6. Variables of Argo CD's build environment are expanded where Argo CD expands them. Files
//     beside the manifests that change Helm's options make an Application Unreadable.
//  7. What cannot be read is an error, never treated as empty.
package verify
