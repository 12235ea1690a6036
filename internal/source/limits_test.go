package source

import (
	"runtime/debug"
	"testing"
)

// What a snapshot may have in memory follows the memory of the process (H10).
func TestSnapshotBytesFollowTheMemoryLimit(t *testing.T) { //nolint:paralleltest // the limit is the process's
	before := debug.SetMemoryLimit(400 << 20)
	defer debug.SetMemoryLimit(before)
	if got := (Limits{}).WithDefaults().Bytes; got < 50<<20 || got > 70<<20 {
		t.Errorf("%d bytes in 400 MiB", got)
	}
	if got := (Limits{Bytes: 123}).WithDefaults().Bytes; got != 123 {
		t.Errorf("%d bytes, and 123 are set", got)
	}
	debug.SetMemoryLimit(64 << 30)
	if got := (Limits{}).WithDefaults().Bytes; got != 512<<20 {
		t.Errorf("%d bytes in 64 GiB", got)
	}
}
