//go:build !linux

package sandbox

// restrict does nothing: only on Linux does the kernel bound memory and files.
func restrict() error { return nil }
