package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
)

// What the offline pipeline says of a commit (docs/design/0024-expansion.md) is what comes of it on the hub: what `argosy render`
// writes is what the API server has, field by field, and what `argosy plan` says to be created, changed and removed is what was.
// Both are asked as people ask them, in a clone, with the facts that `argosy facts export` has from the hub.

// foresight is what was compared last: the next plan is from there.
type foresight struct {
	head  string
	facts []byte
	want  map[string]*unstructured.Unstructured // by id
	have  map[string]any                        // by id, as it was
	// owners are the ApplicationSets' names, by those of their Applications.
	owners map[string]string
}

// id names an object.
func id(kind, name string) string { return kind + " " + name }

// foreseen fails where what is there now is not what is foreseen of the last commit, or where what has become of it since the
// last call is not what the plan says. Nothing may be under way, and nothing refused.
func (e *environment) foreseen(t *testing.T) {
	t.Helper()
	head, err := e.Fleet.Head(t.Context())
	must(t, err)
	last, dir := e.foresaw, t.TempDir()
	now := foresight{head: head, facts: e.factsNow(t), want: last.want, owners: last.owners}
	began := time.Now()
	var said planned
	if last.head != head || !bytes.Equal(last.facts, now.facts) {
		said = e.foresee(t, dir, last, &now)
	}
	want := map[string]any{}
	for name, o := range now.want {
		want[name] = told(o)
	}
	if err := e.await(t.Context(), patience, "what is foreseen of "+head, func() string {
		now.have = e.there(t, now.want)
		return cmp.Or(differing(want, now.have), e.misowned(now.owners))
	}); err != nil {
		t.Error(err) // what the plan says of it is worth knowing, too
	}
	if last.head != "" && last.head != head {
		if diff := gocmp.Diff(said.effects(), became(last.have, now.have)); diff != "" {
			t.Errorf("the plan from %.7s to %.7s is not what came of it (-plan +API server):\n%s", last.head, head, diff)
		}
	}
	e.foresaw = now
	e.timed("foreseen", fmt.Sprintf("%d objects compared, %d foreseen to change", len(want), len(said.effects())), began)
}

// factsNow are what the hub knows of its clusters.
func (e *environment) factsNow(t *testing.T) []byte {
	t.Helper()
	facts, err := argosy(t, "facts", "export", "--kubeconfig", e.Control.Kubeconfig)
	must(t, err)
	return facts
}

// foresee asks for both at once: what the hub is to have, and what a plan from the last comparison says.
func (e *environment) foresee(t *testing.T, dir string, last foresight, now *foresight) planned {
	t.Helper()
	before, after := filepath.Join(dir, "before.yaml"), filepath.Join(dir, "after.yaml")
	must(t, os.WriteFile(before, last.facts, 0o600))
	must(t, os.WriteFile(after, now.facts, 0o600))
	var asked sync.WaitGroup
	var plan []byte
	var unplanned error
	if last.head != "" && last.head != now.head {
		asked.Go(func() {
			plan, unplanned = argosy(t, "plan", "--repo", e.Fleet.Path(), "--hub", hub.Name, "--facts", before, "--base", last.head, "--head", now.head, "-o", "json")
		})
	}
	_, err := argosy(t, "render", "--repo", e.Fleet.Path(), "--hub", hub.Name, "--facts", after, "--form", "pipeline", "--out", filepath.Join(dir, "rendered"))
	asked.Wait()
	must(t, errors.Join(err, unplanned))
	var said planned
	if plan != nil {
		must(t, json.Unmarshal(plan, &said))
	}
	for _, p := range said.Problems {
		t.Errorf("the plan is not complete: %v", p)
	}
	now.want, now.owners = map[string]*unstructured.Unstructured{}, map[string]string{}
	for path, o := range written(t, filepath.Join(dir, "rendered")) {
		if o.GetKind() != "ApplicationSet" {
			now.want[id(o.GetKind(), o.GetName())] = o
		}
		if maker := filepath.Base(filepath.Dir(path)); maker != "applications" && o.GetKind() == "Application" {
			now.owners[o.GetName()] = maker
		}
	}
	return said
}

// misowned says which Applications another ApplicationSet controls than is foreseen.
func (e *environment) misowned(owners map[string]string) string {
	var out []string
	for name, o := range e.ledger.all(hub.Name, "Application") {
		if have, want := controller(o), cmp.Or(owners[name], "nobody"); have != want {
			out = append(out, fmt.Sprintf("%s is controlled by %s; foreseen is %s", name, have, want))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// argosy runs the command line, as built, and gives what it says.
func argosy(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	var out, problems bytes.Buffer
	command := exec.CommandContext(t.Context(), filepath.Join("..", "..", "bin", "argosy"), args...)
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("argosy %s: %w\n%s", strings.Join(args, " "), err, problems.String())
	}
	return out.Bytes(), nil
}

// written are the objects in the files of a folder, by the file's path.
func written(t *testing.T, dir string) map[string]*unstructured.Unstructured {
	t.Helper()
	out := map[string]*unstructured.Unstructured{}
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		out[path] = &unstructured.Unstructured{}
		return yaml.Unmarshal(text, &out[path].Object)
	}))
	return out
}

// there is what the hub has: all Applications, and of other kinds what is foreseen.
func (e *environment) there(t *testing.T, foreseen map[string]*unstructured.Unstructured) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, o := range e.ledger.all(hub.Name, "Application") {
		out[id("Application", name)] = told(o)
	}
	for name, o := range foreseen {
		if o.GetKind() == "Application" {
			continue
		}
		kind, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		live, err := e.Kube.Get(t.Context(), kind, o.GetNamespace(), o.GetName())
		must(t, err)
		if live != nil {
			out[name] = told(live)
		}
	}
	return out
}

// others are what somebody else puts onto objects, by the part of the metadata.
var others = map[string][]string{
	"annotations": {
		"argocd.argoproj.io/refresh",     // whoever wants an Application compared, until Argo CD has
		"argocd.argoproj.io/tracking-id", // Argo CD 3, onto what an Application makes
	},
	"labels": {
		"app.kubernetes.io/instance", // Argo CD 2, onto what an Application makes
	},
}

// told is an object as whoever made it wants it: without its status and a running operation, without what Kubernetes notes of it (uid,
// resourceVersion, generation, creationTimestamp, managedFields), without who controls it (ownerReferences, which need a uid),
// and without what others add.
func told(o *unstructured.Unstructured) any {
	metadata := map[string]any{"name": o.GetName(), "namespace": o.GetNamespace()}
	for part, all := range map[string]map[string]string{"labels": o.GetLabels(), "annotations": o.GetAnnotations()} {
		all = maps.Clone(all)
		maps.DeleteFunc(all, func(key, _ string) bool { return slices.Contains(others[part], key) })
		if len(all) > 0 {
			metadata[part] = all
		}
	}
	if finalizers := o.GetFinalizers(); len(finalizers) > 0 {
		metadata["finalizers"] = finalizers
	}
	out := map[string]any{"metadata": metadata}
	for field, value := range o.Object {
		if field != "metadata" && field != "status" && field != "operation" {
			out[field] = value
		}
	}
	if o.GetKind() == "Application" { // its controller leaves out what is false when it writes one that others have made
		out["spec"] = withoutFalse(out["spec"])
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	var same any // with JSON's types
	if err := json.Unmarshal(text, &same); err != nil {
		panic(err)
	}
	return same
}

// withoutFalse is a value without what is false in its maps.
func withoutFalse(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if x != false {
				out[k] = withoutFalse(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = withoutFalse(x)
		}
		return out
	}
	return value
}

// differing says what is not as it is wanted, up to a few objects of it.
func differing(want, have map[string]any) string {
	const most = 4
	var out []string
	for _, name := range slices.Sorted(maps.Keys(merge(want, have))) {
		w, wanted := want[name]
		h, has := have[name]
		switch {
		case !has:
			out = append(out, name+" is foreseen, and not there")
		case !wanted:
			out = append(out, name+" is there, and not foreseen")
		default:
			if diff := gocmp.Diff(w, h); diff != "" {
				out = append(out, name+" (-foreseen +API server):\n"+diff)
			}
		}
	}
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return strings.Join(out, "\n")
}

func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// became is what has become of Applications.
func became(before, after map[string]any) map[string]string {
	out := map[string]string{}
	for name := range merge(before, after) {
		b, was := before[name]
		a, is := after[name]
		switch {
		case !strings.HasPrefix(name, id("Application", "")):
		case !was:
			out[name] = "create"
		case !is:
			out[name] = "remove"
		case !gocmp.Equal(b, a):
			out[name] = "change"
		}
	}
	return out
}

// planned is a plan, as far as it is compared.
type planned struct {
	Hubs []struct {
		Clusters []struct {
			Applications []plannedApplication
		}
		Objects []struct {
			Kind, Name, Owner, Action string
			Left                      bool
		}
	}
	Problems []map[string]any
}

type plannedApplication struct {
	Name, Action, Owner string
}

// effects are what becomes of the hub's Applications. One that moves goes from one ApplicationSet to another, under its name.
func (p planned) effects() map[string]string {
	action := map[string]string{"create": "create", "change": "change", "move": "change", "remove": "remove"}
	out := map[string]string{}
	for _, h := range p.Hubs {
		for _, c := range h.Clusters {
			for _, a := range c.Applications {
				if a.Owner == hubOwner {
					out[id("Application", a.Name)] = action[a.Action]
				}
			}
		}
		for _, o := range h.Objects {
			if o.Kind == "Application" && o.Owner == hubOwner && !o.Left {
				out[id(o.Kind, o.Name)] = o.Action
			}
		}
	}
	return out
}
