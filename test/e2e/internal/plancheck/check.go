// Package plancheck compares the offline pipeline with real
// engines: the API server has what `argosy render` writes, field by field, and the changes since
// the last check are those that `argosy plan` lists. Both commands run as a user runs them: in a
// clone, with the facts that `argosy facts export` reads from the hub.
package plancheck

import (
	"bytes"
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

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Checker compares the live objects of a hub's engines with what its fleet's last commit declares.
type Checker struct {
	// Argosy is the command line, Repo a clone of the fleet, and Hub whose engines are compared.
	Argosy, Repo, Hub string
	Engines           []Engine
	// Facts are what the hub knows of its clusters, as `argosy facts export` has it.
	Facts func(testing.TB) []byte
	last  comparison
}

// comparison is one check: the commit, the facts, and each engine's objects.
type comparison struct {
	head  string
	facts []byte
	of    map[string]*objectsOf // by engine
}

// Check fails when the live objects differ from those that the last commit declares, or when the
// changes since the last check differ from the plan. No reconciliation may be running. Objects that
// the plan keeps, because of the removal budget or as left behind, must be unchanged.
func (f *Checker) Check(t testing.TB, await func(what string, pending func() string) error) (summary string) {
	t.Helper()
	return f.CheckExcept(t, await, Exceptions{})
}

// Exceptions are what the pipeline cannot know.
type Exceptions struct {
	// Stay are Applications that the plan removes and that stay until their engine may see them.
	Stay []string
	// Unknown are objects, by kind and name, whose content comes from a controller that does not
	// run.
	Unknown []string
	// Deleted are objects, by kind and name, that were left behind and that the test has deleted.
	Deleted []string
}

// CheckExcept is Check with exceptions.
func (f *Checker) CheckExcept(t testing.TB, await func(what string, pending func() string) error, exceptions Exceptions) (summary string) {
	t.Helper()
	now := f.desired(t)
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
			o.want[id("Application", name)], o.makers[id("Application", name)] = heldByBudget(was.have[id("Application", name)]), was.makers[id("Application", name)]
		}
		for _, name := range exceptions.Stay {
			holds[name] = true
			o.keeps(name, was)
		}
		for _, name := range slices.Concat(exceptions.Unknown, exceptions.Deleted) {
			delete(o.want, name)
		}
		for _, name := range exceptions.Deleted {
			delete(o.left, name)
		}
		if err := await("what is declared by "+now.head+" of "+engine.Owner, func() string {
			return engine.compare(t, o)
		}); err != nil {
			t.Error(err) // what the plan says of it is worth knowing, too
		}
		if plan != nil && was != nil {
			live := deployments(changes(was.have, o.have))
			maps.DeleteFunc(live, func(name string, _ string) bool { return holds[name] }) // compared above
			if diff := cmp.Diff(plan.effects(engine.Owner, holds), live); diff != "" {
				t.Errorf("%s: the plan from %.7s to %.7s differs from the live changes (-plan +API server):\n%s", engine.Owner, f.last.head, now.head, diff)
			}
			if diff := cmp.Diff(plan.applied(), changes(both(was.applied, o.applied))); diff != "" {
				t.Errorf("%s: what Kustomizations make by the plan from %.7s to %.7s differs from the live changes (-plan +API server):\n%s", engine.Owner, f.last.head, now.head, diff)
			}
		}
		held += len(holds)
		summary += fmt.Sprintf("%d objects of %s, %d to change; ", len(o.want), engine.Owner, len(plan.effects(engine.Owner, holds)))
	}
	if held == 0 { // else it is still to come of this plan
		f.last = now
	}
	return summary
}

// CheckBroken is Check for a commit that cannot be computed completely. Nothing is rendered, and
// the changes of live objects are those of the plan. The next check compares with the previous
// commit.
func (f *Checker) CheckBroken(t testing.TB, await func(what string, pending func() string) error) {
	t.Helper()
	head := f.head(t)
	plan := f.plan(t, head)
	if len(plan.Broken) == 0 {
		t.Error("the plan says of nothing that it is broken")
	}
	for _, engine := range f.Engines {
		was := f.last.of[engine.Owner]
		err := await("what is declared by "+head+", broken, of "+engine.Owner, func() string {
			return cmp.Diff(plan.effects(engine.Owner, nil), deployments(changes(was.have, normalizedAll(t, engine.live(t, was.want)))))
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// desired renders what the last commit declares for each engine. Without a change since the last
// check it returns the same objects.
func (f *Checker) desired(t testing.TB) comparison {
	t.Helper()
	now := comparison{head: f.head(t), facts: f.Facts(t), of: map[string]*objectsOf{}}
	for _, engine := range f.Engines {
		if was := f.last.of[engine.Owner]; was != nil && now.head == f.last.head && bytes.Equal(now.facts, f.last.facts) {
			now.of[engine.Owner] = &objectsOf{want: maps.Clone(was.want), makers: was.makers}
			continue
		}
		dir := filepath.Join(t.TempDir(), "rendered")
		_, err := f.argosy(t, "render", "--repo", f.Repo, "--hub", f.Hub, "--owner", engine.Owner, "--facts", file(t, now.facts), "--form", "pipeline", "--out", dir)
		if err != nil {
			t.Fatal(err)
		}
		o := &objectsOf{want: objects{}, makers: map[string]string{}}
		for path, object := range written(t, dir) {
			if engine.Ours != nil && !engine.Ours(object) {
				continue
			}
			name := id(object.GetKind(), object.GetName())
			o.want[name] = Normalized(t, object)
			if maker := filepath.Base(filepath.Dir(path)); maker != "applications" && object.GetKind() == "Application" {
				o.makers[name] = maker
			}
		}
		now.of[engine.Owner] = o
	}
	return now
}

// head returns the last commit.
func (f *Checker) head(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", f.Repo, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// plan returns the plan from the last checked commit, with the facts of that check; nil without a
// new commit.
func (f *Checker) plan(t testing.TB, head string) *planned {
	t.Helper()
	if f.last.head == "" || f.last.head == head {
		return nil
	}
	var out planned
	text, err := f.argosy(t, "plan", "--repo", f.Repo, "--hub", f.Hub, "--facts", file(t, f.last.facts), "--base", f.last.head, "--head", head, "-o", "json")
	if json.Unmarshal(text, &out) != nil {
		t.Fatal(err)
	}
	if (err != nil) != (len(out.Problems) > 0) {
		t.Errorf("the plan has the problems %v, and ends with %v", out.Problems, err)
	}
	return &out
}

// argosy runs the command line and returns its standard output.
func (f *Checker) argosy(t testing.TB, args ...string) ([]byte, error) {
	t.Helper()
	var out, problems bytes.Buffer
	command := exec.CommandContext(t.Context(), f.Argosy, args...)
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("argosy %s: %w\n%s", strings.Join(args, " "), err, problems.String())
	}
	return out.Bytes(), nil
}

// file writes a text to a temporary file and returns its path.
func file(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// written reads the objects of a folder's YAML files, by path.
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
