package e2e

import (
	"fmt"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
)

// beside: a team's ApplicationSets with Argo CD's own git generator are planned like the fleet: its
// folders and files come, change and go.
func beside(t *testing.T, e *environment) {
	const sets = "fleet/bootstrap/" + hub.Name + "/dashboards.yaml"
	e.write(t, sets, fmt.Sprintf(besideSets, e.Git.URL(hub.Repository)))
	e.write(t, "dashboards/cost/panel.yaml", panel)
	e.write(t, "dashboards/load/panel.yaml", panel)
	e.write(t, "dashboards/load/data.json", `{"no": "manifest"}`)
	e.write(t, "dashboards/rings/a.json", `{"ring": {"name": "a", "folder": "cost"}}`)
	e.push(t, "Dashboards beside the fleet")
	e.eventually(t, "the folders' and the file's Applications", func() string {
		return absent(e, "dashboard-cost", "dashboard-load", "ring-a")
	})
	e.settle(t)

	mark := e.ledger.mark()
	e.write(t, "dashboards/errors/panel.yaml", panel)
	e.write(t, "dashboards/rings/b.json", `{"ring": {"name": "b", "folder": "load"}}`)
	e.replace(t, "dashboards/rings/a.json", `"cost"`, `"errors"`)
	must(t, e.Fleet.Remove("dashboards/cost/panel.yaml"))
	e.push(t, "Other dashboards")
	e.refresh(t, false) // the service makes those ask that ask it; Argo CD itself looks at Git every three minutes
	e.eventually(t, "those that come", func() string { return absent(e, "dashboard-errors", "ring-b") })
	e.eventually(t, "the one that goes", func() string { return present(e, "dashboard-cost") })
	e.settle(t)
	e.only(t, mark, func(c change) bool {
		switch c.name {
		case "dashboard-errors", "ring-b":
			return c.what == "added"
		case "dashboard-cost":
			return true
		}
		return c.what == "changed" && c.name == "ring-a"
	})
}

// absent names the Applications that are not there yet.
func absent(e *environment, names ...string) string {
	for _, name := range names {
		if e.app(name) == nil {
			return name + " is not there"
		}
	}
	return ""
}

const panel = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: panel}\ndata: {rows: \"3\"}\n"

// besideSets are two ApplicationSets of a repository, one of its folders and one of its files. A
// generator's template is written out: Argo CD writes it otherwise, and the bootstrap Application
// would be out of sync.
const besideSets = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: dashboards, namespace: argocd}
spec:
  goTemplate: true
  goTemplateOptions: [missingkey=error]
  generators:
  - git:
      repoURL: %[1]s
      revision: main
      directories: [{path: dashboards/*}, {path: dashboards/rings, exclude: true}]
      template: {metadata: {}, spec: {destination: {}, project: ""}}
  template:
    metadata: {name: 'dashboard-{{ .path.basename }}', namespace: argocd}
    spec:
      project: default
      source: {repoURL: %[1]s, targetRevision: main, path: '{{ .path.path }}', directory: {include: '*.yaml'}}
      destination: {server: https://kubernetes.default.svc, namespace: 'dashboard-{{ .path.basename }}'}
      syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true]}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: rings, namespace: argocd}
spec:
  generators:
  - git:
      repoURL: %[1]s
      revision: main
      files: [{path: dashboards/rings/*.json}]
      template: {metadata: {}, spec: {destination: {}, project: ""}}
  template:
    metadata: {name: 'ring-{{ring.name}}', namespace: argocd}
    spec:
      project: default
      source: {repoURL: %[1]s, targetRevision: main, path: 'dashboards/{{ring.folder}}', directory: {exclude: '*.json'}}
      destination: {server: https://kubernetes.default.svc, namespace: 'ring-{{ring.name}}'}
      syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true]}
`
