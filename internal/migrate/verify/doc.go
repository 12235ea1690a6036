// Package verify compares the Applications that Argosy makes with the live ones, or with the ones
// that ApplicationSets make.
//
//	Application -> Reader -> normal form;  Match(ours, live) -> pairs -> Differences, with positions
//
// Its rules:
//
//  1. Two Applications are equal if Argo CD deploys the same from them: their normal forms are
//     equal. Names, labels and annotations are no part of it.
//  2. The normal form begins with Argo CD's own normalisation. It has a list of sources, a revision
//     for each, and the destination's cluster by its name, whether an Application names it or its
//     server. An automated sync that is switched off is none.
//  3. Value files, values, valuesObject and parameters become one tree of values, by Helm's merge
//     and in Helm's order. A source that only brings value files is then left out.
//  4. Value files of a remote chart cannot be read. They stay as they are if they come first, and
//     are Unreadable otherwise.
//  5. The name of a Helm release is part of the normal form: Argo CD takes the Application's name
//     where the source has none.
//  6. Variables of Argo CD's build environment are expanded where Argo CD expands them. Files
//     beside the manifests that change Helm's options make an Application Unreadable.
//  7. What cannot be read is an error, never taken for empty.
package verify
