package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
)

const (
	questionEvery = 100 * time.Millisecond
	// lag is how long a Service still sends requests to a pod that is being stopped.
	lag = time.Second
)

// rollingUpgrade replaces two replicas by those of another build and back, one at a time as the
// Deployment does, under a question every 100 ms. No response fails, and none differs: also while a
// member is served from its last known good snapshot, and while the other build has another format
// of the state.
func rollingUpgrade(t *testing.T, o *operated) {
	next, other := filepath.Join(o.dir, "next"), filepath.Join(o.dir, "other-format")
	o.compile(t, next, "v99.0.0", "", "")
	o.compile(t, other, "v99.1.0", `s, "accepted", 3)`, `s, "accepted", 4)`)

	must(t, o.cluster.Client.Apply(t.Context(), argocd.Namespace, []byte(strings.NewReplacer("dns-c", "dns-a", "cluster: c", "cluster: a").Replace(applicationOfC))))
	b := &balancer{o: o}
	b.add(t, "n-1", o.build())
	b.add(t, "n-2", o.build())
	o.write(t, memberA, "clusterName: [\n")
	o.push(t)
	b.agree(t, func(body string) bool {
		return strings.Contains(body, `"hold":"broken"`) && strings.Contains(body, `"name":"a"`)
	})
	b.under(t, "another version, while a member is broken", func() {
		b.replace(t, "next", next)
		b.replace(t, "back", o.build())
	})

	// A build with another format of the state has no last known good snapshot: it refuses the
	// query, and names the member.
	refusing := o.replica(t, "refusing", other)
	code, body, err := query(t.Context(), refusing.URL, b.token, queries[0])
	must(t, err)
	if code != http.StatusServiceUnavailable || !strings.Contains(string(body), memberA) {
		t.Errorf("a build that cannot read the state: %d %s; expected 503, and %s", code, body, memberA)
	}
	must(t, refusing.Process.Stop())

	o.restore(t)
	b.agree(t, func(body string) bool { return !strings.Contains(body, `"hold":"broken"`) })
	b.under(t, "another format of the state", func() {
		b.replace(t, "other", other)
		b.replace(t, "again", o.build())
	})
}

// compile builds the service as another version, with a change of internal/refresh/checkpoint.go.
func (o *operated) compile(t *testing.T, binary, version, old, with string) {
	t.Helper()
	args := []string{"build", "-trimpath", "-ldflags", "-s -w -X main.version=" + version, "-o", binary}
	if old != "" {
		const file = "internal/refresh/checkpoint.go"
		text, err := os.ReadFile(filepath.Join(o.checkout, file))
		must(t, err)
		if !bytes.Contains(text, []byte(old)) {
			t.Fatalf("%s has no %q", file, old)
		}
		changed, overlay := binary+".go", binary+".json"
		must(t, os.WriteFile(changed, bytes.Replace(text, []byte(old), []byte(with), 1), 0o600))
		replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(o.checkout, file): changed}})
		must(t, err)
		must(t, os.WriteFile(overlay, replaced, 0o600))
		args = append(args, "-overlay", overlay)
	}
	build := exec.CommandContext(t.Context(), "go", append(args, "./cmd/generator-plugin")...)
	build.Dir, build.Env = o.checkout, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
}

// balancer sends questions to the ready replicas in turn, as a Service does.
type balancer struct {
	o     *operated
	token string
	all   []*plugin.Plugin // that run, in the order of their start

	mu    sync.Mutex // guards what follows
	ready []string
	turn  int
}

func (b *balancer) add(t *testing.T, name, binary string) {
	t.Helper()
	p := b.o.replica(t, name, binary) // until it is ready
	var err error
	b.token, err = p.Token()
	must(t, err)
	b.all = append(b.all, p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = append(b.ready, p.URL)
}

// replace starts two replicas of another build, and stops the oldest when one is ready.
func (b *balancer) replace(t *testing.T, name, binary string) {
	t.Helper()
	for i := range 2 {
		b.add(t, fmt.Sprintf("%s-%d", name, i+1), binary)
		oldest := b.all[0]
		b.all = b.all[1:]
		removal := time.AfterFunc(lag, func() { b.remove(oldest.URL) })
		must(t, oldest.Process.Stop())
		if removal.Stop() {
			t.Fatalf("the replica ended before requests to it did: within %s; the drain delay is 2s", lag)
		}
	}
}

func (b *balancer) remove(url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = slices.DeleteFunc(b.ready, func(u string) bool { return u == url })
}

func (b *balancer) next() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	return b.ready[b.turn%len(b.ready)]
}

// agree waits until both replicas give the same responses, which are as they should be.
func (b *balancer) agree(t *testing.T, good func(components string) bool) {
	t.Helper()
	b.o.eventually(t, "the replicas agree", func() string {
		for i, q := range queries {
			var bodies []string
			for _, p := range b.all {
				code, body, err := query(t.Context(), p.URL, b.token, q)
				if err != nil || code != http.StatusOK {
					return fmt.Sprint(code, string(body), err)
				}
				bodies = append(bodies, string(body))
			}
			if bodies[0] != bodies[1] || i == 0 && !good(bodies[0]) {
				return strings.Join(bodies, "\n")
			}
		}
		return ""
	})
}

// under asks while something happens, and fails for each response that failed or differs from the
// one before.
func (b *balancer) under(t *testing.T, what string, happens func()) {
	t.Helper()
	want := make([]string, len(queries))
	for i, q := range queries {
		code, body, err := query(t.Context(), b.next(), b.token, q)
		must(t, err)
		if code != http.StatusOK {
			t.Fatalf("%d %s", code, body)
		}
		want[i] = string(body)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex // guards what follows
	var wrong []string
	asked, failed, changed := 0, 0, 0
	ask := func(i int) {
		url := b.next()
		code, body, err := query(context.WithoutCancel(ctx), url, b.token, queries[i])
		mu.Lock()
		defer mu.Unlock()
		asked++
		switch {
		case err != nil || code != http.StatusOK:
			failed++
			wrong = append(wrong, fmt.Sprintf("%s: %v: %d %s %v", url, queries[i], code, body, err))
		case string(body) != want[i]:
			changed++
			wrong = append(wrong, fmt.Sprintf("%s: %v: %s, want %s", url, queries[i], body, want[i]))
		}
	}
	wg.Go(func() {
		tick := time.NewTicker(questionEvery)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				wg.Go(func() { ask(i % len(queries)) })
			}
		}
	})
	happens()
	cancel()
	wg.Wait()
	t.Logf("%s: %d questions, %d failed, %d changed", what, asked, failed, changed)
	if asked < 20 {
		t.Errorf("%s: %d questions", what, asked)
	}
	for _, w := range wrong[:min(5, len(wrong))] {
		t.Error(w)
	}
}
