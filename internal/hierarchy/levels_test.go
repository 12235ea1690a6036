package hierarchy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func newHierarchy(t *testing.T, levels ...LevelSpec) *Hierarchy {
	t.Helper()
	for i, l := range levels {
		var err error
		if levels[i].Template, err = tmpl.Parse(l.Pos, l.Dir); err != nil {
			t.Fatal(err)
		}
	}
	return New(levels...)
}

// resolveText resolves a file and prints its layers and problems.
func resolveText(t *testing.T, files map[string]string, required bool) string {
	t.Helper()
	h := newHierarchy(t, LevelSpec{Name: "system", Dir: "{{ .root }}/defaults"}, LevelSpec{Name: "cluster", Dir: "{{ .root }}/{{ .cluster }}", Required: required})
	dirs, err := h.Dirs(map[string]any{"root": "addons", "cluster": "prod"})
	require.NoError(t, err)
	layers, err := Resolve(NewIndex(snapshot.FromMap(files)).Folders(dirs), NewCache(), func() any { return map[string]any{"cluster": "prod"} }, nil, "x/values.yaml")
	var out []string
	for _, l := range layers {
		line := fmt.Sprintf("%s %s", l.Level, l.Path)
		if l.Missing() {
			line += " missing"
		} else {
			line += fmt.Sprintf(" %v", l.Root.Any())
		}
		out = append(out, line)
	}
	for _, p := range problem.From(err, "", problem.Pos{}) {
		out = append(out, string(p.Reason)+" "+p.Error())
	}
	return strings.Join(out, "\n")
}

// TestResolve is rules H1 (order), H5 (templates after the plain file), H6 (missing layers), H10.
func TestResolve(t *testing.T) {
	big := strings.Repeat("# x\n", snapshot.MaxFileSize/4+1)
	for _, c := range []struct {
		name     string
		files    map[string]string
		required bool
		want     string
	}{
		{"nothing", nil, false, "system addons/defaults/x/values.yaml missing\ncluster addons/prod/x/values.yaml missing"},
		{
			"least specific first",
			map[string]string{"addons/prod/x/values.yaml": "a: 2\n", "addons/defaults/x/values.yaml": "a: 1\n"},
			false,
			"system addons/defaults/x/values.yaml map[a:1]\ncluster addons/prod/x/values.yaml map[a:2]",
		},
		{
			"template after plain",
			map[string]string{"addons/prod/x/values.yaml": "a: '{{ .cluster }}'\n", "addons/prod/x/values.yaml.gotmpl": "b: {{ .cluster }}\n"},
			true,
			"system addons/defaults/x/values.yaml missing\ncluster addons/prod/x/values.yaml map[a:{{ .cluster }}]\ncluster addons/prod/x/values.yaml.gotmpl map[b:prod]",
		},
		{
			"template alone",
			map[string]string{"addons/prod/x/values.yaml.gotmpl": "b: {{ .cluster }}\n"},
			true,
			"system addons/defaults/x/values.yaml missing\ncluster addons/prod/x/values.yaml.gotmpl map[b:prod]",
		},
		{"empty file", map[string]string{"addons/prod/x/values.yaml": ""}, true, "system addons/defaults/x/values.yaml missing\ncluster addons/prod/x/values.yaml <nil>"},
		{
			"required",
			map[string]string{"addons/defaults/x/values.yaml": "a: 1\n"},
			true,
			`missing-layer addons/prod/x/values.yaml: no such file; expected a file, because level "cluster" is required`,
		},
		{
			"all problems at once",
			map[string]string{"addons/defaults/x/values.yaml": "[1]\n", "addons/prod/x/values.yaml": "a: 1\na: 2\n", "addons/prod/x/values.yaml.gotmpl": "\n{{ .absent }}"},
			false,
			`duplicate-key addons/prod/x/values.yaml:2:1: key "a": given again, first at line 1; expected each key once` + "\n" +
				`template-failed addons/prod/x/values.yaml.gotmpl:2:4: template <.absent>: no fact "absent" is known; for facts that not every cluster has, write {{ index .annotations "x" }} or {{ dig }} with a default` + "\n" +
				`invalid-value addons/defaults/x/values.yaml:1:1: the file: holds a list; expected a map of values`,
		},
		{"scalar file", map[string]string{"addons/prod/x/values.yaml": "text\n"}, false, `invalid-value addons/prod/x/values.yaml:1:1: the file: holds a string; expected a map of values`},
		{
			"too large",
			map[string]string{"addons/prod/x/values.yaml": big},
			false,
			fmt.Sprintf("limit-exceeded addons/prod/x/values.yaml: file of %d bytes; expected at most %d bytes", len(big), snapshot.MaxFileSize),
		},
		{
			"rendered to bad YAML",
			map[string]string{"addons/prod/x/values.yaml.gotmpl": "a: 1\na: {{ .cluster }}\n"},
			false,
			`duplicate-key addons/prod/x/values.yaml.gotmpl:2:1: key "a": given again, first at line 1; expected each key once`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, resolveText(t, c.files, c.required))
		})
	}
}

// TestDirsStayInside is rule H8.
func TestDirsStayInside(t *testing.T) {
	h := newHierarchy(t, LevelSpec{Name: "tenant", Dir: "addons/{{ .tenant }}", Pos: problem.Pos{File: "fleet/layout.yaml", Line: 7}})
	for _, bad := range []string{"..", "../x", "a/../../..", "x\\y", "a\x00b"} {
		_, err := h.Dirs(map[string]any{"tenant": bad})
		var p problem.Problem
		if !errors.As(err, &p) || p.Reason != problem.OutsideRepository || p.Pos.Line != 7 || !strings.HasPrefix(p.Subject, `folder of level "tenant"`) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := newHierarchy(t, LevelSpec{Name: "a", Dir: "{{ .x }}"}).Dirs(map[string]any{"x": "/etc"}); err == nil {
		t.Error("an absolute path is accepted")
	}
	if _, err := newHierarchy(t, LevelSpec{Name: "a", Dir: "{{ .x }}"}).Dirs(map[string]any{}); err == nil {
		t.Error("a missing fact is accepted")
	}
}

// TestCache: equal contents are one document; another content or path is another.
func TestCache(t *testing.T) {
	c := NewCache()
	file := func(path, text string) *snapshot.File { return snapshot.NewFile(path, []byte(text), 1000) }
	get := func(f *snapshot.File) any {
		d, err := c.Doc(f)
		if err != nil {
			return err.Error()
		}
		return d
	}
	a := get(file("a", "x: 1\n"))
	if get(file("a", "x: 1\n")) != a || get(file("a", "x: 2\n")) == a || get(file("b", "x: 1\n")) == a {
		t.Error("documents are mixed up")
	}
	if first, again := get(file("bad", "x: [")), get(file("bad", "x: [")); first != again {
		t.Errorf("%v, then %v", first, again)
	}
	template := file("t.gotmpl", "x: {{ .v }}\n")
	one, _, err1 := c.render(template, map[string]any{"v": 1})
	same, _, err2 := c.render(template, map[string]any{"v": 1})
	two, _, err3 := c.render(template, map[string]any{"v": 2})
	if err := errors.Join(err1, err2, err3); err != nil || one.doc != same.doc || one.doc == two.doc || two.doc.Root.Get("x").Text() != "2" {
		t.Errorf("%v %v %v %v", one, same, two, err)
	}
	s := snapshot.FromMap(map[string]string{"keep": "k: 1\n"})
	kept := get(s.File("keep"))
	for i := range 2000 {
		get(file("a", fmt.Sprintf("x: %d\n", i)))
	}
	c.Trim(s)
	if len(c.docs.entries) != 1 || get(s.File("keep")) != kept {
		t.Errorf("%d documents are left", len(c.docs.entries))
	}
	if _, err := c.Doc(snapshot.Outside("l", "/etc")); err == nil {
		t.Error("a link out of the repository is read")
	}
}
