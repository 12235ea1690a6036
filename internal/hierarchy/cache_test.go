package hierarchy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestRenderedDocumentsTakeLittleMemory (H10): what is kept of the documents that templates have
// written is bounded in bytes, however many and large they are. A document that is still kept is
// the same one.
func TestRenderedDocumentsTakeLittleMemory(t *testing.T) {
	c := NewCache()
	c.rendered.limit = 1 << 20
	file := snapshot.NewFile("values.yaml.gotmpl", []byte(`a: {{ .v }}{{ repeat 10000 "x" }}`), snapshot.MaxFileSize)
	for i := range 300 {
		facts := map[string]any{"v": fmt.Sprint("v", i)}
		one, cost, err := c.render(file, facts)
		size := cost[budget.Written]
		same, _, again := c.render(file, facts)
		if err != nil || again != nil || one.doc != same.doc || size < 10_000 {
			t.Fatalf("%d: %v, %v, %d bytes, the same: %v", i, err, again, size, one == same)
		}
		if kept := len(c.rendered.entries) * size; kept > c.rendered.limit || c.rendered.bytes < kept {
			t.Fatalf("%d bytes are kept, %d counted", kept, c.rendered.bytes)
		}
	}
}

// TestParsingATemplateCosts (W2): what a template never executes, and one with an error, cost their
// member as much as parsing their text takes, remembered or not.
func TestParsingATemplateCosts(t *testing.T) {
	long := `{{ define "never" }}` + strings.Repeat("{{ 1 }}\n", 10_000) + `{{ end }}`
	for name, text := range map[string]string{"never executed": long + "a: 1\n", "an error": long + "{{ end }}"} {
		c := NewCache()
		steps := func() int {
			_, cost, _ := c.render(snapshot.NewFile("values.yaml.gotmpl", []byte(text), snapshot.MaxFileSize), nil)
			return cost[budget.Steps]
		}
		if first, again := steps(), steps(); first < 5000 || again != first {
			t.Errorf("%s: %d steps, then %d", name, first, again)
		}
	}
}

// TestDocumentsTakeLittleMemory (H10): what is kept of plain files and of parsed templates is
// bounded in bytes. A tenant with large ones does not make the service forget the small ones of
// others.
func TestDocumentsTakeLittleMemory(t *testing.T) {
	c := NewCache()
	c.docs.limit, c.templates.limit = 4<<20, 1<<20
	small := snapshot.NewFile("blue/values.yaml", []byte("a: 1\n"), snapshot.MaxFileSize)
	want, err := c.Doc(small)
	require.NoError(t, err)
	lists, texts := []byte("a:\n"+strings.Repeat("- a\n", 5000)), strings.Repeat("{{ 1 }}", 1000)
	for i := range 50 {
		if _, err := c.Doc(snapshot.NewFile(fmt.Sprint("red/", i), lists, snapshot.MaxFileSize)); err != nil {
			t.Fatal(err)
		}
		if got := len(c.docs.entries); got*5000*yamldoc.NodeMemory > c.docs.limit+5000*yamldoc.NodeMemory {
			t.Fatalf("%d documents are kept", got)
		}
		c.template(snapshot.NewFile(fmt.Sprint("red/", i), []byte(texts), snapshot.MaxFileSize))
		if got := len(c.templates.entries); got*len(texts)*memoryOfTemplate > c.templates.limit {
			t.Fatalf("%d templates are kept", got)
		}
	}
	if got, err := c.Doc(small); err != nil || got != want {
		t.Errorf("the small document is another one: %v", err)
	}
}
