package manifest

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// IsFile reports whether a file of that name holds manifests.
func IsFile(p string) bool {
	switch path.Ext(p) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// Objects returns the documents of a file that are objects, as Argo CD reads them. A document
// without a kind is not an object. A YAML file that begins with such a document is not a manifest;
// it is an error only if it has all the keys of an object.
//
// Source: argo-cd v2.14 and v3.2, reposerver/repository/repository.go, getObjsFromYAMLOrJson.
func Objects(f *snapshot.File) ([]*yamldoc.Doc, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	docs, err := Documents(f)
	for i := range docs {
		if tree, ok := docs[i].Root.Any().(Tree); !ok || Text(tree, "kind") == "" {
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

// Items returns the objects of a Kubernetes list of any kind. (Ibid., GenerateManifests)
func Items(tree Tree) (out []Tree, list bool) {
	value, there := tree["items"]
	all, list := value.([]any)
	for _, item := range all {
		if tree, ok := item.(Tree); ok {
			out = append(out, tree)
		}
	}
	return out, list || there && value == nil
}

// Documents returns the documents of a file, each at its lines. The last of two equal keys counts,
// as in Argo CD and kubectl. With an error, it returns the documents before the invalid one.
func Documents(f *snapshot.File) ([]*yamldoc.Doc, error) {
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
		doc, err := yamldoc.ParseLenient(f.Path, []byte(body), numbers)
		if err != nil {
			return err
		}
		if !doc.Extra.IsZero() { // a separator with content behind it, which Argo CD refuses, too
			return fmt.Errorf("%s: a second document begins on the line of its separator; expected --- on a line of its own", doc.Extra)
		}
		if !doc.Root.IsNull() {
			out = append(out, doc)
		}
		return nil
	}
	for i, line := range lines {
		if !yamldoc.Separates(line) {
			continue
		}
		if err := add(i); err != nil {
			return out, err
		}
		from = i + 1
	}
	return out, add(len(lines))
}
