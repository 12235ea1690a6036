package expand_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// What cannot be followed is named with its place, in words that stay the same, and all else is
// there (rule 4).
func TestProblemsAreNamed(t *testing.T) {
	base := commit(t, nil)
	all := len(revision(t, state(t, nil, base), base, "hub-us", nil).All(false))
	for name, c := range map[string]struct {
		change edit
		lost   int // objects, at most
		want   string
	}{
		"a template that fails for one cluster": {
			replace(t, "fleet/bootstrap/hub-us/members.yaml", "        argosy.dev/hub: '{{ .hub }}'\n", "        argosy.dev/hub: '{{ if eq .name \"retail-prod-us-1\" }}{{ .hob }}{{ end }}'\n"), 1,
			`error: fleet/bootstrap/hub-us/members.yaml:2:1: ApplicationSet "members": template fails for "retail-prod-us-1": failed to execute go template {{ if eq .name "retail-prod-us-1" }}{{ .hob }}{{ end }}: template: :1:39: executing "" at <.hob>: map has no entry for key "hob"; Argo CD changes none of its Applications until the template is fixed`,
		},
		"a generator that is not followed": {
			replace(t, "fleet/bootstrap/hub-us/members.yaml", "    - plugin:\n", "    - clusters: {}\n    - plugin:\n"), 10,
			`warning: fleet/bootstrap/hub-us/members.yaml:2:1: ApplicationSet "members": generator clusters is not followed; the plugin's view members has a set for each cluster that this repository registers`,
		},
		"a chart that fails": {
			replace(t, "charts/agent-bootstrap/templates/applicationsets.yaml", "{{- range $group", "{{- fail \"no agents today\" }}\n{{- range $group"), 80,
			`error: fleet/bootstrap/hub-us/agents.yaml:55:11: Application "agent-payments-prod-us-1": chart charts/agent-bootstrap: execution error at (agent-bootstrap/templates/applicationsets.yaml:1:4): no agents today`,
		},
		"a folder that is not there": {
			replace(t, "fleet/bootstrap/hub-us/agents.yaml", "path: charts/agent-bootstrap", "path: charts/agent-bootstrep"), 80,
			`error: fleet/bootstrap/hub-us/agents.yaml:55:11: Application "agent-payments-prod-us-1": path "charts/agent-bootstrep" is not in this repository at revision main`,
		},
		"a revision that cannot be had": {
			replace(t, "fleet/bootstrap/hub-us/agents.yaml", "path: charts/agent-bootstrap\n          targetRevision: main", "path: charts/agent-bootstrap\n          targetRevision: v9"), 80,
			`warning: fleet/bootstrap/hub-us/agents.yaml:55:11: Application "agent-payments-prod-us-1": charts/agent-bootstrap at revision v9 of this repository is not followed: no revision "v9"; fetch that revision, or take another one for it: --revision v9=REV`,
		},
		"a root that is no YAML": {
			func(f map[string]string) { f["fleet/bootstrap/hub-us/members.yaml"] += "\n---\na: [\n" }, 10,
			`error: fleet/bootstrap/hub-us/members.yaml:65: did not find expected node content; expected a YAML document`,
		},
		"no roots": {
			func(f map[string]string) {
				for p := range f {
					if strings.HasPrefix(p, "fleet/bootstrap/hub-us") {
						delete(f, p)
					}
				}
			}, 1000,
			`warning: fleet/bootstrap/hub-us: hub "hub-us": has no roots; expected Applications or ApplicationSets in fleet/bootstrap/hub-us.yaml or fleet/bootstrap/hub-us`,
		},
		"two objects of one name": {
			func(f map[string]string) {
				f["fleet/bootstrap/hub-us/more.yaml"] = f["fleet/bootstrap/hub-us/members.yaml"]
			}, 0,
			`error: fleet/bootstrap/hub-us/more.yaml:2:1: ApplicationSet "members": is made twice; expected one object of each name; see fleet/bootstrap/hub-us/members.yaml:2:1`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			head := commit(t, c.change)
			h := expand.New(expand.Options{State: state(t, nil, head), Snapshot: head, Hub: "hub-us", Tools: tools(), At: func(rev string) (*snapshot.Snapshot, error) {
				if rev == "release-next" {
					return base, nil
				}
				return nil, errors.New(`no revision "` + rev + `"`)
			}})
			left := len(h.All(false))
			if left < all-c.lost {
				t.Errorf("%d of %d objects are left, expected at least %d", left, all, all-c.lost)
			}
			got := strings.ReplaceAll(strings.Join(texts(h.Problems()), "\n"), head.Revision, "HEAD")
			assert.Equal(t, c.want, got, "problems")
		})
	}
}

// Where a member cannot be computed and nothing is known of it, the engine refuses; that is named,
// and whose fault it is.
func TestRefusalsAreNamed(t *testing.T) {
	head := commit(t, func(f map[string]string) { f["fleet/fleet-members/hub-us/retail-prod-us-1.yaml"] += "tenannt: x\n" })
	h := revision(t, state(t, nil, head), head, "hub-us", nil)
	h.All(false)
	got := strings.Join(texts(h.Problems()), "\n")
	for _, want := range []string{"fleet/fleet-members/hub-us/retail-prod-us-1.yaml", `ApplicationSet "members": makes nothing: the plugin refuses to answer, and what there is stays as it is`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
