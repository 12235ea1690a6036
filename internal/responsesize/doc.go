// Package responsesize keeps tenants from making a response too large for all.
//
//	Judge.Holds(previous, desired) -> the tenants to hold
//
// A response beyond its limit is given to nobody. Its rules:
//
//  1. A candidate state is asked what engines ask. Where tenants' own files bring a response beyond
//     three quarters of the limit, those that grow most are held until the others fit: they are
//     served from their last known good snapshots (G11). A quarter is left to what the platform
//     changes.
//  2. What the platform's files change holds nobody. Nor does a tenant whose values shrink.
//  3. Only responses of views with sets of single members count, and queries that are known.
//  4. Flux Operator's inputs have its limit of bytes, and the number that a provider takes. An
//     excess of that number is judged as one of bytes.
package responsesize
