package sbom_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/hack/release/debs"
	"github.com/argosy-hub/argosy/hack/release/sbom"
)

// TestSBOMListsModulesAndPackages compares with go version -m and with the pins.
func TestSBOMListsModulesAndPackages(t *testing.T) {
	program := filepath.Join(t.TempDir(), "release")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pins, err := debs.ReadPins("../debs.txt")
	if err != nil {
		t.Fatal(err)
	}
	text, err := sbom.Write("tool", "v1.2.3", time.Unix(1, 0), []string{program}, pins)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		SPDXVersion string
		Packages    []struct{ Name, VersionInfo string }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, p := range d.Packages {
		listed[p.Name+" "+p.VersionInfo] = true
	}
	out, err := exec.CommandContext(t.Context(), "go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"tool v1.2.3"}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "dep" {
			want = append(want, f[1]+" "+f[2])
		}
	}
	if len(want) < 2 || d.SPDXVersion != "SPDX-2.3" {
		t.Fatalf("modules %v, version %q", want, d.SPDXVersion)
	}
	for _, p := range pins {
		want = append(want, p.Name+" "+p.Version)
	}
	for _, w := range want {
		if !listed[w] {
			t.Errorf("%s is not listed", w)
		}
	}
}
