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

	"github.com/argosy-hub/argosy/internal/web"
)

// readers have a page open at once, for readersFor.
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
	b.pages(newFleet(t, sparse, b.clusters))
}

// pages asks for the first page again and again, and then keeps it open for many readers.
func (b *bench) pages(f *fleet) {
	b.Helper()
	s := serve(b.T, f.read())
	before := float64(heap())
	site, err := web.New(web.Options{Fleet: s.Refresher(), Tokens: s.Tokens(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = site.Serve(ctx, listener) })
	defer serving.Wait()
	defer stop()
	get := func(path string) *http.Response {
		b.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String()+path, nil)
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Accept-Encoding", "gzip")
		response, err := s.client.Do(r)
		if err != nil || response.StatusCode != http.StatusOK {
			b.Fatalf("%s: %v, %v", path, response, err)
		}
		return response
	}
	size := int64(0)
	page := func() float64 {
		start, used := time.Now(), processor()
		response := get("/")
		size, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if *clock == "cpu" { // the machine may have other work
			return processor() - used
		}
		return time.Since(start).Seconds()
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
	b.add(figure{what: "memory with pages", fleet: f.name, against: "the state's", goal: atMost(1.1, "x"), rounds: []float64{index / before}, detail: fmt.Sprintf("%.1f MB, %.1f MB without", index/1e6, before/1e6)})

	for range readers {
		response := get("/api/v1/events")
		events := bufio.NewReader(response.Body)
		if line, err := events.ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: ") {
			b.Fatalf("%q, %v", line, err)
		}
		b.Cleanup(func() { response.Body.Close() })
		go func() { _, _ = io.Copy(io.Discard, events) }()
	}
	used, began := processor(), time.Now()
	time.Sleep(readersFor)
	share := 100 * (processor() - used) / time.Since(began).Seconds()
	b.add(figure{what: fmt.Sprintf("%d idle readers, with their clients", readers), fleet: f.name, against: "one core", goal: atMost(5, "%"), rounds: []float64{share}, detail: fmt.Sprintf("%.2f%% of a core", share)})
}

// processor is the processor time of this process so far, in seconds.
func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(os.NewSyscallError("getrusage", err))
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
