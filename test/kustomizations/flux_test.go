package kustomizations_test

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/kustomize"
	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/ssa/utils"
	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// TestFlux: the outputs that the product's test has are those of Flux's library, with what
// kustomize-controller v1.9.5 does before and after
// (internal/controller/kustomization_controller.go, build and apply), and source-controller v1.9.4
// leaves out.
func TestFlux(t *testing.T) {
	paths, err := filepath.Glob("../../internal/change/expand/kustomize/testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no inputs", err)
	}
	for _, p := range paths {
		t.Run(filepath.Base(p), func(t *testing.T) {
			archive, err := txtar.ParseFile(p)
			must(t, err)
			in := input{dir: t.TempDir()}
			want, fails := "", false
			for _, f := range archive.Files {
				switch f.Name {
				case "flux.yaml":
					in.read(t, f.Data)
				case "variables.yaml":
					must(t, yaml.Unmarshal(f.Data, &in.variables))
				case "ignore":
					in.ignore = string(f.Data)
				case "want.yaml":
					want = string(f.Data)
				case "fails":
					fails = true
				default:
					file := filepath.Join(in.dir, filepath.FromSlash(strings.TrimPrefix(f.Name, "repo/")))
					must(t, os.MkdirAll(filepath.Dir(file), 0o700))
					must(t, os.WriteFile(file, f.Data, 0o600))
				}
			}
			in.leaveOut(t)
			got, err := in.build(t)
			if (err != nil) != fails {
				t.Fatalf("%v; expected to fail: %v", err, fails)
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("(-product +Flux):\n%s", diff)
			}
		})
	}
}

type input struct {
	dir           string
	kustomization unstructured.Unstructured
	variables     map[string]string
	ignore        string
}

func (in *input) read(t *testing.T, spec []byte) {
	t.Helper()
	var tree map[string]any
	must(t, yaml.Unmarshal(spec, &tree))
	in.kustomization = unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "flux-system"}, "spec": tree}}
}

// leaveOut removes what the source's artifact would not have (fluxcd/pkg/artifact v0.18,
// storage.SourceIgnoreFilter), and then folders without files.
func (in *input) leaveOut(t *testing.T) {
	t.Helper()
	domain := strings.Split(in.dir, string(filepath.Separator))
	patterns, err := sourceignore.LoadIgnorePatterns(in.dir, domain)
	must(t, err)
	patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(in.ignore), domain)...)
	matcher := sourceignore.NewDefaultMatcher(patterns, domain)
	if len(patterns) > 0 {
		matcher = sourceignore.NewMatcher(append(sourceignore.VCSPatterns(domain), patterns...))
	}
	must(t, filepath.WalkDir(in.dir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || !matcher.Match(strings.Split(p, string(filepath.Separator)), entry.IsDir()) {
			return err
		}
		if entry.IsDir() {
			must(t, os.RemoveAll(p))
			return filepath.SkipDir
		}
		return os.Remove(p)
	}))
}

// build is what kustomize-controller would apply, as a stream by kind and name.
func (in *input) build(t *testing.T) (string, error) {
	t.Helper()
	path, _, _ := unstructured.NestedString(in.kustomization.Object, "spec", "path")
	dir := filepath.Join(in.dir, path)
	if _, err := os.Stat(dir); err != nil {
		return "", err
	}
	if _, err := kustomize.NewGenerator(in.dir, in.kustomization).WriteFile(dir); err != nil {
		return "", err
	}
	made, err := kustomize.SecureBuild(in.dir, dir, false)
	if err != nil {
		return "", err
	}
	strategy, _, _ := unstructured.NestedString(in.kustomization.Object, "spec", "postBuild", "substituteStrategy")
	_, substitutes, _ := unstructured.NestedMap(in.kustomization.Object, "spec", "postBuild")
	for _, r := range made.Resources() {
		if r.GetName() == "" || r.GetKind() == "" || r.GetApiVersion() == "" {
			return "", os.ErrInvalid
		}
		if !substitutes {
			continue
		}
		replaced, err := kustomize.SubstituteVariables(t.Context(), configMap{data: in.variables}, in.kustomization, r,
			kustomize.SubstituteWithAlways(strategy == "Always"), kustomize.SubstituteWithStrict(true)) // StrictPostBuildSubstitutions, its default
		if err != nil {
			return "", err
		}
		if replaced != nil {
			if _, err := made.Replace(r); err != nil {
				return "", err
			}
		}
	}
	stream, err := made.AsYaml()
	if err != nil {
		return "", err
	}
	objects, err := utils.ReadObjects(strings.NewReader(string(stream)))
	if err != nil {
		return "", err
	}
	return in.applied(t, objects), nil
}

// applied are the objects as they are applied.
func (in *input) applied(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	labels, _, _ := unstructured.NestedStringMap(in.kustomization.Object, "spec", "commonMetadata", "labels")
	annotations, _, _ := unstructured.NestedStringMap(in.kustomization.Object, "spec", "commonMetadata", "annotations")
	utils.SetCommonMetadata(objects, labels, annotations)
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return utils.AnyInMetadata(o, map[string]string{"kustomize.toolkit.fluxcd.io/reconcile": "disabled", "kustomize.toolkit.fluxcd.io/ssa": "Ignore"})
	})
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
	var out strings.Builder
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		must(t, err)
		out.WriteString("---\n" + string(text))
	}
	return out.String()
}

// configMap is a cluster with one.
type configMap struct {
	client.Client
	data map[string]string
}

func (c configMap) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.(*corev1.ConfigMap).Data = c.data
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
