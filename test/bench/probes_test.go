//go:build bench

package bench

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/service/liveness"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// respond is the environment variable that makes TestMain the API servers of all members, in a
// process of its own: what they cost is not the service's.
const respond = "ARGOSY_BENCH_API_SERVERS"

// respondAll responds to probes until the standard input ends.
func respondAll() {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.TLS, s.Config.ErrorLog = &tls.Config{MinVersion: tls.VersionTLS12}, log.New(io.Discard, "", 0)
	s.StartTLS()
	fmt.Println(s.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// apiServers starts the API servers, and returns the clusters' facts and their addresses.
func (b *bench) apiServers(f *fleet) (facts.Set, map[string]string) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), respond+"=1")
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	var url string
	if _, err := fmt.Fscan(out, &url); err != nil {
		b.Fatal(err)
	}
	var clusters []facts.Cluster
	addresses := map[string]string{}
	for i := range f.o.Clusters {
		c := facts.Cluster{Name: fleettest.Cluster(i), Address: fmt.Sprintf("%s/%d", url, i)}
		clusters, addresses[c.Name] = append(clusters, c), c.Address
	}
	return facts.NewSet(false, clusters...), addresses
}

// probe probes all members, as the service does, and returns when each has responded once.
func (b *bench) probe(ctx context.Context, addresses map[string]string) *liveness.Prober {
	b.Helper()
	p := liveness.New(liveness.Options{Members: func() map[string]string { return addresses }})
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	b.Cleanup(running.Wait)
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		silent := ""
		for name := range addresses {
			if _, why := p.Silent(name); why != "" {
				silent = name + ": " + why
			}
		}
		switch {
		case silent == "":
			return p
		case time.Since(began) > 2*time.Minute:
			b.Fatal(silent)
		}
	}
}
