package fleet

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// template parses and tries a path template. It must use the facts in needs, or its results would
// collide. It may use the facts in more besides the facts of every path.
func (p layoutParser) template(at yamldoc.At, key string, more []string, needs ...string) *tmpl.Template {
	n := at.Node.Get(key)
	t, err := tmpl.Parse(n.Pos(), n.Text())
	if err != nil {
		at.Fail(key, err)
		return nil
	}
	out, err := try(t, more...)
	if err == nil {
		_, err = snapshot.CleanPath(out)
	}
	if err != nil {
		at.Fail(key, err)
		return t
	}
	for _, need := range needs {
		if !strings.Contains(out, sentinel(need)) {
			at.Wrong(key, fmt.Sprintf("%q does not use {{ .%s }}", n.Text(), need), "a path that differs for each "+need)
		}
	}
	return t
}

// file returns the template of a file's path, with needs and more as template has them.
func (p layoutParser) file(at yamldoc.At, key string, more []string, needs ...string) *FileTemplate {
	t := p.template(at, key, more, needs...)
	if t == nil {
		return nil // reported
	}
	return &FileTemplate{
		t: t, pos: at.Node.Get(key).Pos(), Shared: t.ReadsOnly("group", "component", factFolder, factLevel),
		ReadsFolder: slices.Contains(more, factFolder) && t.Reads(factFolder), ReadsLevel: slices.Contains(more, factLevel) && t.Reads(factLevel),
	}
}

// valuesFile returns the template of value files. Their folder may have the name that the
// component's catalog entry gives it. The template need not name the group: a level's folder may,
// or components of the same name in several groups share a file.
func (p layoutParser) valuesFile(files yamldoc.At) *FileTemplate {
	component := "component"
	if t, err := tmpl.Parse(problem.Pos{}, p.d.Files.Values); err == nil && t.Reads(factFolder) {
		component = factFolder
	}
	return p.file(files, "values", []string{factFolder}, component)
}

// Facts that only some files' paths have.
const (
	factFolder = "folder"
	factLevel  = "level"
)

// sentinel returns the value of a fact when a template is tried: no path contains it otherwise.
func sentinel(fact string) string { return "<" + fact + ">" }

// inOpenMap matches an expression that reads maps whose keys differ from cluster to cluster.
var inOpenMap = regexp.MustCompile(`\.(labels|annotations|member)\.`)

var unknownFact = regexp.MustCompile(`no fact "([^"]+)" is known`)

// try executes a path template with sentinels. Labels, annotations and keys of the member file
// differ from cluster to cluster, so every key that the template reads exists. More are further
// facts.
func try(t *tmpl.Template, more ...string) (string, error) {
	sample := map[string]any{}
	for _, fact := range append([]string{"hub", "cluster", "tenant", "environment", "group", "component", "root", "name", "server", "model"}, more...) {
		sample[fact] = sentinel(fact)
	}
	open := map[string]any{}
	sample["labels"], sample["annotations"], sample["member"] = open, open, open
	sample["metadata"] = map[string]any{"labels": open, "annotations": open}
	for range 100 {
		out, err := t.Execute(sample)
		if err == nil {
			return out, nil
		}
		var p problem.Problem
		m := unknownFact.FindStringSubmatch(err.Error())
		if m == nil || !errors.As(err, &p) || !inOpenMap.MatchString(p.Subject) {
			return "", err
		}
		open[m[1]] = sentinel(m[1])
	}
	return "", fmt.Errorf("more than 100 different facts")
}

// reservedNames finds, for each fact that names folders, the literal folder names that other levels
// have in its place. With levels tenants/defaults and tenants/{{ .tenant }}/defaults, no tenant can
// be called "defaults".
func reservedNames(dirs [][]string) map[string][]string {
	reserved := map[string][]string{}
	for _, a := range dirs {
		for i, part := range a {
			fact := strings.TrimSuffix(strings.TrimPrefix(part, "<"), ">")
			if sentinel(fact) != part {
				continue
			}
			for _, b := range dirs {
				if i < len(b) && !strings.Contains(b[i], "<") && slices.Equal(a[:i], b[:i]) && !slices.Contains(reserved[fact], b[i]) {
					reserved[fact] = append(reserved[fact], b[i])
				}
			}
		}
	}
	return reserved
}
