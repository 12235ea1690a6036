package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
)

// set is a parameter set of generator-plugin, as far as the flows look at it.
type set struct {
	Name, ApplicationName, Tenant, Environment, Component, Group, Release, ReleaseName, HelmValues, Deletion, Kind, Digest string

	SecretLabels, SecretAnnotations map[string]string
	Chart                           struct{ RepoURL, Name, Version, Path string }
	Metadata                        struct{ Labels, Annotations map[string]string }
}

// groups are those of the fleet.
var groups = []string{"addons", "fleet", "monitoring", "provisioning", "resources", "teams", "workloads"}

// asking is the name that flows ask under, as if of an ApplicationSet.
const asking = "e2e"

// answer asks the hub's service as Argo CD does.
func (e *environment) answer(t *testing.T, parameters map[string]any) []set {
	t.Helper()
	return e.answerOf(t, e.Plugin, parameters)
}

// answerOf asks a service, the hub's or a member's, as Argo CD does.
func (e *environment) answerOf(t *testing.T, p *plugin.Plugin, parameters map[string]any) []set {
	t.Helper()
	body, err := json.Marshal(map[string]any{"applicationSetName": asking, "input": map[string]any{"parameters": parameters}})
	must(t, err)
	var out struct {
		Output struct{ Parameters []json.RawMessage }
	}
	e.ask(t, p, http.MethodPost, "/api/v1/getparams.execute", body, &out)
	sets := make([]set, len(out.Output.Parameters))
	for i, p := range out.Output.Parameters {
		_ = json.Unmarshal(p, &sets[i]) // the view releases has a map where the others have a release's name
	}
	return sets
}

// components are the parameter sets of a group on this hub.
func (e *environment) components(t *testing.T, group string) []set {
	t.Helper()
	return e.answer(t, map[string]any{"view": "components", "hub": hub.Name, "group": group})
}

// revision is the commit that the service answers from.
func (e *environment) revision(t *testing.T) string {
	t.Helper()
	var out struct{ Revision string }
	e.ask(t, e.Plugin, http.MethodGet, "/api/v1/fleet", nil, &out)
	return out.Revision
}

func (e *environment) ask(t *testing.T, p *plugin.Plugin, method, path string, body []byte, out any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, p.URL+path, bytes.NewReader(body))
	must(t, err)
	token, err := p.Token()
	must(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", path, response.Status, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// parsed are a parameter set's merged values.
func (s set) parsed(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(s.HelmValues), &out); err != nil {
		t.Fatalf("%s: %v", s.ApplicationName, err)
	}
	return out
}
