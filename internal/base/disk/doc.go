// Package disk replaces files in one step, and keeps the value that is parsed from files that
// change: certificates, tokens, facts.
//
//	disk.Write("plan.md", ".plan-*", data)
//	f, err := disk.Open(...) // f's value follows the file
//
// Open returns an error for files that cannot be used. Later, such a file leaves the last good
// value in use, and its error is logged once. A change is found by content: neither size nor time
// shows that a mounted Secret or ConfigMap has changed.
package disk
