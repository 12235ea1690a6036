package arch

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// rooms are the folders of internal/, each with the rooms that it may import besides itself.
var rooms = map[string][]string{
	"base":      nil,
	"hierarchy": {"base"},
	"labels":    {"base"},
	"source":    {"base"},
	"fleet":     {"base", "hierarchy", "labels"},
	"resolve":   {"base", "hierarchy", "labels", "fleet"},
	"hold":      {"base", "hierarchy", "labels", "fleet", "resolve"},
	"hub":       {"base", "fleet"},
	"service":   {"base", "hierarchy", "labels", "fleet", "resolve", "hold", "source", "hub"},
	"change":    {"base", "hierarchy", "labels", "fleet", "resolve", "hold", "source"},
	"web":       {"base", "hierarchy", "labels", "fleet", "resolve", "hold", "service"},
	"migrate":   {"base", "hierarchy", "labels", "fleet", "resolve", "hold", "source", "hub", "change"},
	"testkit":   {"base", "hierarchy", "labels", "fleet", "resolve", "hold", "source", "hub", "service", "change"},
}

// shelf are packages that are in no room yet, by the room whose rules they follow.
var shelf = map[string]string{
	"budget":    "base",
	"companion": "resolve", "fleetstate": "resolve", "inventory": "resolve", "lifecycle": "resolve", "memo": "resolve",
	"paramset": "resolve", "placement": "resolve", "registration": "resolve", "released": "resolve", "response": "resolve", "roster": "resolve",
	"guard": "hold", "order": "hold", "responsesize": "hold",
	"refresh": "service", "rings": "service",
}

// Budgets: they fall, and never rise without a reason.
const (
	maxLines     = 90_161 // holds, one list of them, reports of agents; plan and import of any repository
	maxTestLines = 75_800 // the situations of docs/holds.md as one table
	maxWords     = 79_080
)

// pure are the folders that import no network, operating system, randomness or Kubernetes client.
var (
	pure   = []string{"hierarchy", "labels", "fleet", "resolve", "change/plan", "change/lint", "base/problem", "base/snapshot", "base/tmpl", "base/yamldoc", "budget"}
	impure = []string{"net", "os", "syscall", "math/rand", "crypto/rand", "k8s.io/client-go"}
)

// oracles are what only tests compare with, and what renders a plan.
var oracles = []string{"github.com/argoproj", "helm.sh/helm", "sigs.k8s.io/kustomize", "github.com/external-secrets"}

// homes are imports of one place each, in programs or in tests, too. Argo CD's interfaces name its
// Kubernetes client. What only tests compare with has no home.
var homes = []struct {
	prefix  string
	folders []string
	tests   bool
}{
	{"github.com/argoproj", []string{"internal/change/expand/argocd"}, false},
	{"helm.sh/helm", []string{"internal/change/expand/helm", "internal/change/expand/fetch"}, false},
	{"sigs.k8s.io/kustomize", []string{"internal/change/expand/kustomize"}, false},
	{"github.com/external-secrets", []string{"internal/change/externalsecrets"}, false},
	{"sigs.k8s.io/controller-runtime", []string{"internal/change/expand/argocd"}, false},
	{"k8s.io/client-go", []string{"internal/hub", "internal/migrate/adopt", "internal/change/expand/argocd"}, false},
	{"go.yaml.in/yaml", []string{"internal/base/yamldoc"}, true},
	{"gopkg.in/yaml", []string{"internal/base/yamldoc"}, true},
}

// roomOf returns the room of a folder of the repository, "" outside of internal/.
func roomOf(folder string) string {
	rest, ok := strings.CutPrefix(folder, "internal/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	if room, ok := shelf[name]; ok {
		return room
	}
	return name
}

// TestRooms holds the table of the rooms.
func TestRooms(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		from := roomOf(path.Dir(s.path))
		allowed, known := rooms[from]
		if from != "" && !known {
			t.Errorf("%s: internal/%s is not a room: move the package into one of %v", s.path, from, slices.Sorted(maps.Keys(rooms)))
			continue
		}
		if s.test {
			continue
		}
		for _, imported := range s.imports {
			folder, ours := strings.CutPrefix(imported, module+"/")
			if !ours {
				continue
			}
			switch to := roomOf(folder); {
			case to == "" && from != "" && strings.HasPrefix(folder, "cmd/"):
				t.Errorf("%s imports %s: rooms import no program", s.path, folder)
			case to == "testkit" && from != "testkit" && !strings.HasPrefix(s.path, "hack/"):
				t.Errorf("%s imports %s: test support is for tests", s.path, folder)
			case from != "" && to != "" && to != from && !slices.Contains(allowed, to):
				t.Errorf("%s imports %s: room %s may import %v", s.path, folder, from, allowed)
			}
		}
	}
}

// TestPureRooms finds what makes an answer depend on more than a snapshot and facts.
func TestPureRooms(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		folder := path.Dir(s.path)
		isPure := slices.ContainsFunc(pure, func(p string) bool { return below(folder, "internal/"+p) }) || roomOf(folder) == "resolve"
		if s.test || !isPure {
			continue
		}
		for _, imported := range s.imports {
			if i := slices.IndexFunc(impure, func(p string) bool { return below(imported, p) }); i >= 0 {
				t.Errorf("%s imports %s: it is a pure function of a snapshot and facts", s.path, imported)
			}
		}
	}
}

// TestImportsWithOneHome keeps other projects' packages behind types of our own.
func TestImportsWithOneHome(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, imported := range s.imports {
			for _, h := range homes {
				if (h.tests || !s.test) && strings.HasPrefix(imported, h.prefix) && !slices.ContainsFunc(h.folders, func(f string) bool { return below(path.Dir(s.path), f) }) {
					t.Errorf("%s imports %s: only %v may", s.path, imported, h.folders)
				}
			}
		}
	}
}

// TestBudgets prints the weight of the product and fails where it grows.
func TestBudgets(t *testing.T) {
	t.Parallel()
	const packageLimit = 2700
	// What holds cells grows in rings, until the guard and the order of dependencies are holds,
	// too. Repositories without a fleet have grown the expansion and the commands.
	larger := map[string]int{"internal/rings": 3600, "internal/guard": 2850, "internal/change/expand": 3134, "cmd/argosy": 2975}
	var weight struct{ lines, tests, scripts, names, words int }
	lines := map[string]int{}
	for _, s := range sources(t) {
		n := bytes.Count(read(t, s.path), []byte("\n"))
		switch isProgram := strings.HasPrefix(s.path, "internal/") || strings.HasPrefix(s.path, "cmd/"); {
		case s.test || strings.HasPrefix(s.path, "test/") || strings.HasPrefix(s.path, "internal/testkit/"):
			weight.tests += n
		case isProgram:
			weight.lines += n
			lines[path.Dir(s.path)] += n
		}
	}
	for folder, n := range lines {
		if limit := max(packageLimit, larger[folder]); n > limit {
			t.Errorf("%s: %d lines without tests; expected at most %d: what can live elsewhere?", folder, n, limit)
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, "internal"))
	require.NoError(t, err)
	weight.names = len(entries)
	weight.words = words(t, "docs")
	for _, b := range []struct {
		what      string
		is, limit int
	}{
		{"lines of Go in cmd/ and internal/, without tests", weight.lines, maxLines},
		{"lines of Go of tests in this module", weight.tests, maxTestLines},
		{"names in internal/", weight.names, len(rooms) + len(shelf)},
		{"words in docs/", weight.words, maxWords},
	} {
		t.Logf("%s: %d of %d", b.what, b.is, b.limit)
		if b.is > b.limit {
			t.Errorf("%s: %d; expected at most %d: what can go?", b.what, b.is, b.limit)
		}
	}
}

// words counts the words of the Markdown files below a folder, but for the reference that is
// generated from the commands.
func words(t *testing.T, folder string) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, folder), func(p string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, ".md") {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		text := string(read(t, filepath.ToSlash(rel)))
		if before, generated, is := strings.Cut(text, "<!-- Generated from the commands"); is {
			_, after, _ := strings.Cut(generated, "<!-- End of the generated part. -->")
			text = before + after
		}
		n += len(strings.Fields(text))
		return nil
	})
	require.NoError(t, err)
	return n
}

// TestPrograms follows imports to their end: what the engine and the programs link. (All Go files
// have been opened by sources, and go.mod here, so that a cached result is not taken for a changed
// program.)
func TestPrograms(t *testing.T) {
	t.Parallel()
	sources(t)
	read(t, "go.mod")
	tests := []struct {
		pattern string
		without []string
		max     int // packages, the standard library included
	}{
		{"./internal/response", append([]string{"k8s.io/client-go", "k8s.io/api", "sigs.k8s.io/controller-runtime"}, oracles...), 340},
		{"./cmd/generator-plugin", oracles, 510}, // three for the tokens of a GitHub App
		// The libraries of expand are the command line's alone, not the service's, nor of what the
		// two share.
		{"./internal/change/expand", append([]string{"k8s.io/client-go"}, oracles...), 380},
		{"./internal/change/report/explainreport", append([]string{"k8s.io/client-go"}, oracles...), 340},
		{"./internal/change/report/planreport", append([]string{"k8s.io/client-go"}, oracles...), 380},
		{"./cmd/argosy", nil, 1800}, // argosy facts export asks a hub; plan and render expand
	}
	for _, tt := range tests {
		t.Run(tt.pattern, func(t *testing.T) {
			t.Parallel()
			linked := dependencies(t, tt.pattern)
			for _, p := range linked {
				if i := slices.IndexFunc(tt.without, func(w string) bool { return below(p, w) }); i >= 0 {
					t.Errorf("%s links %s", tt.pattern, p)
				}
			}
			if len(linked) > tt.max {
				t.Errorf("%s links %d packages; expected at most %d: what brought them in?", tt.pattern, len(linked), tt.max)
			}
		})
	}
}
