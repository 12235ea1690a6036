//go:build bench

package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/liveness"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/web"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// readers have a page open at once, for readersFor at most.
const (
	readers    = 1000
	readersFor = 20 * time.Second
)

// TestPages measures the pages, and nothing else.
func TestPages(t *testing.T) {
	b := &bench{T: t}
	if _, err := fmt.Sscan(*sizes, &b.clusters); err != nil {
		t.Fatal(err)
	}
	b.pages(newFleet(t, sparse, b.clusters), readersFor)
}

// pages asks for the first page again and again, and then keeps it open for many readers, while all
// members are probed.
func (b *bench) pages(f *fleet, idleFor time.Duration) {
	b.Helper()
	known, addresses := b.apiServers(f)
	s := serve(b.T, f.read(), func(o *server.Options) { o.Facts = refresh.StaticFacts{Set: known} })
	before := float64(heap())
	ctx, stop := context.WithCancel(context.Background())
	b.Cleanup(stop)
	prober := b.probe(ctx, addresses)
	probed := float64(heap())
	site, err := web.New(web.Options{Fleet: s.Refresher(), Tokens: s.Tokens(), Logger: slog.New(slog.DiscardHandler), Live: func() overview.Live {
		return overview.Live{Version: prober.Version(), Unreachable: prober.Silent}
	}})
	require.NoError(b, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	var serving sync.WaitGroup
	serving.Go(func() { _ = site.Serve(ctx, listener) })
	defer serving.Wait()
	defer stop()
	get := func(path string) *http.Response {
		b.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String()+path, nil)
		require.NoError(b, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Accept-Encoding", "gzip")
		response, err := s.client.Do(r)
		if err != nil || response.StatusCode != http.StatusOK {
			b.Fatalf("%s: %v, %v", path, response, err)
		}
		return response
	}
	idle := func() float64 {
		used, began := processor(), time.Now()
		time.Sleep(idleFor)
		return 100 * (processor() - used) / time.Since(began).Seconds()
	}
	probes := idle()
	b.add(figure{what: "probes of all members", fleet: f.name, against: "one core", goal: goal{unit: "%"}, rounds: []float64{probes}, detail: fmt.Sprintf("one in %s each", liveness.DefaultInterval)})
	size := int64(0)
	page := func() float64 {
		start, used := time.Now(), processor()
		response := get("/")
		size, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		took := time.Since(start).Seconds()
		if *clock == "cpu" { // the machine may have other work, and this process has the probes'
			return max(0, processor()-used-took*probes/100)
		}
		return took
	}
	cold := page() // makes the index
	var took []float64
	for range 100 {
		took = append(took, page())
	}
	slices.Sort(took)
	b.add(figure{what: "first page: p95", fleet: f.name, against: "200 ms", goal: atMost(100, "%"), rounds: []float64{100 * took[94] / 0.2}, detail: seconds(took[94]) + ", the first one " + seconds(cold)})
	b.add(figure{what: "first page, compressed", fleet: f.name, against: "500 kB", goal: atMost(100, "%"), rounds: []float64{100 * float64(size) / 500e3}, detail: fmt.Sprintf("%d bytes", size)})
	index := float64(heap())
	b.add(figure{what: "memory with pages", fleet: f.name, against: "the state's", goal: atMost(1.1, "x"), rounds: []float64{index / before}, detail: fmt.Sprintf("%.1f MB, %.1f MB without, %.1f MB after the first probe of all", index/1e6, before/1e6, probed/1e6)})

	for range readers {
		response := get("/api/v1/events")
		events := bufio.NewReader(response.Body)
		if line, err := events.ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: ") {
			b.Fatalf("%q, %v", line, err)
		}
		b.Cleanup(func() { response.Body.Close() })
		go func() { _, _ = io.Copy(io.Discard, events) }()
	}
	share := max(0, idle()-probes)
	b.add(figure{what: fmt.Sprintf("%d idle readers, with their clients", readers), fleet: f.name, against: "one core", goal: atMost(5, "%"), rounds: []float64{share}, detail: fmt.Sprintf("%.2f%% of a core, and %.2f%% for probes", share, probes)})
}

// processor is the processor time of this process so far, in seconds.
func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(os.NewSyscallError("getrusage", err))
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
