//go:build !linux

package sandbox

import "runtime/debug"

// restrict bounds the memory as far as Go's collector can. Only on Linux does the kernel bound
// memory and files.
func restrict() error {
	debug.SetMemoryLimit(maxMemory / 4 * 3)
	debug.SetMaxStack(maxMemory / 8)
	return nil
}

func beginRendering() error { return nil }
