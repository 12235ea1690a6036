// Package query reads the parameters of a query and checks them against a state. An ApplicationSet
// sends them as input.parameters of its plugin generator:
//
//	{"view": "components", "group": "addons", "component": "external-dns", "owner": "hub"}
//
// Parse checks their form, and Check that the state has the hub, the group and the owner. The
// error of both is a *problem.QueryError.
package query
