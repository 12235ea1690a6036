package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/argocd"
	"github.com/argosy-hub/argosy/internal/change/expand/helm"
	"github.com/argosy-hub/argosy/internal/change/expand/kustomize"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// options are a small fleet of two hubs.
var options = fleettest.Options{Clusters: 7, Hubs: 2, Components: 3, Tenants: 2, Overrides: 1, Seed: 1}

const (
	layout      = "fleet/layout.yaml"
	versions    = "versions/applicationSets.yaml"
	chart       = "charts/application-sets/"
	listed      = chart + "catalogs/addons.yaml"
	catalogue   = "addons/defaults/application-sets/addons.yaml"
	releases    = "releases:\n  globals: {use_helm_repo_path: 'true', chartRepoUrl: https://github.com/argosy-hub/argosy, chartRepoPath: charts/application-sets, chartRepoRevision: main}\n  addons: [{type: default}, {type: canary}]\n"
	ours        = "https://github.com/argosy-hub/argosy"
	nested      = "manifests/nested/map.yaml"
	ofChart     = "kind: Layout\ngroups: {addons: {catalog: " + listed + "}, resources: {}}\n"
	application = "extra: [{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: nested, namespace: argocd}, spec: {project: default, destination: {name: in-cluster, namespace: x}, source: {repoURL: '" + ours + "', path: manifests/nested, targetRevision: main}}}]\n"
)

// repository is that fleet with the charts and roots of this repository.
func repository(t *testing.T) map[string]string {
	t.Helper()
	files := fleettest.Files(options)
	const own = "hub-eu"
	for _, root := range []string{"charts/application-sets", "charts/fleet-secret", "fleet/bootstrap/" + own + ".yaml", "fleet/bootstrap/" + own + "/addons.yaml", "fleet/bootstrap/" + own + "/members.yaml", "fleet/bootstrap/" + own + "/agents.yaml"} {
		err := filepath.WalkDir(filepath.Join("../../..", root), func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(p)
			p = strings.TrimPrefix(filepath.ToSlash(p), "../../../")
			if strings.HasPrefix(p, "charts/") {
				files[p] = string(data)
			}
			for i := range options.Hubs {
				if hub := fmt.Sprintf("hub-%d", i+1); !strings.HasPrefix(p, "charts/") {
					files[strings.ReplaceAll(p, own, hub)] = strings.ReplaceAll(string(data), own, hub)
				}
			}
			return err
		})
		require.NoError(t, err)
	}
	files[listed] = strings.ReplaceAll(files[catalogue], "    enabled: true\n", "    enabled: false\n    namespace: system\n")
	files[versions] = releases
	// A component's chart is here, and its values bring an Application of a folder here.
	for _, p := range []string{catalogue, listed} {
		entry := strings.Index(files[p], fleettest.Component(1)+":\n")
		end := strings.Index(files[p], fleettest.Component(2)+":\n")
		files[p] = files[p][:entry] + fleettest.Component(1) + ":\n    enabled: " + fmt.Sprint(p == catalogue) + "\n    namespace: system\n    chart: {repoURL: " + ours + ", path: charts/leaf, version: main}\n  " + files[p][end:]
	}
	files["charts/leaf/Chart.yaml"] = "apiVersion: v2\nname: leaf\nversion: 1.0.0\n"
	files["charts/leaf/templates/extra.yaml"] = "{{ range .Values.extra }}\n---\n{{ toYaml . }}\n{{ end }}"
	files[nested] = "{apiVersion: v1, kind: ConfigMap, metadata: {name: nested}}\n"
	files["addons/control-plane/defaults/"+fleettest.Group+"/"+fleettest.Component(1)+"/values.yaml"] = application
	return files
}

// edits are what a commit may do to each of some files: add a text, have another one, or lose it
// ("-"). All paths and texts are of the generated fleet.
func edits(files map[string]string) map[string][]string {
	own := func(cluster int, file string) string {
		return fmt.Sprintf("addons/tenants/%s/clusters/%s/%s", options.Tenant(cluster), fleettest.Cluster(cluster), file)
	}
	first := fleettest.Group + "/" + fleettest.Component(0)
	member := func(hub string, cluster int) string {
		return "fleet/fleet-members/" + hub + "/" + fleettest.Cluster(cluster) + ".yaml"
	}
	changed := func(path, old, updated string) string {
		return "=" + strings.ReplaceAll(files[path], old, updated)
	}
	root := "fleet/bootstrap/hub-1/addons.yaml"
	return map[string][]string{
		own(0, first+"/values.yaml"):                                 {"-", "=a: 1\n", "=" + application, "=[broken", "=path: charts/fleet-secret\n"},
		own(1, first+"/values.yaml.gotmpl"):                          {"-", "=of: '{{ .labels.tenant }}'\n", "=of: '{{ .absent }}'\n"},
		"addons/defaults/" + first + "/values.yaml":                  {"", "+shared: 1\n", "+" + application},
		"addons/tenants/tenant-0/defaults/" + first + "/values.yaml": {"-", "=tenants: 1\n"},
		own(2, "application-sets/addons.yaml"):                       {"-", "=" + fleettest.Component(1) + ": {enabled: false}\n", "=" + fleettest.Component(0) + ": {chart: {version: 9.9.9}}\n", "=" + fleettest.Component(2) + ": {values: {of: '{{ .cluster }}'}}\n"},
		own(3, "fleet/fleet-secret/values.yaml"):                     {"-", "=externalSecret: {labels: {ring: a}}\n", "=externalSecret: {labels: {addonsRelease: canary}}\n"},
		member("hub-1", 0):                                           {"-", "", "+lifecycle: retired\n", "+lifecycle: retired\ndeletion: cascade\n", "+unknown: x\n"},
		member("hub-1", 1):                                           {"-", "", "+labels: {addonsRelease: canary}\n", "+use_remote_argo: true\nenable_remote_addons: true\n", "+use_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n"},
		member("hub-2", 1):                                           {"-", changed(member("hub-1", 1), "+", "+")}, // moves, or is there twice
		member("hub-2", 5):                                           {"-", "", "+annotations: {path: charts/fleet-secret}\n", "+lifecycle: draining\n"},
		"fleet/fleet-members/hub-1/hub-1.yaml":                       {"", "", "+fleet_repo_basepath: fleet\n", "+addons_repo_basepath: other\n", "-"},
		versions:                                                     {"", "", "=" + strings.ReplaceAll(releases, "{type: canary}", "{type: canary, chartRepoRevision: next}"), "=" + strings.ReplaceAll(releases, ", {type: canary}", ""), "=" + strings.ReplaceAll(releases, "{type: canary}", "{type: canary, chartRepoRevision: unknown}")},
		layout:                                                       {"-", "-", "=kind: Layout\nmerge: [{path: list, strategy: append}]\n", "=" + ofChart, "=kind: Layout\nguard: {maxRemovals: 1}\n"},
		catalogue:                                                    {"", "", changed(catalogue, "version: ", "version: 7.0.0, of: "), changed(catalogue, fleettest.Component(2)+":", "other:"), changed(catalogue, "enabled: true", "enabled: false")},
		listed:                                                       {"", "", changed(listed, fleettest.Component(1)+":", "unlisted:"), "+defaults: {syncPolicy: {automated: {selfHeal: false}}}\n"},
		chart + "templates/applicationsets.yaml":                     {"", "", changed(chart+"templates/applicationsets.yaml", "      project: {{ $entry.project | toYaml }}", "      project: {{ $entry.project | toYaml }}\n      info: [{name: changed, value: here}]")},
		root:                                                         {"", "", "-", "-", changed(root, "project: platform", "project: default"), changed(root, "view: releases", "view: components")},
		"fleet/bootstrap/hub-2.yaml":                                 {"", "", changed("fleet/bootstrap/hub-2.yaml", "targetRevision: main", "targetRevision: next")},
		"README.md":                                                  {"-", "=x\n"},
	}
}

// edit makes one of the edits.
func edit(files, original map[string]string, path, text string) {
	switch {
	case text == "-":
		delete(files, path)
	case strings.HasPrefix(text, "="):
		files[path] = text[1:]
	default:
		files[path] = original[path] + strings.TrimPrefix(text, "+")
	}
}

// planned is all that a comparison says, as text.
func planned(t *testing.T, c *comparison) string {
	t.Helper()
	out, err := json.MarshalIndent(map[string]any{"plan": c.plan, "guard": c.dryRun, "base": c.base, "head": c.head}, "", " ")
	require.NoError(t, err)
	for _, h := range c.plan.Hubs {
		out = fmt.Appendf(out, "\n%s: %d clusters and %d Applications do not change", h.Name, h.UnchangedClusters, h.UnchangedApplications)
	}
	return string(out)
}

// TestSharedClustersArePlannedAsOthers: a plan visits clusters that both states share in passing.
// It says byte by byte what a plan of two states says that share none, whose clusters are all
// computed and compared.
func TestSharedClustersArePlannedAsOthers(t *testing.T) {
	t.Parallel()
	original := repository(t)
	all := edits(original)
	paths := slices.Sorted(maps.Keys(all))
	for path := range all {
		if _, is := original[path]; !is && slices.Contains(all[path], "") {
			t.Fatalf("%s is not in the fleet", path)
		}
	}
	live := facts.NewSet(true, facts.Cluster{Name: "hub-1"}, facts.Cluster{Name: "hub-2"}, facts.Cluster{Name: fleettest.Cluster(0)}, facts.Cluster{Name: fleettest.Cluster(1)}).
		WithApplications(fleettest.Application(fleettest.Component(0), fleettest.Cluster(0), "default"), fleettest.Application(fleettest.Component(1), fleettest.Cluster(1), "canary"))
	next := maps.Clone(original)
	next[listed] = strings.ReplaceAll(strings.ReplaceAll(next[listed], fleettest.Component(0)+":", "unlisted:"), "enabled: false", "enabled: true")
	quick, differing, refused := 0, 0, 0
	// Each edit by itself, before random ones. A hub whose own revision is another one takes
	// another catalog for its releases, in both directions: components are not listed any more, or
	// are again, on clusters that both states share.
	type single struct {
		path, text         string
		isReleased, isBack bool
	}
	var alone []single
	for _, path := range paths {
		for _, text := range all[path] {
			if text != "" && (text != "-" || original[path] != "") {
				alone = append(alone, single{path: path, text: text, isBack: len(alone)%2 == 1})
			}
		}
	}
	const ownRevision = "fleet/bootstrap/hub-2.yaml"
	for _, isBack := range []bool{false, true} {
		alone = append(alone, single{ownRevision, all[ownRevision][len(all[ownRevision])-1], true, isBack})
	}
	if testing.Short() { // the race detector takes minutes for all
		alone = alone[len(alone)-5:]
	}
	steps := len(alone) + cases.Times(5)
	r := rand.New(rand.NewPCG(7, 7))
	files := maps.Clone(original)
	for step := range steps {
		if step < len(alone) || step%4 == 0 { // else the fleet is broken after a while
			files = maps.Clone(original)
			isReleased := step < len(alone) && alone[step].isReleased
			if r.IntN(2) == 0 || isReleased {
				files[layout] = ofChart
			}
			if r.IntN(3) == 0 || isReleased {
				files[versions] = strings.ReplaceAll(releases, "{type: default}", "{type: default, chartRepoRevision: next}")
			}
		}
		before := snapshot.FromMap(files)
		last := maps.Clone(files)
		var done []string
		for n := range 1 + r.IntN(2) {
			path := paths[r.IntN(len(paths))]
			text := all[path][r.IntN(len(all[path]))]
			if step < len(alone) {
				if path, text = alone[step].path, alone[step].text; n > 0 {
					break
				}
			}
			edit(files, original, path, text)
			done = append(done, path+" "+text[:min(len(text), 60)])
		}
		after := snapshot.FromMap(files)
		if step < len(alone) && alone[step].isBack {
			before, after = after, before
		}
		q := Question{}
		if r.IntN(3) == 0 {
			q.Facts = live
		}
		p, err := New(context.Background(), Options{Tools: tools})
		require.NoError(t, err)
		p.revisions["next"] = revision{snapshot: snapshot.FromMap(next)}
		p.revisions["unknown"] = revision{err: fmt.Errorf("the clone has no revision %q", "unknown")}
		base, head, err := states(before, after, q.Facts)
		if err != nil { // the next commit starts from the last good one
			files, refused = last, refused+1
			continue
		}
		other, err := knownState(before, q.Facts)
		require.NoError(t, err)
		shared := 0
		for m, c := range head.Clusters() {
			if base.Cluster(m.Hub, m.Name) == c {
				shared++
			}
			if other.Cluster(m.Hub, m.Name) == c {
				t.Fatal("the plain plan shares clusters")
			}
		}
		got, want := p.compareStates(base, head, before, after, q), p.compareStates(other, head, before, after, q)
		require.Equal(t, planned(t, want), planned(t, got), "step %d, %q, %d clusters are shared (-plain +quick)", step, done, shared)
		quick += shared
		for _, h := range got.plan.Hubs {
			differing += len(h.Clusters) + len(h.Objects)
		}
	}
	t.Logf("%d commits, %d refused; %d clusters shared, %d clusters and objects differ", steps, refused, quick, differing)
	if quick == 0 || differing == 0 || refused > steps/2 {
		t.Error("the commits try too little")
	}
}

// TestUnchangedClustersAreLookedInto: what a folder or a chart of the repository makes is in the
// plan, although no response differs.
func TestUnchangedClustersAreLookedInto(t *testing.T) {
	t.Parallel()
	original := repository(t)
	for _, path := range []string{nested, "charts/leaf/templates/extra.yaml"} {
		files := maps.Clone(original)
		files[path] += "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}\n"
		p, err := New(context.Background(), Options{Tools: tools})
		require.NoError(t, err)
		c, err := p.compare(snapshot.FromMap(original), snapshot.FromMap(files), Question{})
		require.NoError(t, err)
		if objects := c.plan.Hubs[0].Objects; len(objects) == 0 || objects[0].Name != "more" {
			t.Errorf("a commit of %s: %v", path, objects)
		}
	}
}

// TestBothStatesShareTheCatalogsOfReleases: base and head of a plan ask side by side for the
// catalog of a release at another revision, and get the same one. Without a lock, the race detector
// finds it.
func TestBothStatesShareTheCatalogsOfReleases(t *testing.T) {
	t.Parallel()
	files := repository(t)
	files[layout] = ofChart
	s := snapshot.FromMap(files)
	base, head, err := states(s, s, facts.Set{})
	require.NoError(t, err)
	p, err := New(context.Background(), Options{Tools: expand.Tools{ApplicationSets: argocd.New()}})
	require.NoError(t, err)
	finders := []catalog.FindReleaseCatalog{p.catalogsOf(base, s, nil), p.catalogsOf(head, s, nil)}
	for i := range 20 {
		name := fmt.Sprintf("next-%d", i)
		p.revisions[name] = revision{snapshot: snapshot.FromMap(map[string]string{listed: name + ": {}\n"})}
		var both sync.WaitGroup
		found := make([]*catalog.ReleaseCatalog, len(finders))
		for i, find := range finders {
			both.Go(func() {
				found[i] = find("hub-1", fleettest.Group, release.Source{RepoURL: ours, Path: "charts/application-sets", TargetRevision: name})
			})
		}
		both.Wait()
		if found[0] == nil || found[0].Name != name || found[0] != found[1] {
			t.Errorf("%s: %+v and %+v", name, found[0], found[1])
		}
	}
}

// tools render what the tests compare. They share renderings: a commit changes few, and a plan
// with shortcuts and one without render the same.
var tools = expand.Tools{ApplicationSets: argocd.New(), Charts: &renderedOnce{Charts: helm.New(), done: map[string]func() ([]manifest.Manifest, error){}}, Kustomizations: kustomize.Kustomizations{}}

// renderedOnce renders a chart with the same values once.
type renderedOnce struct {
	source.Charts
	mu   sync.Mutex
	done map[string]func() ([]manifest.Manifest, error)
}

func (r *renderedOnce) Template(c source.Chart) ([]manifest.Manifest, error) {
	how := c
	how.Files, how.Own = nil, nil
	files := make([]string, 0, 2*len(c.Files))
	for _, f := range c.Files {
		files = append(files, f.Path, f.Digest)
	}
	key, err := json.Marshal([]any{how, files})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	render, is := r.done[string(key)]
	if !is {
		render = sync.OnceValues(func() ([]manifest.Manifest, error) { return r.Charts.Template(c) })
		r.done[string(key)] = render
	}
	r.mu.Unlock()
	return render()
}
