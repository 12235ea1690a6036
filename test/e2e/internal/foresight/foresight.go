// Package foresight compares what the offline pipeline says of a commit (docs/design/0024-expansion.md) with what comes of it: what
// `argosy render` writes is what the API server has, field by field, and what `argosy plan` says to be created, changed and removed
// is what was. Both are asked as people ask them, in a clone, with the facts that `argosy facts export` has from the hub.
package foresight

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Foresight compares the engines of a hub with what is foreseen of its fleet's last commit.
type Foresight struct {
	// Argosy is the command line, Repo a clone of the fleet, and Hub whose engines are compared.
	Argosy, Repo, Hub string
	Engines           []Engine
	// Facts are what the hub knows of its clusters, as `argosy facts export` has it.
	Facts func(testing.TB) []byte
	last  foreseen
}

// foreseen is what was compared.
type foreseen struct {
	head  string
	facts []byte
	of    map[string]*outlook // by engine
}

// Check fails where what is there now is not what is foreseen of the last commit, or where what has become of it since the
// last check is not what the plan says. Nothing may be under way. What stays as it was, by the plan's word, has to: what the removal
// budget does not let go, and what is left behind.
func (f *Foresight) Check(t testing.TB, await func(what string, pending func() string) error) (said string) {
	t.Helper()
	return f.CheckApart(t, await, Apart{})
}

// Apart is what the pipeline cannot be told.
type Apart struct {
	// Stay are Applications of which nothing goes, though it is said: whoever is to remove them may not see them. It is still to come.
	Stay []string
	// Unknown are objects that say what somebody else has to bring, who is not there: a kind and a name each.
	Unknown []string
}

// CheckApart is Check where something is apart.
func (f *Foresight) CheckApart(t testing.TB, await func(what string, pending func() string) error, apart Apart) (said string) {
	t.Helper()
	now := f.foresee(t)
	plan := f.plan(t, now.head)
	for _, problem := range plan.problems() {
		t.Errorf("the plan is not complete: %v", problem)
	}
	held := 0
	for _, engine := range f.Engines {
		o, was := now.of[engine.Owner], f.last.of[engine.Owner]
		o.leaves(plan.left(engine.Owner), was)
		holds := plan.held(engine.Owner)
		for name := range holds {
			o.want[id("Application", name)], o.makers[id("Application", name)] = was.have[id("Application", name)], was.makers[id("Application", name)]
		}
		for _, name := range apart.Stay {
			holds[name] = true
			o.keeps(name, was)
		}
		for _, name := range apart.Unknown {
			delete(o.want, name)
		}
		if err := await("what is foreseen of "+now.head+" of "+engine.Owner, func() string {
			return engine.look(t, o)
		}); err != nil {
			t.Error(err) // what the plan says of it is worth knowing, too
		}
		if plan != nil && was != nil {
			if diff := cmp.Diff(plan.effects(engine.Owner, holds), deployments(became(was.have, o.have))); diff != "" {
				t.Errorf("%s: the plan from %.7s to %.7s is not what came of it (-plan +API server):\n%s", engine.Owner, f.last.head, now.head, diff)
			}
			if diff := cmp.Diff(plan.applied(), became(both(was.applied, o.applied))); diff != "" {
				t.Errorf("%s: what Kustomizations make by the plan from %.7s to %.7s is not what came of it (-plan +API server):\n%s", engine.Owner, f.last.head, now.head, diff)
			}
		}
		held += len(holds)
		said += fmt.Sprintf("%d objects of %s, %d to change; ", len(o.want), engine.Owner, len(plan.effects(engine.Owner, holds)))
	}
	if held == 0 { // else it is still to come of this plan
		f.last = now
	}
	return said
}

// CheckBroken is Check for a commit of which something cannot be computed: nothing is rendered of it, and what becomes of what there was is
// what the plan says all the same. The next check is still from the commit before.
func (f *Foresight) CheckBroken(t testing.TB, await func(what string, pending func() string) error) {
	t.Helper()
	head := f.head(t)
	plan := f.plan(t, head)
	if len(plan.Broken) == 0 {
		t.Error("the plan says of nothing that it is broken")
	}
	for _, engine := range f.Engines {
		was := f.last.of[engine.Owner]
		err := await("what is foreseen of "+head+", broken, of "+engine.Owner, func() string {
			return cmp.Diff(plan.effects(engine.Owner, nil), deployments(became(was.have, toldAll(t, engine.live(t, was.want)))))
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// foresee is what all engines are to have by the last commit. It is not asked for anew where nothing has changed.
func (f *Foresight) foresee(t testing.TB) foreseen {
	t.Helper()
	now := foreseen{head: f.head(t), facts: f.Facts(t), of: map[string]*outlook{}}
	for _, engine := range f.Engines {
		if was := f.last.of[engine.Owner]; was != nil && now.head == f.last.head && bytes.Equal(now.facts, f.last.facts) {
			now.of[engine.Owner] = &outlook{want: maps.Clone(was.want), makers: was.makers}
			continue
		}
		dir := filepath.Join(t.TempDir(), "rendered")
		_, err := f.argosy(t, "render", "--repo", f.Repo, "--hub", f.Hub, "--owner", engine.Owner, "--facts", file(t, now.facts), "--form", "pipeline", "--out", dir)
		if err != nil {
			t.Fatal(err)
		}
		o := &outlook{want: objects{}, makers: map[string]string{}}
		for path, object := range written(t, dir) {
			if engine.Ours != nil && !engine.Ours(object) {
				continue
			}
			name := id(object.GetKind(), object.GetName())
			o.want[name] = told(t, object)
			if maker := filepath.Base(filepath.Dir(path)); maker != "applications" && object.GetKind() == "Application" {
				o.makers[name] = maker
			}
		}
		now.of[engine.Owner] = o
	}
	return now
}

// head is the last commit.
func (f *Foresight) head(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", f.Repo, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// plan is what a plan says from the last check, with the facts from then; nil where nothing has been committed since.
func (f *Foresight) plan(t testing.TB, head string) *planned {
	t.Helper()
	if f.last.head == "" || f.last.head == head {
		return nil
	}
	var said planned
	text, err := f.argosy(t, "plan", "--repo", f.Repo, "--hub", f.Hub, "--facts", file(t, f.last.facts), "--base", f.last.head, "--head", head, "-o", "json")
	if json.Unmarshal(text, &said) != nil {
		t.Fatal(err)
	}
	if (err != nil) != (len(said.Problems) > 0) {
		t.Errorf("the plan has the problems %v, and ends with %v", said.Problems, err)
	}
	return &said
}

// argosy is what the command line says, as built.
func (f *Foresight) argosy(t testing.TB, args ...string) ([]byte, error) {
	t.Helper()
	var out, problems bytes.Buffer
	command := exec.CommandContext(t.Context(), f.Argosy, args...)
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("argosy %s: %w\n%s", strings.Join(args, " "), err, problems.String())
	}
	return out.Bytes(), nil
}

// file is the path of one with a text.
func file(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// written are the objects in the files of a folder, by the file's path.
func written(t testing.TB, dir string) map[string]*unstructured.Unstructured {
	t.Helper()
	out := map[string]*unstructured.Unstructured{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		out[path] = &unstructured.Unstructured{}
		return yaml.Unmarshal(text, &out[path].Object)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
