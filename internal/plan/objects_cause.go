package plan

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/expand"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// changedAt is the place among a chart's changed files that a component's change comes from: its
// own entry of a catalog or what holds for all, else the template that makes the object, a named
// template, or the chart's own file. Of values that concern other components alone there is none.
func changedAt(files []expand.Change, component, template string) (old, updated problem.Pos, ok bool) {
	likely := len(ranks)
	for _, c := range files {
		r := slices.IndexFunc(ranks, func(is func(name, template string) bool) bool { return is(c.Path(), template) })
		if r >= likely {
			continue
		}
		if path.Ext(c.Path()) != ".yaml" || inTemplates(c.Path()) {
			old, updated = changedLine(c)
		} else if b, a, found := changedValue(c, component); found {
			old, updated = b, a
		} else {
			continue
		}
		likely, ok = r, true
	}
	return old, updated, ok
}

// ranks tell what a chart's changed files are, the likeliest cause of an object's change first.
var ranks = []func(name, template string) bool{
	func(name, _ string) bool {
		return path.Ext(name) == ".yaml" && !inTemplates(name) && path.Base(name) != chartFile
	},
	func(name, template string) bool { return name == template },
	func(name, _ string) bool { return strings.HasPrefix(path.Base(name), "_") },
	func(name, _ string) bool { return path.Base(name) == chartFile },
	func(string, string) bool { return true },
}

// chartFile is what a chart says of itself.
const chartFile = "Chart.yaml"

func inTemplates(name string) bool { return strings.Contains(name, "/templates/") }

// changedKey is the place of a changed value of a chart's files that is called as the field is.
func changedKey(files []expand.Change, component string, key []string) (old, updated problem.Pos, ok bool) {
	for _, c := range files {
		if len(key) == 0 || path.Ext(c.Path()) != ".yaml" || inTemplates(c.Path()) {
			continue
		}
		for _, d := range values(rootOf(c.Before), rootOf(c.After), nil) {
			if strings.HasSuffix("."+d.Name, "."+key[0]) && concerns(d.Name, component) {
				return posOf(d.Old), posOf(d.New), true
			}
		}
	}
	return problem.Pos{}, problem.Pos{}, false
}

// concerns reports whether a value of a catalog may concern a component: it is not another one's.
func concerns(name, component string) bool {
	return component == "" || !strings.HasPrefix(name, "components.") || name == "components."+component || strings.HasPrefix(name, "components."+component+".")
}

func posOf(s *Side) problem.Pos {
	if s == nil {
		return problem.Pos{}
	}
	return s.Position
}

// changedValue is the first difference of a file of values that may concern a component.
func changedValue(c expand.Change, component string) (old, updated problem.Pos, ok bool) {
	for _, d := range values(rootOf(c.Before), rootOf(c.After), nil) {
		if concerns(d.Name, component) {
			return posOf(d.Old), posOf(d.New), true
		}
	}
	return problem.Pos{}, problem.Pos{}, false
}

func rootOf(f *snapshot.File) *yamldoc.Node {
	if f == nil || f.Err != nil {
		return nil
	}
	doc, err := yamldoc.Parse(f.Path, f.Data)
	if err != nil {
		return nil
	}
	return root(doc.Root)
}

// changedLine is the first line of a file that differs.
func changedLine(c expand.Change) (old, updated problem.Pos) {
	lines := func(f *snapshot.File) [][]byte {
		if f == nil {
			return nil
		}
		return bytes.Split(f.Data, []byte("\n"))
	}
	a, b := lines(c.Before), lines(c.After)
	n := 0
	for n < len(a) && n < len(b) && bytes.Equal(a[n], b[n]) {
		n++
	}
	if c.Before != nil {
		old = problem.Pos{File: c.Before.Path, Line: min(n+1, max(len(a), 1))}
	}
	if c.After != nil {
		updated = problem.Pos{File: c.After.Path, Line: min(n+1, max(len(b), 1))}
	}
	return old, updated
}
