package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestPagesKnowWhoseEngineReports: what the hub's engine has on a cluster is not said of a cluster
// of that name on another hub, whose engine does not report to this service.
func TestPagesKnowWhoseEngineReports(t *testing.T) {
	known := file(t, "apiVersion: argosy.dev/v1alpha1\nkind: Facts\nclosed: true\nclusters: [{name: b}]\napplications: [{name: dns-b, cluster: b, group: addons, component: dns, release: default}]\n")
	pages, _, _ := withPages(t, "--facts", known, "--drain-delay", "0s")
	for hub, want := range map[string]string{"hub-1": "present", "hub-2": "unknown"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pages+"/api/v1/cluster?cluster=b&hub="+hub, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		code, body := answer(t, r)
		var twin struct {
			View struct {
				Components []struct{ Running struct{ State string } }
			}
		}
		if err := json.Unmarshal([]byte(body), &twin); err != nil || len(twin.View.Components) != 1 || twin.View.Components[0].Running.State != want {
			t.Errorf("%s: %d %s; expected %q", hub, code, body, want)
		}
	}
}

// withPages starts the service of a fleet with a cluster b on each of two hubs, and returns the
// addresses of its pages and its API, and what ends it.
func withPages(t *testing.T, args ...string) (pages, api string, end func()) {
	t.Helper()
	repository := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(repository, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for _, hub := range []string{"hub-1", "hub-2"} {
		write("fleet/fleet-members/"+hub+"/"+hub+".yaml", "{clusterName: "+hub+", tenant: platform, environment: prod, fleet_member: hub-cluster}\n")
		write("fleet/fleet-members/"+hub+"/b.yaml", "{clusterName: b, tenant: retail, environment: prod, secretManagerSecretName: s}\n")
	}
	write("versions/applicationSets.yaml", "releases: {addons: [{type: default, chartRepoRevision: v1}]}\n")
	write("versions/fleetSecrets.yaml", "releases: [{type: default, chartRepo: r, ecrChartName: c, version: '1'}]\n")
	write("addons/defaults/application-sets/addons.yaml", "dns: {enabled: true, namespace: dns, chart: {repoURL: https://charts.example, name: dns, version: 1.0.0}}\n")
	ctx, end := context.WithCancel(t.Context())
	stderr, status := &lines{out: make(chan string, 10000)}, make(chan int, 1)
	all := append([]string{"--source", repository, "--hub", "hub-1", "--token-file", file(t, token+"\n"), "--listen", "127.0.0.1:0", "--web-addr", "127.0.0.1:0"}, args...)
	go func() { status <- run(ctx, all, io.Discard, stderr) }()
	t.Cleanup(func() { end(); <-status })
	for timeout := time.After(patient); pages == "" || api == ""; {
		select {
		case line := <-stderr.out:
			if at, is := strings.CutPrefix(line, "generator-plugin: pages at "); is {
				pages = at
			}
			if _, at, is := strings.Cut(line, " at "); is && strings.HasPrefix(line, "generator-plugin: serving ") {
				at, _, _ = strings.Cut(at, ",")
				api = "http://" + strings.TrimPrefix(at, "http://")
			}
		case <-timeout:
			t.Fatal("it never served")
		}
	}
	return pages, api, end
}

// TestPagesDrainAsTheAPIDoes: what still arrives while a replica leaves its Service is served.
func TestPagesDrainAsTheAPIDoes(t *testing.T) {
	t.Parallel()
	pages, api, end := withPages(t, "--drain-delay", "5s")
	get := func(url string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		code, _ := answer(t, r)
		return code
	}
	end()
	for timeout := time.After(patient); get(api+"/readyz") != http.StatusServiceUnavailable; {
		select {
		case <-timeout:
			t.Fatal("it is ready for ever")
		default:
		}
	}
	if code := get(pages + "/"); code == 0 || code >= http.StatusInternalServerError {
		t.Errorf("the page: %d", code)
	}
}
