package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/argocd"
	"github.com/argosy-hub/argosy/internal/change/expand/helm"
	"github.com/argosy-hub/argosy/internal/change/expand/kustomize"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/migrate/existing"
	"github.com/argosy-hub/argosy/internal/migrate/importer"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// corpusTools are those of the command, without the processes that render charts.
func corpusTools() expand.Tools {
	return expand.Tools{ApplicationSets: argocd.New(), Kustomizations: kustomize.Kustomizations{}}
}

// importShape imports a shape of the corpus.
func importShape(a *txtar.Archive) (*importer.Result, error) {
	o, err := optionsOf(a)
	if err != nil {
		return nil, err
	}
	return importer.Import(o)
}

// optionsOf are those of a shape: the repository below repo/, another one below other/, and the
// Secrets of clusters.yaml.
func optionsOf(a *txtar.Archive) (importer.Options, error) {
	files := map[string]string{}
	o := importer.Options{Hub: "hub", Group: "addons", ChartsVersion: releasedVersion(), Repositories: &verify.Repositories{}, Tools: corpusTools(), SetParameters: helm.SetParameters}
	other := map[string]string{}
	for _, f := range a.Files {
		switch name, inRepository := strings.CutPrefix(f.Name, "repo/"); {
		case inRepository:
			files[name] = string(f.Data)
		case strings.HasPrefix(f.Name, "other/"):
			other[strings.TrimPrefix(f.Name, "other/")] = string(f.Data)
		case f.Name == "clusters.yaml":
			clusters, err := existing.Secrets(snapshot.NewFile(f.Name, f.Data, 1<<20))
			if err != nil {
				return o, err
			}
			o.Clusters = clusters
		}
	}
	if len(other) > 0 {
		o.Repositories.Others = []verify.Repository{{URL: "https://git.example.com/other.git", Snapshot: snapshot.FromMap(other)}}
	}
	o.Repositories.Own.Snapshot = snapshot.FromMap(files)
	return o, nil
}

// fileOf is a file of an archive, nil if there is none.
func fileOf(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// TestImportCorpus imports each shape of testdata/import: what the fleet's Applications are, what
// is equal, and what is reported. A shape's first line names its public source. The fleets are free
// of findings. Shapes of copied values are left with half of their lines.
func TestImportCorpus(t *testing.T) {
	names, err := filepath.Glob("testdata/import/*.txtar")
	if err != nil || len(names) < 30 {
		t.Fatalf("a corpus of %d shapes; expected 30: %v", len(names), err)
	}
	var total, equal, before, after, whole int
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			require.NoError(t, err)
			if !strings.HasPrefix(string(a.Comment), "# Shape: ") {
				t.Errorf("%s does not begin with the source of its shape", name)
			}
			r, err := importShape(a)
			require.NoError(t, err)
			total, equal = total+r.Applications, equal+r.Equal
			if strings.Contains(name, "copied") {
				before, after = before+r.LinesBefore, after+r.LinesAfter
			}
			if r.Equal == r.Applications && len(r.Problems) == 0 {
				whole++
			}
			if unlisted := r.Applications - r.Equal; unlisted > len(r.Problems) {
				t.Errorf("%d Applications differ, and %d problems are listed", unlisted, len(r.Problems))
			}
			for _, kept := range r.Kept { // no value file moves, and none changes
				if was := append(fileOf(a, "repo/"+kept), fileOf(a, "other/"+kept)...); !bytes.Equal(r.Files[kept], was) {
					t.Errorf("%s is\n%s\nand was\n%s", kept, r.Files[kept], was)
				}
			}
			st := lintFleet(t, r)
			again(t, a, r.Files, st)
			got := summaryOf(r)
			if want := string(fileOf(a, "want")); got != want {
				if !*update {
					t.Errorf("result (-want +got), rewritten by -update:\n%s", cmp.Diff(want, got))
					return
				}
				a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
				a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(got)})
				require.NoError(t, os.WriteFile(name, txtar.Format(a), 0o644))
			}
		})
	}
	t.Logf("%d shapes, %d of them whole; %d of %d Applications equal; %d lines of copied values, which were %d", len(names), whole, equal, total, after, before)
	if 10*equal < 9*total {
		t.Errorf("%d of %d Applications are equal; expected 90 %%", equal, total)
	}
	if 2*after > before {
		t.Errorf("%d lines of copied values are left of %d; expected half", after, before)
	}
}

// again wants that a fleet's Applications are the same after it has been rendered as
// ApplicationSets with lists, and these have been imported: the way back and forth loses nothing.
func again(t *testing.T, a *txtar.Archive, files map[string][]byte, st *fleetstate.State) {
	t.Helper()
	o, err := optionsOf(a)
	require.NoError(t, err)
	first := expandFleet(files, st)
	for _, set := range first.Lists(fleet.OwnerHub) {
		if set.ApplicationSet() {
			data, err := json.Marshal(set.Tree)
			require.NoError(t, err)
			o.ApplicationSets = append(o.ApplicationSets, snapshot.NewFile("rendered/"+set.Name()+".yaml", data, 1<<20))
		}
	}
	called := map[string]string{} // clusters in Argo CD, whose names may be no members'
	for _, app := range first.Static(fleet.OwnerHub) {
		if app.Application() {
			called[app.Label("argosy.dev/cluster")] = manifest.Text(app.Tree, "spec", "destination", "name")
		}
	}
	o.Clusters = nil
	for _, m := range st.Fleet.Members("hub") {
		c := expand.Cluster{Name: m.Name, Server: "https://" + m.Name, Labels: map[string]string{"tenant": m.Tenant, "environment": m.Environment}}
		if name := called[m.Name]; name != "" {
			c.Name = name
		}
		if m.IsHub {
			c.Server = verify.InCluster
		}
		o.Clusters = append(o.Clusters, c)
	}
	r, err := importer.Import(o)
	require.NoError(t, err)
	second := expandFleet(r.Files, stateOf(t, r.Files))
	assert.Equal(t, applicationsOf(first), applicationsOf(second), "rendered and imported again")
}

// expandFleet is the hub's pipeline.
func expandFleet(files map[string][]byte, st *fleetstate.State) *expand.Hub {
	return expand.New(expand.Options{State: st, Snapshot: snapshotOf(files), Hub: "hub", Tools: corpusTools()})
}

// applicationsOf are the Applications by name.
func applicationsOf(h *expand.Hub) map[string]any {
	out := map[string]any{}
	for _, o := range h.Static(fleet.OwnerHub) {
		if o.Application() {
			out[o.Name()] = o.Tree
		}
	}
	return out
}

func snapshotOf(files map[string][]byte) *snapshot.Snapshot {
	texts := map[string]string{}
	for name, data := range files {
		texts[name] = string(data)
	}
	return snapshot.FromMap(texts)
}

func stateOf(t *testing.T, files map[string][]byte) *fleetstate.State {
	t.Helper()
	st, err := fleetstate.Build(nil, snapshotOf(files), facts.Set{})
	require.NoError(t, err)
	return st
}

// lintFleet wants no finding in a fleet, but for values of kept files that had no effect before.
func lintFleet(t *testing.T, r *importer.Result) *fleetstate.State {
	t.Helper()
	st := stateOf(t, r.Files)
	for _, p := range (&options{charts: helm.New()}).findings(st) {
		if p.Reason != problem.NoEffect || !slices.Contains(r.Kept, p.Pos.File) {
			t.Errorf("lint: %s", p.Error())
		}
	}
	return st
}

// summaryOf is what a shape wants: the counts, the value files with their content, the components,
// and the problems.
func summaryOf(r *importer.Result) string {
	var b bytes.Buffer
	sets := 0
	for name := range r.Files {
		if strings.HasPrefix(name, "fleet/bootstrap/") {
			sets++
		}
	}
	fmt.Fprintf(&b, "%d members, %d components, %d ApplicationSets; %d of %d Applications equal; %d lines of values, which were %d\n", r.Members, r.Components, sets, r.Equal, r.Applications, r.LinesAfter, r.LinesBefore)
	for _, p := range r.Problems {
		fmt.Fprintln(&b, p.Error())
	}
	for _, left := range r.Left {
		fmt.Fprintln(&b, "left:", left)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Names)) {
		fmt.Fprintf(&b, "%s -> %s\n", name, r.Names[name])
	}
	if len(r.Kept) > 0 {
		fmt.Fprintf(&b, "%s:\n%s", fleet.LayoutFile, indented(r.Files[fleet.LayoutFile]))
	}
	if r.Unkept != "" {
		fmt.Fprintln(&b, "value files do not keep their places:", r.Unkept)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		if slices.Contains(r.Kept, name) {
			fmt.Fprintln(&b, "kept:", name)
		} else if path.Base(name) == "values.yaml" || strings.Contains(name, "application-sets/") {
			fmt.Fprintf(&b, "%s:\n%s", name, indented(r.Files[name]))
		}
	}
	return b.String()
}

func indented(data []byte) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(string(data), "\n"), "\n", "\n  ") + "\n"
}

// The selector and the template of a generator that cannot be run count for the sets that are given
// in its place.
func TestGeneratedSets(t *testing.T) {
	o, err := optionsOf(txtar.Parse([]byte(`-- repo/pulls.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: pulls, namespace: argocd}
spec:
  goTemplate: true
  generators:
    - pullRequest:
        github: {owner: acme, repo: shop}
        template: {metadata: {}, spec: {project: previews, destination: {}}}
      selector: {matchLabels: {preview: "true"}}
  template:
    metadata: {name: 'shop-{{ .number }}'}
    spec:
      project: default
      destination: {name: dev-1, namespace: shop}
      source: {repoURL: 'https://charts.example.com', chart: shop, targetRevision: 1.0.0}
`)))
	require.NoError(t, err)
	o.Generated = map[string][]any{"pulls": {map[string]any{"number": "12", "preview": "true"}, map[string]any{"number": "15", "preview": "false"}}}
	r, err := importer.Import(o)
	require.NoError(t, err)
	if r.Applications != 1 {
		t.Errorf("%d Applications; expected the one that the selector lets pass: %v", r.Applications, r.Problems)
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(r.Files)), func(data []byte) bool { return bytes.Contains(data, []byte("previews")) }) {
		t.Errorf("the generator's template is lost: %v", slices.Sorted(maps.Keys(r.Files)))
	}
}

// A file of the repository that the fleet replaces, copied over it, is reported.
func TestImportNamesWhatItWouldReplace(t *testing.T) {
	a, err := txtar.ParseFile("testdata/import/kept-regions.txtar")
	require.NoError(t, err)
	for i := range a.Files {
		if a.Files[i].Name == "repo/sets/loki.yaml" {
			a.Files[i].Name = "repo/application-sets/addons.yaml"
		}
	}
	r, err := importShape(a)
	if err != nil || len(r.Kept) == 0 {
		t.Fatal(r, err)
	}
	if !slices.ContainsFunc(r.Problems, func(p problem.Problem) bool {
		return p.Pos.File == "application-sets/addons.yaml" && strings.Contains(p.Found, "the fleet has another file of this name")
	}) {
		t.Errorf("the ApplicationSet would be replaced, and nothing says so: %v", r.Problems)
	}
}

// TestImportKeepsAutomatedSyncOff: an automated sync that is switched off is none. The fleet's
// Applications do not sync by themselves either.
func TestImportKeepsAutomatedSyncOff(t *testing.T) {
	for name, c := range map[string]struct {
		policy, generator string
		isOn              bool
	}{
		"template":                 {policy: "      syncPolicy: {automated: {enabled: false, prune: true, selfHeal: true}}\n"},
		"templatePatch":            {policy: "  templatePatch: |\n    spec: {syncPolicy: {automated: {enabled: {{ eq .env \"dev\" }}, prune: true}}}\n"},
		"templatePatch of another": {policy: "      syncPolicy: {automated: {enabled: true, prune: true}}\n  templatePatch: |\n    spec: {syncPolicy: {automated: {enabled: false}}}\n"},
		"a generator's template":   {generator: ", template: {metadata: {}, spec: {project: '', destination: {}, syncPolicy: {automated: {enabled: false, prune: true}}}}"},
		"templatePatch says on":    {policy: "      syncPolicy: {automated: {enabled: false, prune: true}}\n  templatePatch: |\n    spec: {syncPolicy: {automated: {enabled: true}}}\n", isOn: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := importShape(txtar.Parse([]byte(`-- repo/shop.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: shop, namespace: argocd}
spec:
  goTemplate: true
  generators: [{list: {elements: [{cluster: prod-1, env: prod}]` + c.generator + `}}]
  template:
    metadata: {name: 'shop-{{ .cluster }}'}
    spec:
      project: default
      destination: {name: '{{ .cluster }}', namespace: shop}
      source: {repoURL: 'https://charts.example.com', chart: shop, targetRevision: 1.0.0}
` + c.policy)))
			require.NoError(t, err)
			app := applicationsOf(expandFleet(r.Files, stateOf(t, r.Files)))["shop-prod-1"]
			if app == nil || manifest.IsAutomated(app) != c.isOn {
				t.Errorf("%v: %v", app, r.Problems)
			}
		})
	}
}
