package memo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// A merged tree holds the documents of its layers: a memo of small trees of large documents is
// bounded by the documents (H10).
func TestMemoCountsTheDocumentsThatItHolds(t *testing.T) {
	t.Parallel()
	const limit = 4 << 20
	m := New(limit)
	text := "a: [" + strings.Repeat("x, ", 3000) + "]\n"
	for i := range 50 {
		file := fmt.Sprintf("%d.yaml", i)
		doc, err := yamldoc.Parse(file, []byte(text))
		require.NoError(t, err)
		for _, scope := range []string{"one", "two"} { // counts once
			m.Merge([]hierarchy.Layer{{Level: "level", Path: file + scope, Root: doc.Root}}, nil, scope)
		}
		if own := doc.Root.Memory(); len(m.documents)*own > limit {
			t.Fatalf("%d documents of %d bytes are held; expected %d bytes at most", len(m.documents), own, limit)
		}
		if len(m.trees) > 2*len(m.documents) {
			t.Fatalf("%d trees of %d documents that count", len(m.trees), len(m.documents))
		}
	}
	if len(m.documents) < 2 {
		t.Errorf("%d documents are held: the memo remembers nothing", len(m.documents))
	}
}
