package registry_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/service/registry"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestClusterThatIsLeftOutIsLoggedOnce: the same problem of the same cluster is logged once, and
// not with each state that is pulled: states change all the time. One that comes back is news.
func TestClusterThatIsLeftOutIsLoggedOnce(t *testing.T) {
	left := []problem.Problem{{Cluster: "a", Found: "broken"}, {Cluster: "a", Found: "broken twice"}}
	var log bytes.Buffer
	g := registry.New(func(*fleetstate.State, string, string) (flux.Artifact, error) {
		return flux.Artifact{LeftOut: left}, nil
	}, 1<<20, slog.New(slog.NewTextHandler(&log, nil)))
	pull := func(want int) {
		t.Helper()
		log.Reset()
		for range 10 {
			ref, _ := registry.Parse("/v2/flux/hub-1/hub/manifests/latest")
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			require.NoError(t, g.Serve(httptest.NewRecorder(), r, ref, new(fleetstate.State)))
		}
		if n := strings.Count(log.String(), "\n"); n != want {
			t.Errorf("%d lines; expected %d:\n%s", n, want, log.String())
		}
	}
	pull(2)
	all := left
	left = nil
	pull(0)
	left = all[1:]
	pull(1)
}
