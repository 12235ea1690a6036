package startup

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// Each collection sets GOGC by what is in use: a small heap grows by headroom, a larger one by
// twice what is in use.
func TestSmallHeapsAreCollectedSeldom(t *testing.T) {
	usual := debug.SetGCPercent(123)
	defer debug.SetGCPercent(usual)
	delayCollections()
	percent := func() int {
		read := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(read)
		return int(read[0].Value.Uint64())
	}
	if p := percent(); p != 3200 {
		t.Fatalf("before the first collection GOGC is %d, want 3200", p)
	}
	for _, c := range []struct{ inUse, least, most int }{{64 << 20, 180, 200}, {256 << 20, 195, 205}, {0, 1000, 3200}} {
		inUse := make([]byte, c.inUse)
		for end := time.Now().Add(time.Minute); percent() < c.least || percent() > c.most; runtime.GC() {
			if time.Now().After(end) {
				t.Fatalf("a minute of collections later GOGC is %d with %d bytes in use, want %d to %d", percent(), c.inUse, c.least, c.most)
			}
		}
		runtime.KeepAlive(inUse)
	}
}

func TestPercentGrowsHeapByHeadroom(t *testing.T) {
	for _, c := range []struct {
		inUse       uint64
		usual, want int
	}{
		{0, 100, 3200},
		{1 << 20, 100, 3200},
		{8 << 20, 100, 1600},
		{64 << 20, 100, 200},
		{128 << 20, 100, 200},
		{512 << 20, 100, 200},
		{768 << 20, 100, 133},
		{1 << 30, 100, 100},
		{2 << 30, 100, 100},
		{64 << 20, 300, 300},
		{2 << 30, -1, 50},
	} {
		if got := percentFor(c.inUse, c.usual); got != c.want {
			t.Errorf("%d bytes in use, GOGC %d: %d, want %d", c.inUse, c.usual, got, c.want)
		}
	}
}
