package fetch

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// TestShelfHasNoOtherBuild: a version that differs in its build metadata alone is another chart.
func TestShelfHasNoOtherBuild(t *testing.T) {
	t.Parallel()
	s, data := shelf{t.TempDir()}, []byte("up1")
	name := url.PathEscape("1.0.0+up1") + "@" + digestOf(data) + ending
	if err := os.WriteFile(filepath.Join(s.dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if k, err := s.find("1.0.0+up2"); k != nil || err != nil {
		t.Errorf("up2: %v, %v", k, err)
	}
	for _, version := range []string{"1.0.0+up1", "1.x", ""} {
		if k, err := s.find(version); k == nil || err != nil {
			t.Errorf("%q: %v, %v", version, k, err)
		}
	}
}
