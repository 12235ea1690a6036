// Package fleetstate resolves the fleet of one snapshot with facts into an immutable State.
package fleetstate
