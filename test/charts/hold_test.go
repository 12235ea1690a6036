package charts_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// TestHoldIsAnAnnotation: an Application that is held has the reason in an annotation, and no other
// Application changes.
func TestHoldIsAnAnnotation(t *testing.T) {
	sets := map[string]v1alpha1.ApplicationSet{}
	for name, patch := range map[string]string{
		"no patch":           "null",
		"map":                "{spec: {revisionHistoryLimit: 3}}",
		"map and labels":     "{metadata: {labels: {a: b}}}",
		"map and annotation": "{metadata: {annotations: {a: '{{ .name }}'}}}",
		"text":               "'spec: {revisionHistoryLimit: 3}'",
	} {
		sets[name] = renderSets(t, catalog("addons"), valuesFile(t, "group: addons\nhub: hub-eu\ncomponents: {metrics-server: {enabled: true, annotations: {b: c}, templatePatch: "+patch+"}}\n"))[0]
	}
	for _, name := range []string{"members", "agents", "agents-flux", "grants", "grants-flux"} {
		sets[name] = rootSets(t, filepath.Join(repo, "fleet/bootstrap/hub-eu", name+".yaml"))[0]
	}
	const reason = "broken"
	for name, set := range sets {
		t.Run(name, func(t *testing.T) {
			healthy := generate(t, newArgoCD(t, newPlugin(t).URL), set)
			for i := range healthy {
				var broken []v1alpha1.Application
				for j, app := range healthy {
					app = *app.DeepCopy()
					if i == j {
						if app.Annotations == nil {
							app.Annotations = map[string]string{}
						}
						app.Annotations["argosy.dev/hold"] = reason
					}
					broken = append(broken, app)
				}
				url := serve(t, func(w http.ResponseWriter, r *http.Request) {
					var q request
					assert.NoError(t, json.NewDecoder(r.Body).Decode(&q))
					answer, err := held(q.Input.Parameters, healthy[i].Name, reason)
					assert.NoError(t, err)
					_, _ = w.Write(answer)
				})
				assert.Equal(t, text(t, broken), text(t, generate(t, newArgoCD(t, url), set)), "%s", healthy[i].Name)
			}
			if len(healthy) == 0 {
				t.Error("there are no Applications")
			}
		})
	}
	own := renderSets(t, catalog("addons"), valuesFile(t, "group: addons\ncomponents: {metrics-server: {enabled: true, templatePatch: {metadata: {annotations: {argosy.dev/hold: '{{ .name }}'}}}}}\n"))[0]
	if n := strings.Count(*own.Spec.TemplatePatch, "argosy.dev/hold"); n != 1 {
		t.Errorf("an annotation of one's own is there %d times:\n%s", n, *own.Spec.TemplatePatch)
	}
}

// held is the answer to a request from testdata, with one Application's set held.
func held(parameters map[string]any, application, reason string) ([]byte, error) {
	data, err := fixture(parameters)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Output struct {
			Parameters []map[string]any `json:"parameters"`
		} `json:"output"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	for _, set := range answer.Output.Parameters {
		if set["applicationName"] == application {
			set["hold"] = reason
		}
	}
	return json.Marshal(answer)
}
