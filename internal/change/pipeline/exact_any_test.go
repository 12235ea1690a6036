package pipeline

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

const (
	itsURL  = "https://git.example.org/acme/apps.git"
	anApp   = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, namespace: argocd}\nspec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: %[1]s}\n  syncPolicy: {automated: {prune: %t}}\n  source:\n    repoURL: " + itsURL + "\n    targetRevision: HEAD\n    path: %s\n%s"
	aSet    = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: %s, namespace: argocd}\nspec:\n  goTemplate: true\n  generators:\n  - %s\n  template:\n    metadata: {name: '%s'}\n    spec:\n      project: default\n      destination: {server: https://kubernetes.default.svc, namespace: '%s'}\n      syncPolicy: {automated: {prune: true}}\n      source: {repoURL: " + itsURL + ", targetRevision: HEAD, path: '%s'}\n"
	aConfig = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata:\n  key: \"%d\"\n"
	aSync   = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: %s, namespace: flux-system}\nspec:\n  interval: %dm\n  prune: true\n  path: %s\n  sourceRef: {kind: GitRepository, name: flux-system}\n"
)

// anyRepository is one without a fleet: Applications of a chart, a kustomization and manifests,
// ApplicationSets of a list, of folders and of files, an app of apps, and two clusters of Flux.
func anyRepository() fleettest.Tree {
	out := fleettest.Tree{
		"fleet/layout.yaml": string(standInLayout), "fleet/fleet-members/argocd/argocd.yaml": "clusterName: argocd\ntenant: argocd\nfleet_member: hub-cluster\n",

		"apps/web.yaml":    fmt.Sprintf(anApp, "web", true, "chart", "    helm: {valueFiles: [../values/prod.yaml], values: \"size: 1\"}\n"),
		"apps/plain.yaml":  fmt.Sprintf(anApp, "plain", false, "plain", ""),
		"apps/kust.yaml":   fmt.Sprintf(anApp, "kust", true, "overlays/prod", ""),
		"apps/nested.yaml": fmt.Sprintf(anApp, "nested", true, "nested", ""),
		"nested/one.yaml":  fmt.Sprintf(anApp, "one", true, "one", ""),
		"one/config.yaml":  fmt.Sprintf(aConfig, "one", 1),

		"apps/remote.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: remote, namespace: argocd}\nspec:\n  project: default\n  destination: {server: https://kubernetes.default.svc, namespace: remote}\n  sources:\n  - {repoURL: " + itsURL + ", targetRevision: HEAD, ref: own}\n" +
			"  - {repoURL: 'https://charts.example.org', chart: remote, targetRevision: 1.0.0, helm: {ignoreMissingValueFiles: true, valueFiles: [$own/given/a.yaml, $own/given/b.yaml]}}\n",
		"given/a.yaml": "x: 1\ndeep: {z: 1, w: [1, 2]}\n", "given/b.yaml": "deep: {z: 2, w: null}\n",

		"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "chart/values.yaml": "replicas: 1\nsize: 0\n", "values/prod.yaml": "replicas: 2\n",
		"chart/templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, labels: {chart: \"{{ .Chart.Version }}\"}}\ndata: {replicas: \"{{ .Values.replicas }}\", size: \"{{ .Values.size }}\"}\n",
		"plain/a.yaml":                fmt.Sprintf(aConfig, "a", 1), "plain/b.yaml": fmt.Sprintf(aConfig, "b", 1) + "---\n" + fmt.Sprintf(aConfig, "c", 1),
		"base/kustomization.yaml": "resources: [config.yaml]\n", "base/config.yaml": fmt.Sprintf(aConfig, "kust", 1),
		"overlays/prod/kustomization.yaml": "resources: [../../base]\npatches:\n- path: patch.yaml\n", "overlays/prod/patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kust}\ndata: {more: \"1\"}\n",

		"sets/list.yaml":  fmt.Sprintf(aSet, "list", "list: {elements: [{name: x, size: 1}, {name: u, size: 1}]}", "list-{{.name}}", "list-{{.name}}", "lists/{{.name}}"),
		"sets/dirs.yaml":  fmt.Sprintf(aSet, "dirs", "git: {repoURL: "+itsURL+", revision: HEAD, directories: [{path: dirs/*}]}", "{{.path.basename}}", "{{.path.basename}}", "{{.path.path}}"),
		"sets/files.yaml": fmt.Sprintf(aSet, "files", "git: {repoURL: "+itsURL+", revision: HEAD, files: [{path: envs/*/config.yaml}]}", "env-{{.path.basename}}", "env-{{.path.basename}}", "{{.folder}}"),

		"clusters/dev/flux-system/gotk-sync.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\nspec: {url: " + itsURL + ", ref: {branch: HEAD}}\n---\n" + fmt.Sprintf(aSync, "flux-system", 1, "./clusters/dev"),
		"clusters/dev/apps.yaml":                  fmt.Sprintf(aSync, "apps", 1, "./base"),
		"clusters/prod/apps.yaml":                 fmt.Sprintf(aSync, "apps", 1, "./overlays/prod"),
	}
	for _, name := range []string{"x", "u", "z"} {
		out["lists/"+name+"/config.yaml"] = fmt.Sprintf(aConfig, "list-"+name, 1)
	}
	for _, d := range []string{"da", "db"} {
		out["dirs/"+d+"/config.yaml"] = fmt.Sprintf(aConfig, d, 1)
		out["envs/"+d+"/config.yaml"] = "folder: folders/" + d + "\n"
		out["folders/"+d+"/config.yaml"] = fmt.Sprintf(aConfig, "folder-"+d, 1)
	}
	return out
}

// anyEdit is one edit of such a repository, and what it is.
func anyEdit(r *rand.Rand, files fleettest.Tree) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	paths := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(p string) bool { return strings.HasPrefix(p, "fleet/") })
	replace := func(p, old, text string) string {
		files[p] = strings.ReplaceAll(files[p], old, text)
		return fmt.Sprintf("%s: %s -> %s", p, old, text)
	}
	switch r.IntN(15) {
	case 0, 1: // a number anywhere
		return replace(pick(paths...), pick("1", "2"), pick("2", "3", "1"))
	case 2:
		return replace("sets/list.yaml", "{name: x, size: 1}", pick("{name: z, size: 1}", "{name: x, size: 1}, {name: w, size: 2}", "{name: x, size: 2}"))
	case 3:
		return replace("sets/list.yaml", "path: 'lists/{{.name}}'", pick("path: './lists/{{.name}}'", "path: 'gone'"))
	case 4: // a folder is renamed
		from, to := pick("da", "db"), pick("dc", "dd")
		for _, p := range paths {
			if rest, is := strings.CutPrefix(p, "dirs/"+from+"/"); is {
				files["dirs/"+to+"/"+rest] = files[p]
				delete(files, p)
			}
		}
		return "dirs/" + from + " is " + to
	case 5:
		p := pick(paths...)
		delete(files, p)
		return p + " goes"
	case 6:
		p := pick("plain/new.yaml", "dirs/de/new.yaml", "one/new.yaml", "nested/new.yaml", "base/new.yaml")
		files[p] = fmt.Sprintf(aConfig, "new-"+strings.ReplaceAll(path.Dir(p), "/", "-"), r.IntN(3))
		return p + " comes"
	case 7:
		name := pick("fresh", "other")
		files["apps/"+name+".yaml"] = fmt.Sprintf(anApp, name, true, pick("apps/"+name, "gone"), "")
		files["apps/"+name+"/config.yaml"] = fmt.Sprintf(aConfig, name, 1)
		return name + " comes"
	case 8:
		return replace("base/kustomization.yaml", "resources: [config.yaml]", pick("namePrefix: x-\nresources: [config.yaml]", "resources: [config.yaml, new.yaml]", "commonLabels: {a: b}\nresources: [config.yaml]"))
	case 9:
		p := pick("clusters/dev/apps.yaml", "clusters/prod/apps.yaml")
		return replace(p, "path: ./", pick("path: ./overlays/../", "suspend: true\n  path: ./", "targetNamespace: t\n  path: ./"))
	case 10:
		files["clusters/next/apps.yaml"] = files["clusters/prod/apps.yaml"]
		return "a cluster comes"
	case 11:
		return replace(pick("given/a.yaml", "given/b.yaml"), pick("z: 1", "z: 2", "x: 1", ", w: null", "deep:"), pick("z: 3", "x: 2", "other:"))
	case 12:
		files["given/b.yaml"] = pick("", "deep: null\n", "deep: {z: 1}\n", "x: 1\ndeep: {w: []}\n")
		return "given/b.yaml is " + files["given/b.yaml"]
	case 13:
		options := pick("", "namePrefix: k-", "namespace: other", "commonAnnotations: {a: b}, components: [../../part]", "components: [../../none]")
		files["apps/kust.yaml"] = fmt.Sprintf(anApp, "kust", true, "overlays/prod", "    kustomize: {"+options+"}\n")
		files["part/kustomization.yaml"] = "kind: Component\ncommonLabels: {part: " + pick("a", "b") + "}\n"
		return "kust has " + options
	default:
		from, to, _ := strings.Cut(pick("prune: true -> prune: false", "namespace: nested -> namespace: other", "namespace: argocd -> namespace: other", "size: 1 -> size: 3"), " -> ")
		return replace(pick("apps/web.yaml", "nested/one.yaml", "apps/nested.yaml"), from, to)
	}
}

// withChartValues adds to an Application of a remote chart what Helm makes of its value files.
func withChartValues(s *snapshot.Snapshot, o *object.Object) *object.Object {
	if o.Key().Name != "remote" || !o.Application() {
		return o
	}
	values := map[string]any{}
	for _, p := range []string{"given/b.yaml", "given/a.yaml"} { // the first wins, in Helm's function
		read := map[string]any{}
		if f := s.File(p); f != nil && yaml.Unmarshal(f.Data, &read) == nil {
			values = chartutil.CoalesceTables(values, read)
		}
	}
	out := *o
	out.Tree, out.Sum = manifest.Copy(o.Tree), nil
	out.Tree["given"] = values
	return &out
}

// TestPlanOfAnyRepositoryIsExact: as for a fleet, a plan of a repository without one names what two
// complete expansions differ in, and nothing else.
func TestPlanOfAnyRepositoryIsExact(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sum tally
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	n := cases.Times(60)
	for seed := range uint64(n) {
		all.Go(func() error {
			r := rand.New(rand.NewPCG(12, seed))
			before := anyRepository()
			var done []string
			for range r.IntN(3) {
				anyEdit(r, before)
			}
			after := maps.Clone(before)
			for range 1 + r.IntN(3) {
				done = append(done, anyEdit(r, after))
			}
			found := checkCommit(t, fmt.Sprintf("seed %d: %s", seed, strings.Join(done, "; ")), before, after, nil)
			mu.Lock()
			defer mu.Unlock()
			sum.add(found)
			return nil
		})
	}
	_ = all.Wait()
	t.Logf("%+v", &sum)
	if sum.objects < n || sum.nothing == 0 || sum.refused > 0 {
		t.Error("the commits try too little")
	}
}
