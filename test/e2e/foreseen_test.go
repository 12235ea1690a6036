package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// What the offline pipeline says of a commit (docs/design/0024-expansion.md) is what comes of it on the hub: what `argosy render`
// writes is what the API server has, field by field, and what `argosy plan` says to be created, changed and removed is what was.
// Both are asked as people ask them, in a clone, with the facts that `argosy facts export` has from the hub.

// foresight compares the engines of a hub with what is foreseen of its fleet's last commit.
type foresight struct {
	repo, hub string
	engines   []deploying
	// facts are what the hub knows of its clusters, as `argosy facts export` has it.
	facts func(*testing.T) []byte
	last  foreseen
}

// deploying is an engine, and how it is looked at.
type deploying struct {
	owner string // as the service calls it
	kube  *kube.Client
	// all is what there is of some kinds. Of others, what is foreseen is looked at.
	all   func(*testing.T) []*unstructured.Unstructured
	kinds []string
	// ours tells what is foreseen that it makes; nil is all.
	ours func(*unstructured.Unstructured) bool
	// manager is who applies to its API server what is foreseen, and owns what it sets. Where there is one, an object is as foreseen if it
	// would be the same when that is applied again: the API server fills in defaults, and controllers add to it.
	manager string
}

// foreseen is what was compared.
type foreseen struct {
	head  string
	facts []byte
	of    map[string]*outlook // by engine
}

// outlook is what an engine is to have, and has.
type outlook struct {
	want map[string]any // by id
	have map[string]any
	// makers are the ApplicationSets' names, by those of their Applications; nobody's are not in it.
	makers map[string]string
	// left is what nobody makes any more, and stays as it was.
	left map[string]any
}

// nobody controls what no ApplicationSet has made.
const nobody = "nobody"

// id names an object.
func id(kind, name string) string { return kind + " " + name }

// check fails where what is there now is not what is foreseen of the last commit, or where what has become of it since the
// last check is not what the plan says. Nothing may be under way. What stays as it was, by the plan's word, has to: what the removal
// budget does not let go, and what is left behind.
func (f *foresight) check(t *testing.T, await func(what string, pending func() string) error) (said string) {
	t.Helper()
	now := f.foresee(t)
	plan := f.plan(t, now.head)
	for _, problem := range plan.problems() {
		t.Errorf("the plan is not complete: %v", problem)
	}
	held := 0
	for _, engine := range f.engines {
		o, was := now.of[engine.owner], f.last.of[engine.owner]
		o.leaves(plan.left(engine.owner), was)
		holds := plan.held(engine.owner)
		for name := range holds {
			o.want[id("Application", name)], o.makers[id("Application", name)] = was.have[id("Application", name)], was.makers[id("Application", name)]
		}
		if err := await("what is foreseen of "+now.head+" of "+engine.owner, func() string {
			return engine.look(t, o)
		}); err != nil {
			t.Error(err) // what the plan says of it is worth knowing, too
		}
		if plan != nil && was != nil {
			if diff := gocmp.Diff(plan.effects(engine.owner, holds), became(was.have, o.have)); diff != "" {
				t.Errorf("%s: the plan from %.7s to %.7s is not what came of it (-plan +API server):\n%s", engine.owner, f.last.head, now.head, diff)
			}
		}
		held += len(holds)
		said += fmt.Sprintf("%d objects of %s, %d to change; ", len(o.want), engine.owner, len(plan.effects(engine.owner, holds)))
	}
	if held == 0 { // else it is still to come of this plan
		f.last = now
	}
	return said
}

// checkBroken is check for a commit of which something cannot be computed: nothing is rendered of it, and what becomes of what there was is
// what the plan says all the same. The next check is still from the commit before.
func (f *foresight) checkBroken(t *testing.T, await func(what string, pending func() string) error) {
	t.Helper()
	head := f.head(t)
	plan := f.plan(t, head)
	if len(plan.Broken) == 0 {
		t.Error("the plan says of nothing that it is broken")
	}
	for _, engine := range f.engines {
		was := f.last.of[engine.owner]
		err := await("what is foreseen of "+head+", broken, of "+engine.owner, func() string {
			return gocmp.Diff(plan.effects(engine.owner, nil), became(was.have, toldAll(engine.live(t, was.want))))
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// leaves adds what is left behind, of old and since what there was, as long as nobody makes it again.
func (o *outlook) leaves(names []string, was *outlook) {
	o.left = map[string]any{}
	if was == nil {
		return
	}
	maps.Copy(o.left, was.left)
	for _, name := range names {
		o.left[name] = was.have[name]
	}
	maps.DeleteFunc(o.left, func(name string, _ any) bool { return o.want[name] != nil })
	maps.Copy(o.want, o.left)
}

// foresee is what all engines are to have by the last commit. It is not asked for anew where nothing has changed.
func (f *foresight) foresee(t *testing.T) foreseen {
	t.Helper()
	now := foreseen{head: f.head(t), facts: f.facts(t), of: map[string]*outlook{}}
	for _, engine := range f.engines {
		if was := f.last.of[engine.owner]; was != nil && now.head == f.last.head && bytes.Equal(now.facts, f.last.facts) {
			now.of[engine.owner] = &outlook{want: maps.Clone(was.want), makers: was.makers}
			continue
		}
		dir := filepath.Join(t.TempDir(), "rendered")
		_, err := argosy(t, "render", "--repo", f.repo, "--hub", f.hub, "--owner", engine.owner, "--facts", file(t, now.facts), "--form", "pipeline", "--out", dir)
		must(t, err)
		o := &outlook{want: map[string]any{}, makers: map[string]string{}}
		for path, object := range written(t, dir) {
			if engine.ours != nil && !engine.ours(object) {
				continue
			}
			name := id(object.GetKind(), object.GetName())
			o.want[name] = told(object)
			if maker := filepath.Base(filepath.Dir(path)); maker != "applications" && object.GetKind() == "Application" {
				o.makers[name] = maker
			}
		}
		now.of[engine.owner] = o
	}
	return now
}

// head is the last commit.
func (f *foresight) head(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", f.repo, "rev-parse", "HEAD").Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

// plan is what a plan says from the last check, with the facts from then; nil where nothing has been committed since.
func (f *foresight) plan(t *testing.T, head string) *planned {
	t.Helper()
	if f.last.head == "" || f.last.head == head {
		return nil
	}
	var said planned
	text, err := argosy(t, "plan", "--repo", f.repo, "--hub", f.hub, "--facts", file(t, f.last.facts), "--base", f.last.head, "--head", head, "-o", "json")
	if json.Unmarshal(text, &said) != nil {
		t.Fatal(err)
	}
	if (err != nil) != (len(said.Problems) > 0) {
		t.Errorf("the plan has the problems %v, and ends with %v", said.Problems, err)
	}
	return &said
}

// live is what an engine has: all of the kinds that it is looked at for, and of others what is foreseen.
func (d deploying) live(t *testing.T, foreseen map[string]any) map[string]*unstructured.Unstructured {
	t.Helper()
	out := map[string]*unstructured.Unstructured{}
	for _, object := range d.all(t) {
		out[id(object.GetKind(), object.GetName())] = object
	}
	for name, wanted := range foreseen {
		object := &unstructured.Unstructured{Object: wanted.(map[string]any)}
		if slices.Contains(d.kinds, object.GetKind()) {
			continue
		}
		there, err := d.kube.Same(t.Context(), object)
		must(t, err)
		if there != nil {
			out[name] = there
		}
	}
	return out
}

// look is how what an engine has differs from what it is to have: Applications that another ApplicationSet controls are named, too.
func (d deploying) look(t *testing.T, o *outlook) string {
	t.Helper()
	live, want := d.live(t, o.want), maps.Clone(o.want)
	var misowned []string
	for name, object := range live {
		if maker, want := controller(object), cmp.Or(o.makers[name], nobody); object.GetKind() == "Application" && maker != want {
			misowned = append(misowned, fmt.Sprintf("%s is controlled by %s; foreseen is %s", name, maker, want))
		}
		if d.manager != "" && o.want[name] != nil {
			applied, err := d.kube.WouldBe(t.Context(), d.manager, &unstructured.Unstructured{Object: o.want[name].(map[string]any)})
			must(t, err)
			want[name] = told(applied)
		}
	}
	slices.Sort(misowned)
	o.have = toldAll(live)
	return cmp.Or(differing(want, o.have), strings.Join(misowned, "\n"))
}

func toldAll(objects map[string]*unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for name, o := range objects {
		out[name] = told(o)
	}
	return out
}

// argosy is what the command line says, as built.
func argosy(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	var out, problems bytes.Buffer
	command := exec.CommandContext(t.Context(), filepath.Join("..", "..", "bin", "argosy"), args...)
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("argosy %s: %w\n%s", strings.Join(args, " "), err, problems.String())
	}
	return out.Bytes(), nil
}

// file is the path of one with a text.
func file(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	must(t, os.WriteFile(path, text, 0o600))
	return path
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

// others are what somebody else puts onto objects, by the part of the metadata.
var others = map[string][]string{
	"annotations": {
		"argocd.argoproj.io/refresh",                 // whoever wants an Application compared, until Argo CD has
		"argocd.argoproj.io/application-set-refresh", // whoever wants an ApplicationSet to ask, until it has
		"argosy.dev/refreshed-at",                    // the service, when it wants that
		"argocd.argoproj.io/tracking-id",             // Argo CD 3, onto what an Application makes
	},
	"labels": {
		"app.kubernetes.io/instance",            // Argo CD 2, onto what an Application makes
		"kustomize.toolkit.fluxcd.io/name",      // Flux, onto what a Kustomization makes
		"kustomize.toolkit.fluxcd.io/namespace", // the same
	},
}

// told is an object as whoever made it wants it: without its status and a running operation, without what Kubernetes notes of it (uid,
// resourceVersion, generation, creationTimestamp, managedFields), without who controls it (ownerReferences, which need a uid),
// and without what others add.
func told(o *unstructured.Unstructured) map[string]any {
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
	switch o.GetKind() {
	case "ApplicationSet": // its controller writes it with what is empty added or left out
		out["spec"] = substance(out["spec"])
	case "Application": // its controller leaves out what is false when it writes one that others have made
		out["spec"] = withoutFalse(out["spec"])
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	var same map[string]any // with JSON's types
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

// became is what has become of Applications, by name, and of what Flux has in their place.
func became(before, after map[string]any) map[string]string {
	out := map[string]string{}
	for name := range merge(before, after) {
		b, was := before[name]
		a, is := after[name]
		kind, app, _ := strings.Cut(name, " ")
		switch {
		case kind != "Application" && kind != "HelmRelease" && kind != "Kustomization":
		case !was:
			out[app] = "create"
		case !is:
			out[app] = "remove"
		case !gocmp.Equal(b, a):
			out[app] = "change"
		}
	}
	return out
}
