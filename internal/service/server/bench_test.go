package server_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// BenchmarkWarm asks again for one component of a fleet of 100 clusters over HTTP, and for the same
// bytes of net/http alone. cpu-µs/op is the processor time of both sides, which work of others on
// the machine does not change by much.
func BenchmarkWarm(b *testing.B) {
	s := launch(b, func(o *server.Options) {
		o.Hub, o.TokenRate, o.TokenBurst = fleettest.Hub, 1e9, 1e9
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) //nolint:sloglint // writing a line is part of what is measured
	})
	s.say(fleettest.Files(fleettest.Options{Clusters: 100}))
	question := fmt.Sprintf(`{"applicationSetName":"try","input":{"parameters":{"view":"components","group":%q,"component":%q}}}`, fleettest.Group, fleettest.Component(0))
	want := s.do(s.request(http.MethodPost, getparams, question))
	if want.code != http.StatusOK {
		b.Fatalf("%d %s", want.code, want.body)
	}
	answer := []byte(want.body)
	memory := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = w.Write(answer)
	}))
	b.Cleanup(memory.Close)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	b.Cleanup(client.CloseIdleConnections)
	for _, side := range []struct{ name, url string }{{"service", s.Addr()}, {"net-http", memory.URL}} {
		b.Run(side.name, func(b *testing.B) {
			b.SetBytes(int64(len(answer)))
			b.ReportAllocs()
			var got bytes.Buffer
			before := processorTime(b)
			for b.Loop() {
				r, err := http.NewRequest(http.MethodPost, side.url+getparams, strings.NewReader(question))
				require.NoError(b, err)
				r.Header.Set("Authorization", "Bearer "+secret)
				r.Header.Set("Content-Type", "application/json")
				resp, err := client.Do(r)
				require.NoError(b, err)
				got.Reset()
				_, err = got.ReadFrom(resp.Body)
				_ = resp.Body.Close()
				if err != nil || got.Len() != len(answer) {
					b.Fatalf("%d bytes, %v", got.Len(), err)
				}
			}
			b.ReportMetric(float64(processorTime(b)-before)/1e3/float64(b.N), "cpu-µs/op")
		})
	}
}

// BenchmarkClients is 64 clients that ask for small answers of several views at once;
// `-mutexprofile` shows where they wait for one another.
func BenchmarkClients(b *testing.B) {
	const clients = 64
	s := launch(b, func(o *server.Options) {
		o.Hub, o.TokenRate, o.TokenBurst, o.MaxConcurrent = fleettest.Hub, 1e9, 1e9, clients
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) //nolint:sloglint // writing a line is part of what is measured
	})
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true}
	s.say(fleettest.Files(fleettest.Options{Clusters: 20}))
	var questions []string
	for _, parameters := range []string{`"view":"members"`, `"view":"releases","group":"addons"`, `"view":"components","group":"addons","component":"component-000"`, `"view":"components","group":"addons","component":"component-001"`} {
		questions = append(questions, `{"applicationSetName":"try","input":{"parameters":{`+parameters+`}}}`)
	}
	b.SetParallelism(clients / runtime.GOMAXPROCS(0))
	b.ReportAllocs()
	var next atomic.Int64
	before := processorTime(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			q := questions[int(next.Add(1))%len(questions)]
			if r := s.do(s.request(http.MethodPost, getparams, q)); r.code != http.StatusOK {
				b.Errorf("%d %s", r.code, r.body)
				return
			}
		}
	})
	b.ReportMetric(float64(processorTime(b)-before)/1e3/float64(b.N), "cpu-µs/op")
}

// processorTime of this process in nanoseconds.
func processorTime(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}
