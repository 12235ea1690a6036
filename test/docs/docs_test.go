// Package docs proves that the documentation says what the program does.
package docs

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const root = "../.."

// read is a file of the repository.
func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	require.NoError(t, err)
	return string(data)
}

// The layout in the reference is the default layout.
func TestDefaultLayout(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(read(t, "docs/reference/repository.md"), "## Layout")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	block, _, _ := strings.Cut(rest, "```")
	var documented, actual any
	require.NoError(t, yaml.Unmarshal([]byte(block), &documented))
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "internal/fleet/default_layout.yaml")), &actual))
	assert.Equal(t, actual, documented, "docs/reference/repository.md differs from the default layout (-actual +documented)")
}

// The API reference names every field of a parameter set, and every metric.
func TestAPIReference(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/reference/api.md")
	var names []string
	for _, set := range []any{paramset.MemberSet{}, paramset.ReleaseSet{}, paramset.ComponentSet{}, paramset.AgentSet{}} {
		names = append(names, fields(reflect.TypeOf(set))...)
	}
	names = append(names, query.Views...)
	names = append(names, regexp.MustCompile(`argosy_[a-z_]+`).FindAllString(read(t, "internal/service/server/metrics.go"), -1)...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "`"+name+".") {
			t.Errorf("docs/reference/api.md does not name %s", name)
		}
	}
}

// fields are the JSON names of a struct's fields, embedded ones included.
func fields(t reflect.Type) []string {
	var out []string
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}

// Blocks of JSON and YAML can be parsed.
func TestBlocks(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?s)\n```(json|yaml)\n(.*?)\n```\n")
	for file, text := range pages(t) {
		for _, m := range blocks.FindAllStringSubmatch(text, -1) {
			if first, _, _ := strings.Cut(m[2], "\n"); strings.HasPrefix(first, "# ") && strings.HasSuffix(first, ".gotmpl") {
				continue // a template, which a file's name says
			}
			var v any
			err := yaml.Unmarshal([]byte(m[2]), &v)
			if m[1] == "json" {
				err = json.Unmarshal([]byte(m[2]), &v)
			}
			if err != nil && !strings.Contains(m[2], "...") {
				t.Errorf("%s: %v in\n%s", file, err, m[2])
			}
		}
	}
}

// Links inside the repository lead to files and headings that are there.
func TestLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	all := pages(t)
	for file, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			to := file
			if target != "" {
				to = path.Join(path.Dir(file), target)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
				t.Errorf("%s: link to %s: no such file", file, m[1])
				continue
			}
			if page, ok := all[to]; ok && anchor != "" && !slices.Contains(anchors(page), anchor) {
				t.Errorf("%s: link to %s: no such heading", file, m[1])
			}
		}
	}
}

// pages are all Markdown files, without those of tests and of a release that was built.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "dist") {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(p) != ".md" {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		out[rel] = read(t, rel)
		return nil
	})
	require.NoError(t, err)
	return out
}

var (
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// anchors are the names that headings have as link targets.
func anchors(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(name, " ", "-"))
	}
	return out
}
