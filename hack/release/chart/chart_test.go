package chart_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/argosy-hub/argosy/hack/release/chart"
)

// TestChartsHaveTheReleasesVersion packages every chart twice: the same bytes, in which the chart,
// its application and the charts in it have the version.
func TestChartsHaveTheReleasesVersion(t *testing.T) {
	files, err := filepath.Glob("../../../charts/*/Chart.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d charts, %v", len(files), err)
	}
	for _, file := range files {
		name, content, err := chart.Package(filepath.Dir(file), "7.8.9", time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		_, again, err := chart.Package(filepath.Dir(file), "7.8.9", time.Unix(1, 0))
		if err != nil || !bytes.Equal(content, again) {
			t.Errorf("%s: the second package differs (%v)", name, err)
		}
		c, err := loader.LoadArchive(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if m := c.Metadata; m.Version != "7.8.9" || m.AppVersion != "" && m.AppVersion != "7.8.9" {
			t.Errorf("%s: version %s, appVersion %s", name, m.Version, m.AppVersion)
		}
		for _, d := range c.Metadata.Dependencies {
			if d.Version != "7.8.9" {
				t.Errorf("%s: dependency %s is %s", name, d.Name, d.Version)
			}
		}
		for _, d := range c.Dependencies() {
			if d.Metadata.Version != "7.8.9" {
				t.Errorf("%s: %s in it is %s", name, d.Name(), d.Metadata.Version)
			}
		}
	}
}

// TestCatalogsHaveTheReleasesCharts: Argosy's own charts in a released catalog are those of the
// release. A branch would change every fleet without a commit of its own.
func TestCatalogsHaveTheReleasesCharts(t *testing.T) {
	pinned := 0
	for _, name := range []string{"application-sets", "aws-identity"} {
		_, content, err := chart.Package("../../../charts/"+name, "7.8.9", time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		c, err := loader.LoadArchive(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range c.Raw {
			if !strings.HasPrefix(f.Name, "catalogs/") {
				continue
			}
			if n := bytes.Count(f.Data, []byte("version: main")); n > 0 {
				t.Errorf("%s %s: %d charts of a branch", name, f.Name, n)
			}
			pinned += bytes.Count(f.Data, []byte("version: v7.8.9"))
		}
	}
	if pinned < 20 {
		t.Errorf("%d charts of the release", pinned)
	}
}
