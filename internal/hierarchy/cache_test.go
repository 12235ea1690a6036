package hierarchy

import (
	"fmt"
	"testing"

	"github.com/argosy-hub/argosy/internal/snapshot"
)

// H10: what is kept of the documents that templates have written is bounded in bytes, however many
// and large they are. A document that is still kept is the same one.
func TestRenderedDocumentsTakeLittleMemory(t *testing.T) {
	c := NewCache()
	c.limit = 1 << 20
	file := snapshot.NewFile("values.yaml.gotmpl", []byte(`a: {{ .v }}{{ repeat 10000 "x" }}`), snapshot.MaxFileSize)
	for i := range 300 {
		facts := map[string]any{"v": fmt.Sprint("v", i)}
		one, size, err := c.Rendered(file, facts)
		same, _, again := c.Rendered(file, facts)
		if err != nil || again != nil || one != same || size < 10_000 {
			t.Fatalf("%d: %v, %v, %d bytes, the same: %v", i, err, again, size, one == same)
		}
		if kept := len(c.rendered) * size; kept > c.limit || c.bytes < kept {
			t.Fatalf("%d bytes are kept, %d counted", kept, c.bytes)
		}
	}
}
