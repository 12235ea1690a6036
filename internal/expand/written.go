package expand

import (
	"bytes"
	"path"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

func isManifest(p string) bool {
	switch path.Ext(p) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// written are the objects of a file as they are written; ok is false where it cannot be read, which is named.
func (h *Hub) written(f *snapshot.File, parent *Object, engine string) (out []*Object, ok bool) {
	docs, err := objectsIn(f)
	if err != nil {
		for _, p := range problem.From(err, problem.InvalidYAML, problem.Pos{File: f.Path}) {
			h.fault(p)
		}
		return nil, false
	}
	for _, doc := range docs {
		roots := []*yamldoc.Node{doc.Root}
		if list := doc.Root.Get("items"); list != nil && list.Kind == yamldoc.List {
			roots = list.Items
		}
		for _, root := range roots {
			if tree, ok := root.Any().(Tree); ok {
				out = append(out, &Object{Engine: engine, Tree: plain(tree), Parent: parent, Pos: doc.Pos(root), doc: &yamldoc.Doc{File: doc.File, Root: root}})
			}
		}
	}
	return out, true
}

// objectsIn are a file's documents that are objects, as Argo CD reads them: what has no kind is none. A file of YAML that begins
// with none is something else, and no error, unless it has all the keys of an object.
//
// Source: argo-cd v2.14 and v3.2, reposerver/repository/repository.go, getObjsFromYAMLOrJson.
func objectsIn(f *snapshot.File) ([]*yamldoc.Doc, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	docs, err := documents(f)
	for i := range docs {
		if tree, ok := docs[i].Root.Any().(Tree); !ok || text(tree, "kind") == "" {
			docs, err = docs[:i], problem.Problem{
				Reason: problem.InvalidYAML, Severity: problem.Error, Pos: docs[i].Pos(docs[i].Root), Found: "an object without a kind", Expected: "a manifest of Kubernetes",
			}
			break
		}
	}
	switch json := path.Ext(f.Path) == ".json"; {
	case err != nil && (json || len(docs) > 0 || looksLikeObject(f.Data)):
		return nil, err
	case err == nil && json && len(docs) != 1:
		return nil, problem.Problem{
			Reason: problem.InvalidYAML, Severity: problem.Error, Pos: problem.Pos{File: f.Path}, Found: "not one object", Expected: "a single object in a file of JSON",
		}
	}
	return docs, nil
}

func looksLikeObject(data []byte) bool {
	for _, key := range []string{"apiVersion:", "kind:", "metadata:"} {
		if !bytes.Contains(data, []byte(key)) {
			return false
		}
	}
	return true
}

// items are the objects that a list of Kubernetes', of whatever kind, stands for. (Ibid., GenerateManifests)
func items(tree Tree) (out []Tree, list bool) {
	all, list := tree["items"].([]any)
	for _, item := range all {
		if tree, ok := item.(Tree); ok {
			out = append(out, tree)
		}
	}
	return out, list
}

// documents are a file's, each at its lines: those before the first that cannot be read, which the error is of.
func documents(f *snapshot.File) ([]*yamldoc.Doc, error) {
	var out []*yamldoc.Doc
	var from int
	lines := strings.SplitAfter(string(f.Data), "\n")
	add := func(to int) error {
		body := strings.Join(lines[from:to], "")
		if strings.TrimSpace(body) == "" {
			return nil
		}
		numbers := make([]int, to-from+1)
		for i := range numbers {
			numbers[i] = from + i + 1
		}
		doc, err := yamldoc.ParseLines(f.Path, []byte(body), numbers)
		if err != nil {
			return err
		}
		if !doc.Root.IsNull() {
			out = append(out, doc)
		}
		return nil
	}
	for i, line := range lines {
		if strings.TrimRight(line, " \t\r\n") != "---" {
			continue
		}
		if err := add(i); err != nil {
			return out, err
		}
		from = i + 1
	}
	return out, add(len(lines))
}
