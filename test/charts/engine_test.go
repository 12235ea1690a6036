package charts_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	service "github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/dir"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// newEngine starts the service itself on this repository's fleet, and returns its address and the
// state that it answers from.
func newEngine(t *testing.T) (string, *fleetstate.State) {
	t.Helper()
	folder, err := dir.New(repo, source.Limits{})
	require.NoError(t, err)
	tokenFile := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(tokenFile, []byte(token+"\n"), 0o600))
	o := service.Defaults()
	o.Source, o.Hub, o.Listen, o.TokenFile, o.Logger = folder, "hub-eu", "127.0.0.1:0", tokenFile, slog.New(slog.DiscardHandler)
	server, err := service.New(o)
	require.NoError(t, err)
	require.NoError(t, server.Start(t.Context()))
	t.Cleanup(func() {
		assert.NoError(t, server.Stop(context.Background()))
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if state := server.Refresher().State(); state != nil {
			return server.Addr(), state
		}
		if time.Now().After(deadline) {
			t.Fatalf("not ready: %v", server.Refresher().Status().Err())
		}
	}
}

// answer is the engine's answer to the body of a call.
func answer(state *fleetstate.State, body []byte) ([]byte, error) {
	var call struct {
		Input struct {
			Parameters json.RawMessage `json:"parameters"`
		} `json:"input"`
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return nil, err
	}
	request, err := query.Parse(call.Input.Parameters, "")
	if err != nil {
		return nil, err
	}
	return response.Bytes(state, request)
}

// deployed is what a test compares of an Application.
type deployed struct{ Name, Cluster, Namespace, Chart, Path, Version, Values string }

// TestFleet takes this repository's own fleet through everything: the engine answers the root
// ApplicationSets, whose Applications render the chart, whose ApplicationSets ask the engine
// again with the catalog's entries. What comes out is what the engine says without a catalog
// in the request: the two ways to the catalog agree.
func TestFleet(t *testing.T) {
	url, state := newEngine(t)
	a := newArgoCD(t, url)
	for _, hub := range []string{"hub-eu", "hub-us"} {
		owner := map[string]string{}
		for _, group := range fleetGroups {
			t.Run(hub+"/"+group, func(t *testing.T) {
				got := map[string]deployed{}
				for _, release := range generate(t, a, rootSets(t, filepath.Join(repo, "fleet/bootstrap", hub, group+".yaml"))[0]) {
					for _, app := range releaseApplications(t, a, release, owner) {
						s, values := app.Spec.GetSource(), "{}\n" // those of a folder of manifests
						if s.Helm != nil {
							rendersHere(t, s)
							values = s.Helm.Values
						}
						got[app.Name] = deployed{app.Name, app.Spec.Destination.Name, app.Spec.Destination.Namespace, s.Chart, s.Path, s.TargetRevision, values}
					}
				}
				want := direct(t, state, hub, group)
				if len(want) == 0 && group != "provisioning" { // no member has a cluster made
					t.Error("nothing runs")
				}
				assert.Equal(t, want, got, "without and with the catalog in the request (-without +with)")
			})
		}
	}
}

// rendersHere: a chart of this repository accepts the values that the fleet gives it.
func rendersHere(t *testing.T, s v1alpha1.ApplicationSource) {
	t.Helper()
	if s.Path == "" {
		return
	}
	out, err := helmTemplate(filepath.Join(repo, s.Path), valuesFile(t, s.Helm.Values))
	if err != nil {
		t.Errorf("%s: %v", s.Path, err)
	} else if len(documents(out)) == 0 {
		t.Errorf("%s renders nothing", s.Path)
	}
}

// TestFleetRegistration: what registers this repository's members, and what its agents get, are
// values that the charts accept.
func TestFleetRegistration(t *testing.T) {
	url, _ := newEngine(t)
	a := newArgoCD(t, url)
	for _, hub := range []string{"hub-eu", "hub-us"} {
		for _, view := range []string{"members", "agents", "grants"} {
			apps := generate(t, a, rootSets(t, filepath.Join(repo, "fleet/bootstrap", hub, view+".yaml"))[0])
			if len(apps) == 0 {
				t.Errorf("%s: no %s", hub, view)
			}
			for _, app := range apps {
				t.Run(app.Name, func(t *testing.T) {
					for _, s := range app.Spec.GetSources() {
						rendersHere(t, s)
					}
				})
			}
		}
	}
}

// TestFleetAgents follows each agent with an Argo CD of its own: the root ApplicationSets that the
// hub gives it become Applications for itself alone, and none that the hub has as well (M1, M2).
func TestFleetAgents(t *testing.T) {
	url, state := newEngine(t)
	a := newArgoCD(t, url)
	agents := 0
	for _, hub := range []string{"hub-eu", "hub-us"} {
		hubs := map[string]deployed{}
		for _, group := range groups {
			maps.Copy(hubs, direct(t, state, hub, group))
		}
		for _, agent := range generate(t, a, rootSets(t, filepath.Join(repo, "fleet/bootstrap", hub, "agents.yaml"))[0]) {
			agents++
			member := agent.Spec.Destination.Name
			t.Run(member, func(t *testing.T) {
				bootstrap := agent.Spec.Sources[slices.IndexFunc(agent.Spec.Sources, func(s v1alpha1.ApplicationSource) bool {
					return s.Path == "charts/agent-bootstrap"
				})]
				out, err := helmTemplate(filepath.Join(repo, bootstrap.Path), valuesFile(t, bootstrap.Helm.Values))
				require.NoError(t, err)
				owner, own := map[string]string{}, 0
				for _, root := range decode(t, out) {
					for _, release := range generate(t, a, root) {
						for _, app := range releaseApplications(t, a, release, owner) {
							own++
							if app.Spec.Destination.Name != member {
								t.Errorf("%s is for %s", app.Name, app.Spec.Destination.Name)
							}
							if _, ok := hubs[app.Name]; ok {
								t.Errorf("%s is the hub's as well", app.Name)
							}
						}
					}
				}
				if own == 0 {
					t.Error("runs nothing of its own")
				}
			})
		}
	}
	if agents == 0 {
		t.Error("no agent with an Argo CD of its own in the example fleet")
	}
}

// releaseApplications renders what the Application of a release holds and follows it to the
// components' Applications. Each belongs to one ApplicationSet (R4).
func releaseApplications(t *testing.T, a argocd, release v1alpha1.Application, owner map[string]string) []v1alpha1.Application {
	t.Helper()
	helm := release.Spec.GetSource().Helm
	files := make([]string, 0, len(helm.ValueFiles)+1)
	for _, file := range helm.ValueFiles {
		files = append(files, filepath.Join(applicationSets, file))
	}
	var out []v1alpha1.Application
	for _, set := range renderSets(t, append(files, valuesFile(t, helm.Values))...) {
		for _, app := range generate(t, a, set) {
			if other, ok := owner[app.Name]; ok {
				t.Errorf("%s is %s's and %s's", app.Name, other, set.Name)
			}
			owner[app.Name] = set.Name
			out = append(out, app)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// direct is the engine's answer for a group without a base.
func direct(t *testing.T, state *fleetstate.State, hub, group string) map[string]deployed {
	t.Helper()
	text, err := response.Bytes(state, query.Query{View: query.Components, Hub: hub, Group: group})
	require.NoError(t, err)
	var sets struct {
		Output struct {
			Parameters []paramset.ComponentSet `json:"parameters"`
		} `json:"output"`
	}
	require.NoError(t, json.Unmarshal(text, &sets))
	out := map[string]deployed{}
	for _, s := range sets.Output.Parameters {
		out[s.ApplicationName] = deployed{s.ApplicationName, s.Name, s.Namespace, s.Chart.Name, s.Chart.Path, s.Chart.Version, s.HelmValues}
	}
	return out
}
