//go:build bench

package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// script is a source whose snapshots the benchmark sets.
type script struct{ says chan *snapshot.Snapshot }

func (s *script) Snapshot(context.Context) (*snapshot.Snapshot, error) { return <-s.says, nil }
func (s *script) Refresh()                                             {}
func (s *script) String() string                                       { return "script" }
func (s *script) Close() error                                         { return nil }
func (s *script) Watch(ctx context.Context, update func(*snapshot.Snapshot, error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-s.says:
			update(next, nil)
		}
	}
}

const token = "the-token-of-all-the-benchmarks"

// service is the real server, in this process.
type service struct {
	*server.Server
	script *script
	client *http.Client
}

func serve(t *testing.T, first *snapshot.Snapshot, change ...func(*server.Options)) *service {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(token), 0o600))
	s := &service{script: &script{says: make(chan *snapshot.Snapshot)}, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true}}}
	o := server.Defaults()
	o.Source, o.Hub, o.Listen, o.TokenFile = s.script, fleettest.Hub, "127.0.0.1:0", file
	o.TokenRate, o.TokenBurst, o.MaxResponseBytes = 1e6, 1e6, 1<<30
	o.MaxConcurrent, o.MaxWait, o.Logger = clients, time.Minute, slog.New(slog.DiscardHandler)
	for _, c := range change {
		c(&o)
	}
	var err error
	s.Server, err = server.New(o)
	require.NoError(t, err)
	require.NoError(t, s.Start(context.Background()))
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		assert.NoError(t, s.Stop(context.Background()))
	})
	s.push(t, first)
	return s
}

// push gives the service a snapshot and waits until it is served.
func (s *service) push(t *testing.T, next *snapshot.Snapshot) {
	t.Helper()
	s.script.says <- next
	deadline := time.After(time.Minute)
	for {
		changed := s.Refresher().Changed()
		if st := s.Refresher().State(); st != nil && st.Revision == next.Revision {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%s is not served: %v", next.Revision, s.Refresher().Status())
		}
	}
}

// ask asks a server and reads the whole answer.
func (s *service) ask(url, parameters string, body io.Writer) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/api/v1/getparams.execute",
		bytes.NewReader([]byte(`{"applicationSetName":"bench","input":{"parameters":`+parameters+`}}`)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err = io.Copy(body, response.Body); err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return err
}

func parameters(component int) string {
	return fmt.Sprintf(`{"view":"components","group":%q,"component":%q}`, fleettest.Group, fleettest.Component(component))
}

// warm asks again for one component over HTTP, and for the same bytes of a server that has them in
// memory.
func (b *bench) warm(f *fleet) {
	b.Helper()
	s := serve(b.T, f.read())
	var want bytes.Buffer
	require.NoError(b, s.ask(s.Addr(), parameters(0), &want))
	memory := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(want.Len()))
		_, _ = w.Write(want.Bytes())
	}))
	defer memory.Close()
	took := func(url string) (v []float64) {
		for range 5 {
			start := time.Now()
			require.NoError(b, s.ask(url, parameters(0), io.Discard))
			v = append(v, time.Since(start).Seconds())
		}
		return v
	}
	row := figure{what: "components over HTTP, warm", fleet: f.name, against: "net/http from memory", goal: atMost(1.5, "x")}
	var ours, theirs []float64
	for range 3 * b.rounds() {
		x, y := median(took(s.Addr())), median(took(memory.URL))
		ours, theirs, row.rounds = append(ours, x), append(theirs, y), append(row.rounds, x/y)
	}
	var again bytes.Buffer
	if err := s.ask(s.Addr(), parameters(0), &again); err != nil || !bytes.Equal(again.Bytes(), want.Bytes()) {
		b.Fatalf("the answer is another one: %v", err)
	}
	row.detail = fmt.Sprintf("%.3g MB, %s, memory %s", float64(want.Len())/1e6, seconds(median(ours)), seconds(median(theirs)))
	b.add(row)
}

// clients is how many ask at once.
const clients = 64

// views are what they ask for, in turns.
func views() map[string]string {
	return map[string]string{
		"members":     `{"view":"members"}`,
		"releases":    fmt.Sprintf(`{"view":"releases","group":%q}`, fleettest.Group),
		"component 1": parameters(1),
		"component 2": parameters(2),
		"one cluster": fmt.Sprintf(`{"view":"components","group":%q,"selector":{"matchLabels":{"tenant":"tenant-1","environment":"dev"}}}`, fleettest.Group),
	}
}

// throughput asks for mixed views with one client and with many, while new revisions come.
func (b *bench) throughput(f *fleet, wanted time.Duration) {
	b.Helper()
	first := f.read()
	s := serve(b.T, first)
	scale := figure{what: "64 clients, mixed views, refreshes", fleet: f.name, against: "one client", goal: atLeast(1, "x")}
	tail := figure{what: "64 clients: p99 of the slowest view", fleet: f.name, against: "its p50", goal: atMost(5, "x")}
	errs := figure{what: "64 clients: errors", fleet: f.name, against: "none", goal: goal{}}
	var total int
	for range b.rounds() {
		one := s.load(b.T, f, first, 1, wanted)
		many := s.load(b.T, f, first, clients, wanted)
		scale.rounds = append(scale.rounds, float64(many.count)/many.took/(float64(one.count)/one.took))
		tail.rounds = append(tail.rounds, many.worst())
		errs.rounds = append(errs.rounds, float64(one.failed+many.failed))
		scale.detail = fmt.Sprintf("%.0f answers a second, one client %.0f; %d revisions meanwhile", float64(many.count)/many.took, float64(one.count)/one.took, many.revisions)
		tail.detail = many.slowest()
		total += one.count + many.count
	}
	errs.detail = fmt.Sprintf("of %d answers", total)
	if median(errs.rounds) > 0 {
		b.Errorf("%s: %v errors", f.name, errs.rounds)
	}
	b.add(scale)
	b.add(tail)
	b.add(errs)
}

// loaded is what came of a load.
type loaded struct {
	count, failed, revisions int
	took                     float64
	latencies                map[string][]float64
}

// load asks with so many clients for a while, during which one cluster's file changes again and
// again.
func (s *service) load(t *testing.T, f *fleet, first *snapshot.Snapshot, clients int, wanted time.Duration) loaded {
	t.Helper()
	out := loaded{latencies: map[string][]float64{}}
	var mu sync.Mutex
	ctx, cancel := context.WithTimeout(context.Background(), wanted)
	defer cancel()
	names := make([]string, 0, len(views()))
	for name := range views() {
		names = append(names, name)
	}
	slices.Sort(names)
	start := time.Now()
	var asking sync.WaitGroup
	for c := range clients {
		asking.Go(func() {
			for i := c; ctx.Err() == nil; i++ {
				name := names[i%len(names)]
				began := time.Now()
				err := s.ask(s.Addr(), views()[name], io.Discard)
				took := time.Since(began).Seconds()
				mu.Lock()
				out.count++
				if err != nil {
					out.failed++
				}
				out.latencies[name] = append(out.latencies[name], took)
				mu.Unlock()
			}
		})
	}
	for tick := time.NewTicker(wanted / 8); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
			tick.Stop()
		case <-tick.C:
			first = f.commit(first, always, f.clusterFile(out.revisions%f.o.Clusters))
			s.push(t, first)
			out.revisions++
		}
	}
	asking.Wait()
	out.took = time.Since(start).Seconds()
	return out
}

// worst is the largest ratio of p99 to p50 of all views.
func (l loaded) worst() (ratio float64) {
	for _, v := range l.latencies {
		ratio = max(ratio, quantile(v, 0.99)/quantile(v, 0.5))
	}
	return ratio
}

func (l loaded) slowest() string {
	name, ratio := "", 0.0
	for n, v := range l.latencies {
		if r := quantile(v, 0.99) / quantile(v, 0.5); r > ratio {
			name, ratio = n, r
		}
	}
	v := l.latencies[name]
	return fmt.Sprintf("%s: p50 %s, p99 %s", name, seconds(quantile(v, 0.5)), seconds(quantile(v, 0.99)))
}

func quantile(v []float64, q float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[min(len(v)-1, int(q*float64(len(v))))]
}
