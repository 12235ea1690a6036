package startup

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// The first collection sets GOGC back: only the start of a program differs.
func TestCollectorIsAsEverAfterItsFirstCollection(t *testing.T) {
	usual := debug.SetGCPercent(123)
	defer debug.SetGCPercent(usual)
	delayCollection()
	percent := func() uint64 {
		read := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(read)
		return read[0].Value.Uint64()
	}
	if p := percent(); p != firstCollection {
		t.Fatalf("before the first collection GOGC is %d, want %d", p, firstCollection)
	}
	for end := time.Now().Add(time.Minute); percent() != 123; runtime.GC() {
		if time.Now().After(end) {
			t.Fatalf("a minute of collections later GOGC is %d, want 123", percent())
		}
	}
}
