package server_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/refresh"
)

// TestBombsTakeLittleMemory: a commit that stands for gigabytes, or that has a problem in each of
// its lines, is read and reported within bounded memory: what is allocated on the way, and what
// is kept. (H10)
func TestBombsTakeLittleMemory(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'z'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 8), c-1)
	}
	const values = "addons/defaults/addons/dns/values.yaml"
	for name, text := range map[string]string{
		"aliases":         laughs,
		"a long text":     "a: &a " + strings.Repeat("x", 500_000) + "\nb: [" + strings.Repeat("*a,", 100_000) + "]\n",
		"deep":            strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		"10,000 problems": strings.Repeat("a: 1\n", 10_001),
	} {
		t.Run(name, func(t *testing.T) {
			s := serving(t)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			s.say(repository(map[string]string{values: text}))
			s.until("quarantined", func(st refresh.Status) bool { return len(st.Quarantined) > 0 })
			ready, _ := s.readiness()
			fleet := s.get("/api/v1/fleet")
			runtime.ReadMemStats(&after)
			all := (after.TotalAlloc - before.TotalAlloc) >> 20
			runtime.GC()
			runtime.ReadMemStats(&after)
			kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
			if all > 200 || kept > 50 || len(ready.body)+len(fleet.body) > 1<<20 || !strings.Contains(ready.body, values) {
				t.Errorf("%d MiB allocated, %d MiB kept, %d bytes of answers: %.300s", all, kept, len(ready.body)+len(fleet.body), ready.body)
			}
			t.Logf("%d MiB allocated, %d MiB kept", all, kept)
		})
	}
}

// TestDistinctBasesTakeLittleMemory: a token that may ask can send any number of catalog entries of
// its own, each once. What the service remembers of them is bounded in bytes. (H10)
func TestDistinctBasesTakeLittleMemory(t *testing.T) {
	s := serving(t)
	var values strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&values, `"k%d":"v",`, i)
	}
	ask := func(i int) {
		base := fmt.Sprintf(`{"enabled":true,"chart":{"repoURL":"r","name":"n","version":"1"},"values":{%s"n":%d}}`, values.String(), i)
		if got := s.ask(`{"view":"components","group":"addons","component":"dns","base":` + base + `}`); got.code != 200 {
			t.Fatalf("%d: %.300s", got.code, got.body)
		}
	}
	ask(-1)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 40 {
		ask(i)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20; kept > 150 {
		t.Errorf("%d MiB kept of 40 entries", kept)
	} else {
		t.Logf("%d MiB kept", kept)
	}
}
