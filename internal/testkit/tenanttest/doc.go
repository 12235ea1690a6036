// Package tenanttest writes what a hostile tenant might commit, for tests of rule W1.
//
//	Fleet(variant) -> the files of a fleet with the tenants Red and Blue
//	Commit(files, decisions) -> the same fleet after a commit of tenant Red
//
// Its rules:
//
//  1. A commit is a pure function of the decisions, any bytes: each choice of the grammar takes
//     one. So a fuzzer that changes bytes changes choices, and a short input is a small commit.
//  2. A commit touches the folders of tenant Red and the files of its members, and nothing else.
//     Links lead anywhere.
//  3. The grammar writes what a platform expects of a tenant and what it does not: values,
//     catalogs, registrations, templates, links, names, nulls, anchors, depth and size.
package tenanttest
