package arch

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"testing"
)

// layers are the packages below internal/, lowest first (rule 1).
var layers = [][]string{
	{"atomicfile", "cycle", "liveness", "panics", "parallel", "problem", "reload", "startup", "succession", "trigger"},
	{"budget", "failure", "planpage", "queryerr", "snapshot", "state", "tmpl", "yamldoc"},
	{"facts", "hierarchy", "labels", "pathpattern", "release", "tenantschema", "tlsreload", "webhook"},
	{"rollout"},
	{"catalog", "checks"},
	{"provision"},
	{"fleet"},
	{"hub", "memo", "source"},
	{"companion", "team", "tenancy"},
	{"mount"},
	{"placement"},
	{"fleetstate"},
	{"query", "registration", "released", "roster"},
	{"lifecycle"},
	{"paramset"},
	{"response"},
	{"explain", "flux", "inventory", "order", "secretpolicy", "secretscan"},
	{"expand", "factsfile"},
	{"roots"},
	{"lint", "plan", "scaffold", "verify"},
	{"access", "adopt", "appsets", "externalsecrets", "factor", "guard", "ociregistry", "refresh", "responsesize"},
	{"httpserver", "rings"},
	{"overview", "report"},
	{"board"},
	{"importer", "planner", "server", "web"},
	{"existing"},
}

// engine are the packages of rule 2.
var engine = []string{"problem", "budget", "snapshot", "tmpl", "yamldoc", "facts", "hierarchy", "labels", "pathpattern", "release", "tenantschema", "parallel", "cycle", "queryerr", "catalog", "fleet", "roots", "memo", "provision", "rollout", "companion", "team", "tenancy", "mount", "placement", "fleetstate", "query", "registration", "released", "roster", "lifecycle", "paramset", "response", "secretscan", "secretpolicy", "lint", "explain", "inventory", "plan", "flux"}

// aside are packages that no program but those of hack/ imports: they serve tests, or write
// generated files.
var aside = []string{"cases", "chartdoc", "fleettest", "querytest", "race", "tenanttest"}

// only are import paths that only some folders may name (rules 2 and 3), in programs or also in
// tests.
var only = []struct {
	prefix  string
	folders []string
	tests   bool
}{
	{"k8s.io/client-go", []string{"internal/hub", "internal/adopt", "internal/expand/argocd"}, false}, // Argo CD's interfaces name it
	{"go.yaml.in/yaml", []string{"internal/yamldoc"}, true},
	{"gopkg.in/yaml", []string{"internal/yamldoc"}, true},
}

// impure is what the engine does not import (rule 2).
var impure = []string{"net", "os", "syscall", "math/rand", "crypto/rand", "k8s.io/client-go"}

// oracles is what only tests import (rule 4), but for what expands a fleet offline, each in one
// place.
var oracles = []string{"github.com/argoproj", "helm.sh/helm", "sigs.k8s.io/kustomize", "github.com/external-secrets"}

// homes are the folders that may import something that no other may; Argo CD's interfaces name its
// Kubernetes client.
var homes = map[string][]string{
	"github.com/argoproj":            {"internal/expand/argocd"},
	"helm.sh/helm":                   {"internal/expand/helm", "internal/expand/fetch"},
	"sigs.k8s.io/kustomize":          {"internal/expand/kustomize"},
	"github.com/external-secrets":    {"internal/externalsecrets"},
	"sigs.k8s.io/controller-runtime": {"internal/hub", "internal/expand/argocd"},
}

func TestLayers(t *testing.T) {
	t.Parallel()
	layer := map[string]int{}
	for i, names := range layers {
		for _, name := range names {
			layer[name] = i
		}
	}
	for _, s := range sources(t) {
		from, inside := internalName(path.Join(module, path.Dir(s.path)))
		own, known := layer[from]
		if inside && !known && !slices.Contains(aside, from) {
			t.Errorf("%s: package internal/%s is in no layer: give it a place in test/arch", s.path, from)
			continue
		}
		if s.test {
			continue
		}
		for _, imported := range s.imports {
			to, ours := internalName(imported)
			switch {
			case !ours || to == from:
			case slices.Contains(aside, to) && !slices.Contains(aside, from) && !strings.HasPrefix(s.path, "hack/"):
				t.Errorf("%s imports internal/%s, which serves tests alone", s.path, to)
			case inside && known && layer[to] >= own:
				t.Errorf("%s imports internal/%s: a package imports lower layers alone", s.path, to)
			}
		}
	}
}

func TestEngineIsPure(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		name, inside := internalName(path.Join(module, path.Dir(s.path)))
		if s.test || !inside || !slices.Contains(engine, name) {
			continue
		}
		for _, imported := range s.imports {
			if i := slices.IndexFunc(impure, func(p string) bool { return below(imported, p) }); i >= 0 {
				t.Errorf("%s imports %s: the engine is a pure function of a snapshot and facts", s.path, imported)
			}
		}
	}
}

func TestImportsWithOneHome(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, imported := range s.imports {
			for _, o := range only {
				if (o.tests || !s.test) && strings.HasPrefix(imported, o.prefix) && !slices.ContainsFunc(o.folders, func(f string) bool { return strings.HasPrefix(s.path, f+"/") }) {
					t.Errorf("%s imports %s: that is for %s alone", s.path, imported, o.folders)
				}
			}
			for prefix, folders := range homes {
				if !s.test && below(imported, prefix) && !slices.Contains(folders, path.Dir(s.path)) {
					t.Errorf("%s imports %s: that is for tests and %v alone", s.path, imported, folders)
				}
			}
		}
	}
}

// TestPackagesAreSmall counts the lines of each internal package without its tests: what is larger
// than the limit holds more than one thing.
func TestPackagesAreSmall(t *testing.T) {
	t.Parallel()
	const limit = 2700
	lines := map[string]int{}
	for _, s := range sources(t) {
		if !s.test && strings.HasPrefix(s.path, "internal/") {
			lines[path.Dir(s.path)] += bytes.Count(read(t, s.path), []byte("\n"))
		}
	}
	for folder, n := range lines {
		if n > limit {
			t.Errorf("%s: %d lines without tests; expected at most %d: what can live elsewhere?", folder, n, limit)
		}
	}
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
		{"./internal/expand", append([]string{"k8s.io/client-go"}, oracles...), 380},
		{"./internal/report/explainreport", append([]string{"k8s.io/client-go"}, oracles...), 340},
		{"./internal/report/planreport", append([]string{"k8s.io/client-go"}, oracles...), 380},
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
