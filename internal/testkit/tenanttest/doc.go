// Package tenanttest generates commits of a hostile tenant, for tests that another tenant's
// parameter sets do not change.
//
//	files := tenanttest.Fleet(variant)        // a fleet with the tenants Red and Blue
//	change := tenanttest.Commit(files, bytes) // the same fleet after a commit of tenant Red
//	snapshot, err := change.Snapshot("rev")
//
// Callers may rely on:
//
//  1. A commit is a pure function of the bytes, which may be any: each choice of the grammar takes
//     one byte. A fuzzer that changes bytes changes choices, and a short input is a small commit.
//  2. A commit touches only the folders of tenant Red and the files of its members. Its links may
//     lead anywhere.
//  3. The grammar writes valid and invalid input: values, catalogs, registrations, templates,
//     links, names, nulls, anchors, depth and size.
package tenanttest
