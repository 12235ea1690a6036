package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// sources are the lists of Flux's sources.
var sources = []string{"/apis/source.toolkit.fluxcd.io/v1/namespaces/fl/gitrepositories", "/apis/source.toolkit.fluxcd.io/v1/namespaces/fl/ocirepositories"}

// flux is an API server with one HelmRelease and one Kustomization, or one that does not allow to
// see it.
func flux(t *testing.T, allowed bool) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		name := map[string]string{
			"/apis/helm.toolkit.fluxcd.io/v2/namespaces/fl/helmreleases": "dns-one", "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/fl/kustomizations": "quotas-one",
		}[r.URL.Path]
		isSource := slices.Contains(sources, r.URL.Path)
		switch {
		case name == "" && !isSource:
			t.Errorf("asked for %s", r.URL.Path)
		case !allowed:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
		case r.URL.Query().Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case isSource:
			fmt.Fprint(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		default:
			fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[
				{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":%q,"namespace":"fl","resourceVersion":"1",
					"labels":{"argosy.dev/cluster":"one","argosy.dev/hub":"h","argosy.dev/owner":"one"}}}]}`, name)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// With --flux-namespace, facts are complete when it is known what Flux has, or that this may not be
// known; what a file says of clusters is there as well.
func TestFactsOfFlux(t *testing.T) {
	both := []facts.Application{
		{Name: "dns-one", Cluster: "one", Owner: "h/one"},
		{Name: "quotas-one", Kind: "Kustomization", Cluster: "one", Owner: "h/one"},
	}
	for allowed, want := range map[bool][]facts.Application{true: both, false: nil} {
		server := flux(t, allowed)
		config := file(t, `{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x}}], clusters: [{name: x, cluster: {server: "`+server.URL+`"}}]}`)
		f, err := parse([]string{
			"--source", ".", "--hub", "h", "--token-file", "t", "--kubeconfig", config, "--flux-namespace", "fl",
			"--facts", file(t, "kind: Facts\nclusters: [{name: one, server: https://one}]\n"),
		}, io.Discard)
		require.NoError(t, err)
		known, sets, err := f.openFacts(f.log.logger(io.Discard))
		if err != nil || sets != nil {
			t.Fatal(err, sets)
		}
		if _, complete := known.Current(); complete {
			t.Error("complete before anything was asked")
		}
		ctx, cancel := context.WithTimeout(t.Context(), patient)
		changed, ended := make(chan struct{}, 100), make(chan struct{})
		go func() {
			defer close(ended)
			known.Run(ctx, func() { changed <- struct{}{} })
		}()
		for complete := false; !complete; _, complete = known.Current() {
			select {
			case <-changed:
			case <-ctx.Done():
				t.Fatal("never complete")
			}
		}
		set, _ := known.Current()
		if got, is := set.HelmReleases(); is != allowed || !slices.Equal(got, want) {
			t.Errorf("HelmReleases %+v, %v, want %+v", got, is, want)
		}
		if c, _ := set.Of("one"); c.Server != "https://one" || known.Err() != nil {
			t.Errorf("%+v, %v", c, known.Err())
		}
		cancel()
		select {
		case <-ended:
		case <-time.After(patient):
			t.Fatal("does not end")
		}
	}
}

// forgetful is a provider that notes what it is to forget.
type forgetful struct {
	refresh.StaticFacts
	isMember func(name string) bool
}

func (f *forgetful) Forget(isMember func(name string) bool) { f.isMember = isMember }

// The facts of clusters are forgotten through those of Flux and of grants, too.
func TestExtendedFactsForget(t *testing.T) {
	f := &forgetful{}
	var p refresh.FactsProvider = extended{FactsProvider: extended{FactsProvider: f}}
	p.(refresh.Forgetter).Forget(func(name string) bool { return name == "one" })
	if f.isMember == nil || !f.isMember("one") || f.isMember("two") {
		t.Error("the provider of clusters is not called")
	}
}
