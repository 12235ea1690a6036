// Package fleet reads the layout, the versions and the member files of a repository. The result, a
// Fleet, says which members every hub has, where the files of each are, and which removals have
// been approved.
//
//  1. fleet/layout.yaml says where files are. What it leaves out is as in default_layout.yaml, the
//     contract's defaults. Load parses and tries its templates, so that an accepted layout cannot
//     fail for its form later.
//  2. A member is one file below the members' path. The path gives the names of the hub and the
//     cluster, and the file must agree. Unknown keys are problems with a suggestion. The layout may
//     declare a hub instead, with the keys of its member file (T0).
//  3. Names are DNS-1123 labels that do not collide with the hierarchy's own folders (H8).
//  4. An invalid member file is a problem of that member alone: the member stays in the fleet, with
//     its problems.
//  5. Two files that claim one cluster or one hub are a problem of that hub, which gets no
//     responses. An invalid layout or versions file is a problem of the whole repository.
//  6. What the text of a path template reads decides what the path depends on, not a dry run:
//     whether all clusters share it, and whether it belongs to a tenant.
package fleet
