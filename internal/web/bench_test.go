package web_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// BenchmarkFirstPage asks for the first page of 10,000 clusters with 20 components. Goals: 200 ms,
// 500 KB compressed, and a tenth of the state's memory for the index.
func BenchmarkFirstPage(b *testing.B) {
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	f := &fleet{}
	f.serve(b, "1", fleettest.Files(fleettest.Options{Clusters: 10_000, Components: 20, Tenants: 5, Overrides: 3, Seed: 1}), facts.Set{})
	server := site(b, f)
	state := heap() - before
	first := get(b, server, secret, "/") // makes the index
	ratio := (heap() - before) / state
	if first.code != http.StatusOK {
		b.Fatal(first.body)
	}
	size := 0
	for b.Loop() {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		server.Config.Handler.ServeHTTP(w, r)
		size = w.Body.Len()
	}
	b.ReportMetric(float64(size), "bytes/page")
	b.ReportMetric(ratio, "memory-ratio")
	runtime.KeepAlive(f)
}
