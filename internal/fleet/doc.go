// Package fleet reads the layout and the member files of a repository.
//
//  1. fleet/layout.yaml says where things are; what it does not say is as in default_layout.yaml
//     (the contract's defaults). Its templates are parsed and tried when it is loaded, so that a
//     good layout cannot fail for its form.
//  2. A member is one file below the members' path; the hub's and the cluster's name are taken from
//     the path, and the file must agree. Unknown keys are problems with a suggestion.
//  3. Names are DNS-1123 labels that do not collide with the hierarchy's own folders (rule H8).
//  4. A broken member file is a problem of that member alone: the member stays in the fleet, with
//     its problems.
//  5. Two files that claim one cluster or one hub are a problem of that hub: it has no answers. A
//     broken layout or versions file is a problem of the whole repository.
package fleet
