package chartdoc

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// TestUpToDate: README.md of every chart is what the chart's files say (rule 5).
func TestUpToDate(t *testing.T) {
	charts, err := Charts("../../charts")
	if err != nil || len(charts) == 0 {
		t.Fatalf("charts %v, error %v", charts, err)
	}
	for _, chart := range charts {
		t.Run(filepath.Base(chart), func(t *testing.T) {
			want, err := Render(chart)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(chart, ReadmeFile))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s is out of date: go generate ./internal/chartdoc", filepath.Join(chart, ReadmeFile))
			}
		})
	}
}

// TestRender compares charts in testdata/*.txtar with the README.md, or the error, beside them.
func TestRender(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("archives %v, error %v", archives, err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir, want := t.TempDir(), ""
			inputs := archive.Files[:0:0]
			for _, file := range archive.Files {
				if file.Name == ReadmeFile || file.Name == "want-error" {
					want = string(file.Data)
					continue
				}
				inputs = append(inputs, file)
				if err := os.WriteFile(filepath.Join(dir, file.Name), file.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			name := ReadmeFile
			text, err := Render(dir)
			got := string(text)
			if err != nil {
				name, got = "want-error", strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")+"\n"
			}
			if *update {
				inputs = append(inputs, txtar.File{Name: name, Data: []byte(got)})
				archive.Files = inputs
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}
