package refresh

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
)

// TestRenewedRecordIsWrittenWhenItIsNeeded: a write of other records does not make a record that is
// to be replaced forgotten.
func TestRenewedRecordIsWrittenWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	folder, err := store.NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := func(revision, text string) *snapshot.Snapshot {
		return snapshot.New(revision, map[string]*snapshot.File{"a.yaml": snapshot.NewFile("a.yaml", []byte(text), snapshot.MaxFileSize)})
	}
	s := NewSnapshots(store.New(folder), "files", 1)
	write := func(needed *snapshot.Snapshot) {
		t.Helper()
		if _, err := s.Write(t.Context(), map[string]*snapshot.Snapshot{s.Record(needed.Revision): needed}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"x: 1\n", "x: 2\n"} {
		write(files("one", want))
		if got, err := s.Read(t.Context(), "one"); err != nil || string(got.File("a.yaml").Data) != want {
			t.Fatalf("%v, want %q", err, want)
		}
		s.Renew("one")
		write(files("two", want))
	}
}
