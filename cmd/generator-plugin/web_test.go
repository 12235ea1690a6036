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
)

// TestPagesKnowWhoseEngineReports: what the hub's engine has on a cluster is not said of a cluster
// of that name on another hub, whose engine does not report to this service.
func TestPagesKnowWhoseEngineReports(t *testing.T) {
	repository := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(repository, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, hub := range []string{"hub-1", "hub-2"} {
		write("fleet/fleet-members/"+hub+"/"+hub+".yaml", "{clusterName: "+hub+", tenant: platform, environment: prod, fleet_member: hub-cluster}\n")
		write("fleet/fleet-members/"+hub+"/b.yaml", "{clusterName: b, tenant: retail, environment: prod, secretManagerSecretName: s}\n")
	}
	write("versions/applicationSets.yaml", "releases: {addons: [{type: default, chartRepoRevision: v1}]}\n")
	write("versions/fleetSecrets.yaml", "releases: [{type: default, chartRepo: r, ecrChartName: c, version: '1'}]\n")
	write("addons/defaults/application-sets/addons.yaml", "dns: {enabled: true, namespace: dns, chart: {repoURL: https://charts.example, name: dns, version: 1.0.0}}\n")
	known := file(t, "apiVersion: argosy.dev/v1alpha1\nkind: Facts\nclosed: true\nclusters: [{name: b}]\napplications: [{name: dns-b, cluster: b, group: addons, component: dns, release: default}]\n")
	ctx, end := context.WithCancel(t.Context())
	stderr, status := &lines{out: make(chan string, 10000)}, make(chan int, 1)
	go func() {
		status <- run(ctx, []string{"--source", repository, "--hub", "hub-1", "--token-file", file(t, "secret\n"), "--facts", known, "--listen", "127.0.0.1:0", "--web-addr", "127.0.0.1:0"}, io.Discard, stderr)
	}()
	defer func() { end(); <-status }()
	pages, serves := "", false
	for timeout := time.After(patient); pages == "" || !serves; {
		select {
		case line := <-stderr.out:
			if at, is := strings.CutPrefix(line, "generator-plugin: pages at "); is {
				pages = at
			}
			serves = serves || strings.HasPrefix(line, "generator-plugin: serving ")
		case <-timeout:
			t.Fatal("it never served")
		}
	}
	for hub, want := range map[string]string{"hub-1": "present", "hub-2": "unknown"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pages+"/api/v1/cluster?cluster=b&hub="+hub, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer secret")
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
