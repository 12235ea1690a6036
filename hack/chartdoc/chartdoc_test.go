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

// TestUpToDate: README.md and values.schema.json of every chart are what the chart's files say
// (rule 5).
func TestUpToDate(t *testing.T) {
	charts, err := Charts("../../charts")
	if err != nil || len(charts) == 0 {
		t.Fatalf("charts %v, error %v", charts, err)
	}
	for _, chart := range charts {
		for name, generate := range map[string]func(string) ([]byte, error){ReadmeFile: Render, SchemaFile: Schema} {
			want, err := generate(chart)
			if err != nil {
				t.Error(err)
				continue
			}
			got, err := os.ReadFile(filepath.Join(chart, name))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s is out of date: go generate ./hack/chartdoc", filepath.Join(chart, name))
			}
		}
	}
}

// TestSchemaHasTheCommentsOfValues: descriptions come from values.yaml, all else is as it was (rule
// 6).
func TestSchemaHasTheCommentsOfValues(t *testing.T) {
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	write(dir, valuesFile, "# Header of a section.\n# -- A <number>\nb: 1\n# A map\nm:\n  # -- Inside\n  x: {}\n# Free\nfree:\n  # Named by the user\n  any: 1\n")
	write(dir, SchemaFile, `{"properties": {"m": {"properties": {"x": {"enum": [], "description": "old"}}}, "b": {"maximum": 1e3}, "free": {"default": {}}, "z": {"description": "by hand"}}}`)
	got, err := Schema(dir)
	want := `{
  "properties": {
    "m": {
      "description": "A map",
      "properties": {
        "x": {
          "enum": [],
          "description": "Inside"
        }
      }
    },
    "b": {
      "description": "A <number>",
      "maximum": 1e3
    },
    "free": {
      "description": "Free",
      "default": {}
    },
    "z": {
      "description": "by hand"
    }
  }
}
`
	if err != nil || string(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s\nerror: %v", got, want, err)
	}
	write(dir, valuesFile, "m:\n  # New\n  y: 1\n")
	if _, err := Schema(dir); err == nil || !strings.Contains(err.Error(), `no property "m.y"; expected one, as values.yaml:3 has the key`) {
		t.Errorf("a key without a property: %v", err)
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
