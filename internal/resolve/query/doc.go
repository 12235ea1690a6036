// Package query reads the parameters of a query and checks them against a state.
package query
