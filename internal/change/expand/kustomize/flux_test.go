package kustomize_test

import (
	"cmp"
	"flag"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/kustomize"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var update = flag.Bool("update", false, "write the expected outputs anew")

// TestFlux: what Kustomizations make. An input is a Kustomization's spec, a repository, and what
// the outputs are or that it fails; test/kustomizations has Flux's own library make them of the
// same files.
func TestFlux(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no inputs", err)
	}
	for _, p := range paths {
		t.Run(filepath.Base(p), func(t *testing.T) {
			archive, err := txtar.ParseFile(p)
			require.NoError(t, err)
			k := source.Kustomization{Flux: &source.Flux{}}
			repo, want, fails := map[string]string{}, "", false
			for _, f := range archive.Files {
				switch name := f.Name; name {
				case "flux.yaml":
					err = yaml.Unmarshal(f.Data, &k.Flux.Spec)
				case "variables.yaml":
					err = yaml.Unmarshal(f.Data, &k.Flux.Variables)
				case "ignore":
					k.Flux.Ignore = string(f.Data)
				case "want.yaml":
					want = string(f.Data)
				case "fails":
					fails = true
				default:
					repo[strings.TrimPrefix(name, "repo/")] = string(f.Data)
				}
				if err != nil {
					t.Fatal(f.Name, err)
				}
			}
			k.Snapshot = snapshot.FromMap(repo)
			k.Dir = path.Clean(k.Flux.Spec["path"].(string))
			for _, p := range k.Snapshot.Paths() {
				if path.Base(p) == ".sourceignore" {
					k.Flux.SourceIgnore = append(k.Flux.SourceIgnore, k.Snapshot.File(p))
				}
			}
			made, err := kustomize.Kustomizations{}.Build(k)
			if (err != nil) != fails {
				t.Fatalf("%v; expected to fail: %v", err, fails)
			}
			got := text(t, made)
			if *update && !fails {
				archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want.yaml" })
				archive.Files = append(archive.Files, txtar.File{Name: "want.yaml", Data: []byte(got)})
				require.NoError(t, os.WriteFile(p, txtar.Format(archive), 0o600))
				return
			}
			assert.Equal(t, want, got)
		})
	}
}

// TestLinkedFolder: what is behind a link is in no artifact.
func TestLinkedFolder(t *testing.T) {
	const object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n"
	s := snapshot.FromMap(map[string]string{"k/a/c.yaml": object, "k/linked/c.yaml": object}).WithBeside(snapshot.Beside{LinkedFolders: []string{"k/linked"}})
	made, err := kustomize.Kustomizations{}.Build(source.Kustomization{Snapshot: s, Dir: "k", Flux: &source.Flux{}})
	if err != nil || len(made) != 1 || made[0].Template != "a/c.yaml" {
		t.Errorf("%v, %v", made, err)
	}
}

// text is objects as a stream, by kind and name.
func text(t *testing.T, made []manifest.Manifest) string {
	t.Helper()
	slices.SortFunc(made, func(a, b manifest.Manifest) int {
		return cmp.Or(cmp.Compare(name(a.Tree, "kind"), name(b.Tree, "kind")), cmp.Compare(name(a.Tree, "metadata", "name"), name(b.Tree, "metadata", "name")))
	})
	var out strings.Builder
	for _, m := range made {
		data, err := yaml.Marshal(m.Tree)
		require.NoError(t, err)
		out.WriteString("---\n")
		out.Write(data)
	}
	return out.String()
}

func name(tree manifest.Tree, path ...string) string {
	s, _ := manifest.At(tree, path...).(string)
	return s
}
