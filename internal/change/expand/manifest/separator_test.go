package manifest

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// TestSeparatorsAreKubernetes: a comment may follow the hyphens, and a document that follows them
// on the same line is an error, as in Argo CD.
func TestSeparatorsAreKubernetes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"kind: A\n--- # two\nkind: B\n": 2, "kind: A\n---   \nkind: B\n": 2, "---\nkind: A\n---\n--- #\n": 1, "kind: A\n--- {kind: B}\n": -1, "a: |\n  x\n  --- # y\n": 1,
	} {
		docs, err := Documents(snapshot.NewFile("x.yaml", []byte(text), int64(len(text))))
		if want < 0 != (err != nil) || want >= 0 && len(docs) != want {
			t.Errorf("%q: %d documents, %v", text, len(docs), err)
		}
	}
}
