package facts

import (
	"bytes"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// Parse of File is the set: identifiers stay text, what is none stays unknown, and the same set
// gives the same bytes.
func TestFileIsRead(t *testing.T) {
	t.Parallel()
	one := Cluster{Name: "one", Labels: map[string]string{"account": "123456789012", "on": "yes", "v": "1.30"}, Annotations: map[string]string{"a.example/b": "line\nline", "empty": ""}}
	apps := []Application{{Name: "dns-one", Cluster: "one", Group: "addons", Component: "dns", Release: "1", Cascade: true, Controller: "addons"}, {Name: "x"}, {Name: "grant-addons-one", Cluster: "one", Group: "addons", Grant: true, Digest: "d"}}
	releases := []Application{{Name: "q-one", Kind: Kustomization, Cluster: "one", Owner: "h/one", Suspended: true}, {Name: "q-one", Cluster: "one", Owner: "h/one"}}
	for name, set := range map[string]Set{
		"nothing":      {},
		"closed":       NewSet(true),
		"clusters":     NewSet(false, one, Cluster{Name: "two", Server: "https://two"}),
		"applications": NewSet(true, one).WithApplications(apps...),
		"health":       NewSet(true, one).WithApplications(apps...).WithHealth(),
		"none there":   NewSet(true, one).WithApplications().WithHelmReleases(),
		"releases":     NewSet(true, one).WithHelmReleases(releases...),
	} {
		data, err := set.File()
		require.NoError(t, err)
		read, err := Parse("f", data)
		if err != nil || !read.Equal(set) {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
		if again, _ := set.File(); !bytes.Equal(data, again) {
			t.Errorf("%s: other bytes", name)
		}
	}
	one.Secret = "uid"
	if data, _ := NewSet(true, one).File(); strings.Contains(string(data), "uid") {
		t.Errorf("%s", data)
	}
}
