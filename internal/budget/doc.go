// Package budget bounds what members cost the service, each alone and in sum by tenant.
//
//	Account  counts what computing one member costs, and ends it at the member's limit (H10)
//	Ledger   sums a tenant's accounts, and says which member exceeds the tenant's budget (W2)
//
// Its rules:
//
//  1. A Cost is counted, not measured: it is the same on every machine and in every run (G6).
//  2. A tenant's budget grows with the number of its members, which the platform declares.
//  3. What a Ledger says depends on the costs in the members' order alone. The order in which
//     members are computed, and which of them are reused, does not change it.
//  4. Members behind the one that exceeds the budget need not be computed: so an excess costs no
//     more than the budget itself.
package budget
