package existing

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// A clone of --repository is read at the revision that is named, and a folder has one revision.
func TestOtherRepositoriesAtTheirRevisions(t *testing.T) {
	clone, folder := sourcetest.NewRepo(t), t.TempDir()
	clone.Commit(map[string]string{"a.yaml": "a: 1\n"})
	clone.Git("tag", "v1")
	clone.Commit(map[string]string{"a.yaml": "a: 2\n"})
	sourcetest.Write(t, folder, map[string]string{"a.yaml": "a: 3\n"})
	s := Source{Repositories: []string{"https://git.example.com/clone=" + clone.Dir, "https://git.example.com/folder=" + folder}}
	r, err := s.Open(t.Context())
	require.NoError(t, err)
	for _, c := range []struct{ url, revision, want string }{
		{"https://git.example.com/clone", "v1", "a: 1\n"},
		{"https://git.example.com/clone", "main", "a: 2\n"},
		{"https://git.example.com/folder", "v1", "a: 3\n"},
		{"https://git.example.com/folder", "main", "at the revisions v1 and main, and a folder has one"},
	} {
		var got string
		if at, err := r.Open(c.url, c.revision); err != nil {
			got = err.Error()
		} else {
			got = string(at.File("a.yaml").Data)
		}
		assert.Contains(t, got, c.want, "%s at %s", c.url, c.revision)
	}
}
