package main

import (
	"bytes"
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

	"github.com/argosy-hub/argosy/internal/expand"
	"github.com/argosy-hub/argosy/internal/expand/argocd"
	"github.com/argosy-hub/argosy/internal/expand/helm"
	"github.com/argosy-hub/argosy/internal/expand/kustomize"
	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/importer"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/verify"
)

// corpusTools are those of the command, without the processes that render charts.
func corpusTools() expand.Tools {
	return expand.Tools{ApplicationSets: argocd.New(), Kustomizations: kustomize.Kustomizations{}}
}

// importShape imports a shape of the corpus: the files below repo/, clusters.yaml, generated.yaml.
func importShape(a *txtar.Archive) (*importer.Result, error) {
	files := map[string]string{}
	o := importer.Options{Hub: "hub", Group: "addons", Charts: argosyCharts, ChartsVersion: chartsVersion, Repositories: &verify.Repositories{}, Tools: corpusTools(), SetParameters: helm.SetParameters}
	other := map[string]string{}
	for _, f := range a.Files {
		switch name, inRepository := strings.CutPrefix(f.Name, "repo/"); {
		case inRepository:
			files[name] = string(f.Data)
		case strings.HasPrefix(f.Name, "other/"):
			other[strings.TrimPrefix(f.Name, "other/")] = string(f.Data)
		case f.Name == "clusters.yaml":
			clusters, err := importer.Secrets(snapshot.NewFile(f.Name, f.Data, 1<<20))
			if err != nil {
				return nil, err
			}
			o.Clusters = clusters
		}
	}
	if len(other) > 0 {
		o.Repositories.Others = []verify.Repository{{URL: "https://git.example.com/other.git", Snapshot: snapshot.FromMap(other)}}
	}
	o.Repositories.Own = snapshot.FromMap(files)
	return importer.Import(o)
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
	if err != nil || len(names) == 0 {
		t.Fatal("no corpus", err)
	}
	var total, equal, before, after, whole int
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(a.Comment), "# Shape: ") {
				t.Errorf("%s does not begin with the source of its shape", name)
			}
			r, err := importShape(a)
			if err != nil {
				t.Fatal(err)
			}
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
			lintFleet(t, r.Files)
			got := summaryOf(r)
			if want := string(fileOf(a, "want")); got != want {
				if !*update {
					t.Errorf("result (-want +got), rewritten by -update:\n%s", cmp.Diff(want, got))
					return
				}
				a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
				a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
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

// lintFleet wants no finding in a fleet.
func lintFleet(t *testing.T, files map[string][]byte) {
	t.Helper()
	texts := map[string]string{}
	for name, data := range files {
		texts[name] = string(data)
	}
	st, err := fleetstate.Build(nil, snapshot.FromMap(texts), facts.Set{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range findings(st) {
		t.Errorf("lint: %s", p.Error())
	}
}

// summaryOf is what a shape wants: the counts, the value files with their content, the components,
// and the problems.
func summaryOf(r *importer.Result) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d members, %d components; %d of %d Applications equal; %d lines of values, which were %d\n", r.Members, r.Components, r.Equal, r.Applications, r.LinesAfter, r.LinesBefore)
	for _, p := range r.Problems {
		fmt.Fprintln(&b, p.Error())
	}
	for _, left := range r.Left {
		fmt.Fprintln(&b, "left:", left)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Names)) {
		fmt.Fprintf(&b, "%s -> %s\n", name, r.Names[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		if path.Base(name) == "values.yaml" || strings.Contains(name, "application-sets/") {
			fmt.Fprintf(&b, "%s:\n%s", name, indented(r.Files[name]))
		}
	}
	return b.String()
}

func indented(data []byte) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(string(data), "\n"), "\n", "\n  ") + "\n"
}
