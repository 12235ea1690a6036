package charts_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
)

// set is what these tests read of a parameter set.
type set struct {
	Group             string
	Name              string            `json:"name"`
	Component         string            `json:"component"`
	Namespace         string            `json:"namespace"`
	HelmValues        string            `json:"helmValues"`
	SecretLabels      map[string]string `json:"secretLabels"`
	SecretAnnotations map[string]string `json:"secretAnnotations"`
	Chart             struct {
		Path string `json:"path"`
	} `json:"chart"`
	Companions map[string]struct {
		HelmValues string `json:"helmValues"`
	} `json:"companions"`
}

// asks returns the engine's parameter sets for this repository's fleet.
func asks(t *testing.T, state *fleetstate.State, parameters string) []set {
	t.Helper()
	body, err := answer(state, []byte(`{"input":{"parameters":`+parameters+`}}`))
	require.NoError(t, err)
	var got struct {
		Output struct {
			Parameters []set `json:"parameters"`
		} `json:"output"`
	}
	require.NoError(t, json.Unmarshal(body, &got))
	if len(got.Output.Parameters) == 0 {
		t.Fatalf("no parameter sets for %s", parameters)
	}
	return got.Output.Parameters
}

// What registers this repository's members becomes, by External Secrets' own code, cluster Secrets
// with exactly the labels and annotations that the engine computed, whatever Terraform says of the
// same keys (L1).
func TestRegisteredMembersHaveTheComputedLabels(t *testing.T) {
	_, state := newEngine(t)
	for _, hub := range []string{"hub-eu", "hub-us"} {
		for _, registered := range asks(t, state, fmt.Sprintf(`{"view":"members","hub":%q}`, hub)) {
			t.Run(registered.Name, func(t *testing.T) {
				objects := rendering{}.objects(t, fleetSecret, registered.HelmValues)
				es := one[*esv1.ExternalSecret](t, objects, registered.Name)
				other := map[string]any{"only_terraform": "yes"}
				for key := range registered.SecretLabels {
					other[key] = "terraform"
				}
				for key := range registered.SecretAnnotations {
					other[key] = "terraform"
				}
				record := terraform(map[string]any{"cluster_name": registered.Name, "addons": other, "metadata": other})
				assert.NoError(t, validRecord(t, record), "docs/schemas/cluster-secret.json refuses the record")
				remote := map[string]string{es.Spec.DataFrom[0].Extract.Key: record}
				secret, err := reconcile(t, es, remote, nil)
				require.NoError(t, err)
				want := map[string]string{}
				for key := range other {
					want[key] = "terraform" // a label that Git has as an annotation alone is Terraform's, and so on
				}
				want["only_terraform"] = "yes"
				for key, value := range registered.SecretLabels {
					want[key] = value
				}
				want["argocd.argoproj.io/secret-type"] = "cluster"
				assert.Equal(t, want, secret.Labels, "labels")
				for key, value := range registered.SecretAnnotations {
					assert.Equal(t, value, secret.Annotations[key], "annotation %s", key)
				}
			})
		}
	}
}

// What this repository's fleet gives to the charts of the group resources is what the API servers
// accept.
func TestResourcesOfTheFleet(t *testing.T) {
	_, state := newEngine(t)
	for _, hub := range []string{"hub-eu", "hub-us"} {
		for _, component := range asks(t, state, fmt.Sprintf(`{"view":"components","hub":%q,"group":"resources"}`, hub)) {
			t.Run(component.Name+"/"+filepath.Base(component.Chart.Path), func(t *testing.T) {
				if !strings.HasPrefix(component.Chart.Path, "charts/") {
					t.Skip("not a chart of this repository")
				}
				if objects := (rendering{}).objects(t, filepath.Join(repo, component.Chart.Path), component.HelmValues); len(objects) == 0 {
					t.Error("renders nothing")
				}
			})
		}
	}
}
