// Package queryerr has the error of a query that has no response: whose fault it is, and the
// problems.
package queryerr
