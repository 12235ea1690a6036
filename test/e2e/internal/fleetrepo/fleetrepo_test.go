package fleetrepo_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
)

const (
	checkout  = "../../../.."
	chartRepo = "http://127.0.0.1:2/charts"
	hub       = "hub-eu"
)

var (
	three = []string{"payments-dev-eu-1", "retail-dev-eu-1", "retail-prod-eu-1"}
	four  = append(slices.Clone(three), "retail-staging-eu-1")
)

// argosy is the command, built once.
var argosy = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "argosy-e2e-")
	if err != nil {
		return "", err
	}
	built = dir
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "argosy"), "./cmd/argosy")
	cmd.Dir = checkout
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return filepath.Join(dir, "argosy"), nil
})

var built string

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

func lint(t *testing.T, dir string) string {
	t.Helper()
	argosy, err := argosy()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(argosy, "lint")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("argosy lint: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// remote is an empty repository on a server.
func remote(t *testing.T) string {
	t.Helper()
	server, err := gitserver.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	if _, err := server.Create("argosy"); err != nil {
		t.Fatal(err)
	}
	return server.URL("argosy")
}

func demo(t *testing.T, members ...string) (r *fleetrepo.Repo, url string) {
	t.Helper()
	url = remote(t)
	r, err := fleetrepo.New(t.Context(), fleetrepo.Options{
		Source: checkout, Remote: url, ChartRepo: chartRepo, Hub: hub, Members: members, Dir: filepath.Join(t.TempDir(), "fleet"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, url
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := gitcmd.Run(t.Context(), dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func TestFleetIsClean(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		members []string
		lint    string
	}{
		"none":  {nil, "no problems: 7 clusters of 2 hubs"},
		"three": {three, "no problems: 10 clusters of 2 hubs"},
		"four":  {four, "no problems: 11 clusters of 2 hubs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, url := demo(t, test.members...)
			if got := lint(t, r.Path()); got != test.lint {
				t.Errorf("argosy lint: %s\nexpected: %s", got, test.lint)
			}
			entries, err := os.ReadDir(filepath.Join(r.Path(), "fleet/fleet-members", hub))
			if err != nil {
				t.Fatal(err)
			}
			var members []string
			for _, entry := range entries {
				members = append(members, strings.TrimSuffix(entry.Name(), ".yaml"))
			}
			if want := append([]string{hub}, test.members...); !reflect.DeepEqual(members, want) {
				t.Errorf("members %v, expected %v", members, want)
			}
			head, err := r.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			refs := git(t, r.Path(), "ls-remote", "--heads", url)
			if want := head + "\trefs/heads/main\n" + head + "\trefs/heads/release-next"; refs != want {
				t.Errorf("branches on the server:\n%s\nexpected:\n%s", refs, want)
			}
		})
	}
}

// Addresses are rewritten and nothing else is (2, 3).
func TestRewritten(t *testing.T) {
	t.Parallel()
	r, url := demo(t, three...)
	err := filepath.WalkDir(r.Path(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(r.Path(), path)
		if err != nil {
			return err
		}
		before, err := os.ReadFile(filepath.Join(checkout, name))
		if err != nil {
			return err
		}
		after, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(after), "github.com/argosy-hub/argosy") {
			t.Errorf("%s still names github.com/argosy-hub/argosy", name)
		}
		// What stays is there in the same order; what does not is the address of a repository.
		old := strings.Split(string(before), "\n")
		for i, line := range strings.Split(string(after), "\n") {
			if strings.Contains(line, url) || strings.HasSuffix(line, "repoURL: "+chartRepo) || line == "    - "+chartRepo {
				continue
			}
			at := slices.Index(old, line)
			if at < 0 || slices.ContainsFunc(old[:at], func(s string) bool { return !strings.ContainsAny(s, "/") }) {
				t.Errorf("%s:%d: %q is not what comes next", name, i+1, line)
				break
			}
			old = old[at+1:]
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"charts/application-sets/catalogs/addons.yaml":    "      repoURL: " + chartRepo + "\n      name: karpenter\n", // an OCI registry
		"charts/application-sets/catalogs/resources.yaml": "      repoURL: " + url + "\n      path: charts/storage-classes\n",
		"fleet/bootstrap/hub-eu.yaml":                     "    repoURL: " + url + "\n",
		"fleet/fleet-members/hub-eu/hub-eu.yaml":          "fleet_repo_url: " + url + "\n",
		"versions/applicationSets.yaml":                   "    chartRepoUrl: " + url + "\n",
	} {
		if text, err := r.Read(file); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v, expected it to have %q", file, err, want)
		}
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	r, url := demo(t, three...)
	first, err := r.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	onServer := func(branch, want string) {
		t.Helper()
		if got, _, _ := strings.Cut(git(t, r.Path(), "ls-remote", url, "refs/heads/"+branch), "\t"); got != want {
			t.Errorf("%s is %s on the server, expected %s", branch, got, want)
		}
	}
	if _, err := r.Commit(t.Context(), "nothing"); err == nil {
		t.Error("a commit without changes: no error")
	}
	const values = "addons/tenants/retail/clusters/retail-dev-eu-1/addons/metrics-server/values.yaml"
	if err := r.Write(values, "replicas: 2\n"); err != nil {
		t.Fatal(err)
	}
	if err := r.Replace(values, "2", "3"); err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"x", "s"} {
		if err := r.Replace("addons/defaults/addons/metrics-server/values.yaml", old, ""); err == nil {
			t.Errorf("replace %q, which is not there once: no error", old)
		}
	}
	second, err := r.Commit(t.Context(), "more replicas")
	if err != nil {
		t.Fatal(err)
	}
	onServer("main", second)
	onServer("release-next", first)
	if text, err := r.Read(values); err != nil || text != "replicas: 3\n" {
		t.Errorf("%s: %q %v", values, text, err)
	}
	if err := r.Remove(values); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Commit(t.Context(), "none"); err != nil {
		t.Fatal(err)
	}
	if err := r.ForcePush(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	onServer("main", second)

	if err := r.Switch(t.Context(), fleetrepo.ReleaseNext); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(values); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is on release-next: %v", values, err)
	}
	if err := r.Replace("charts/application-sets/catalogs/addons.yaml", "version: 3.13.0", "version: 3.14.0"); err != nil {
		t.Fatal(err)
	}
	next, err := r.Commit(t.Context(), "the next metrics-server")
	if err != nil {
		t.Fatal(err)
	}
	onServer("release-next", next)
	onServer("main", second)
	if err := r.Switch(t.Context(), fleetrepo.Main); err != nil {
		t.Fatal(err)
	}
	if head, err := r.Head(t.Context()); err != nil || head != second {
		t.Errorf("back on main: %s %v, expected %s", head, err, second)
	}
	for _, outside := range []string{"../x", "/x", "a/../../x"} {
		if err := r.Write(outside, "x"); err == nil {
			t.Errorf("write %s: no error", outside)
		}
	}
}

func TestAddMember(t *testing.T) {
	t.Parallel()
	r, _ := demo(t, three...)
	path, text, err := r.MemberFile("retail-staging-eu-1")
	if err != nil {
		t.Fatal(err)
	}
	if want := "fleet/fleet-members/hub-eu/retail-staging-eu-1.yaml"; path != want || !strings.Contains(text, "clusterName: retail-staging-eu-1\n") {
		t.Errorf("%s with\n%s", path, text)
	}
	// retail-prod-eu-2 has a level of its own, whose files come back with it.
	const own = "addons/tenants/retail/clusters/retail-prod-eu-2/addons/ingress-nginx/values.yaml"
	if _, err := r.Read(own); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s without its cluster: %v", own, err)
	}
	for _, name := range []string{"retail-staging-eu-1", "retail-prod-eu-2"} {
		if err := r.AddMember(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Read(own); err != nil {
		t.Error(err)
	}
	if got := lint(t, r.Path()); got != "no problems: 12 clusters of 2 hubs" {
		t.Error(got)
	}
	changed := git(t, r.Path(), "status", "--porcelain", "--untracked-files=all")
	if want := 3; strings.Count(changed, "?? ") != want || strings.Count(changed, "\n") != want-1 {
		t.Errorf("changed:\n%s\nexpected two members and one file of values", changed)
	}
	if err := r.AddMember("retail-staging-eu-9"); err == nil || !strings.Contains(err.Error(), "retail-staging-eu-1") {
		t.Errorf("a member that is not there: %v, expected the known ones", err)
	}
}

func TestSecretKeys(t *testing.T) {
	t.Parallel()
	r, _ := demo(t, three...)
	keys := r.SecretKeys()
	for _, name := range four {
		if want := hub + "/" + name; keys[name] != want {
			t.Errorf("%s: %q, expected %q", name, keys[name], want)
		}
	}
	for _, name := range []string{hub, "retail-prod-us-1"} {
		if key, has := keys[name]; has {
			t.Errorf("%s has the key %q", name, key)
		}
	}
}

func TestCharts(t *testing.T) {
	t.Parallel()
	charts, err := fleetrepo.Charts(t.Context(), checkout)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []chartserver.Chart{
		{Name: "cert-manager", Version: "v1.20.2"},
		{Name: "cert-manager", Version: "v1.19.1"}, // an override
		{Name: "ingress-nginx", Version: "4.14.1"},
		{Name: "ingress-nginx", Version: "4.14.3"},
		{Name: "karpenter", Version: "1.12.1"},
		{Name: "argo-cd", Version: "9.4.17"},
	} {
		if !slices.Contains(charts, want) {
			t.Errorf("no %v in %v", want, charts)
		}
	}
	for _, chart := range charts {
		if chart.Version == "main" || chart.Name == "storage-classes" {
			t.Errorf("%v is in Git", chart)
		}
	}
	if _, err := chartserver.Start(t.Context(), charts); err != nil {
		t.Error(err)
	}
}

// small is a checkout with the least that makes a fleet, and the given files.
func small(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{
		"fleet/layout.yaml": `members: fleet/members/{{ .hub }}/{{ .cluster }}.yaml
groups:
  addons: {root: addons, catalog: charts/catalog.yaml}
levels: [{name: system, dir: "{{ .root }}/defaults"}, {name: cluster, dir: "{{ .root }}/{{ .labels.region }}/{{ .cluster }}"}]
hubLevels: [{name: system, dir: "{{ .root }}/defaults"}]
files: {catalog: "application-sets/{{ .group }}.yaml"}
`,
		"fleet/members/h/h.yaml": "fleet_member: hub-cluster\n",
		"fleet/members/h/a.yaml": "labels: {region: eu}\n",
		"fleet/members/h/b.yaml": "labels: {region: eu}\n",
		"addons/eu/a/values":     "a\n", "addons/eu/b/values": "b\n", "addons/defaults/values": "c\n",
		"elsewhere/ignored.yaml": "repoURL: https://charts.example.com\n",
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "init", "--quiet")
	return dir
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	url := remote(t)
	r, err := fleetrepo.New(t.Context(), fleetrepo.Options{
		Source: small(t, map[string]string{
			".gitignore": "ignored/\n", "charts/ignored/x.yaml": "repoURL: https://charts.example.com\n",
			"charts/catalog.yaml": `# https://github.com/argosy-hub/argosy
a: {repoURL: "https://a.example.com/charts", name: ä} # https://a.example.com/charts
b: {name: ä, repoURL: 'oci://b.example.com/charts'}
c:
  repoURL: c.example.com:5000/charts
  # repoURL: https://c.example.com
  homepage: https://c.example.com
d: {repoURL: https://github.com/argosy-hub/argosy.git, path: charts/x}
e: {repoURL: 'https://github.com/argosy-hub/argosy', ref: values}
f: {repoURL: '{{ .source.repoURL }}'}
---
spec:
  sourceRepos: ["https://a.example.com/charts", '*', https://github.com/argosy-hub/argosy]
other:
  sourceRepos:
    - https://github.com/argosy-hub/argosy
    - https://a.example.com/charts
    - oci://b.example.com/charts
    - c.example.com:5000/charts
    - '*'
hierarchy: {repoURL: https://github.com/argosy-hub/argosy}
g: https://github.com/argosy-hub/argosy-enterprise
`,
			"charts/x/templates/x.yaml": "{{ range .x }}\nrepoURL: {{ .y }}\n{{ end }}\n",
		}),
		Remote: url, ChartRepo: chartRepo, Hub: "h", Members: []string{"a"}, Dir: filepath.Join(t.TempDir(), "fleet"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("CHARTS", chartRepo, "GIT", url).Replace(`# GIT
a: {repoURL: "CHARTS", name: ä} # https://a.example.com/charts
b: {name: ä, repoURL: 'CHARTS'}
c:
  repoURL: CHARTS
  # repoURL: https://c.example.com
  homepage: https://c.example.com
d: {repoURL: GIT, path: charts/x}
e: {repoURL: 'GIT', ref: values}
f: {repoURL: '{{ .source.repoURL }}'}
---
spec:
  sourceRepos: ["CHARTS", '*', GIT]
other:
  sourceRepos:
    - GIT
    - CHARTS
    - '*'
hierarchy: {repoURL: GIT}
g: https://github.com/argosy-hub/argosy-enterprise
`)
	if got, err := r.Read("charts/catalog.yaml"); err != nil || got != want {
		t.Errorf("%v\n%s\nexpected\n%s", err, got, want)
	}
	got := strings.Fields(git(t, r.Path(), "ls-files"))
	if want := []string{
		"addons/defaults/values", "addons/eu/a/values", "charts/catalog.yaml", "charts/x/templates/x.yaml",
		"fleet/layout.yaml", "fleet/members/h/a.yaml", "fleet/members/h/h.yaml",
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("files %v, expected %v", got, want)
	}
}

// What would lead out of the demonstration is an error with its place (4).
func TestStrays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, text, want string }{
		{"Git", "fleet/x.yaml", "a: 1\nsource: {path: charts/x, repoURL: https://git.example.com/x}\n", `fleet/x.yaml:2: repoURL "https://git.example.com/x" leads out`},
		{"release", "versions/x.yaml", "chartRepoUrl: git@git.example.com:x\n", `versions/x.yaml:1: chartRepoUrl "git@git.example.com:x"`},
		{"registry", "versions/x.yaml", "\nchartRepo: registry.example.com/charts\n", `versions/x.yaml:2: chartRepo "registry.example.com/charts"`},
		{"override", "fleet/members/h/c.yaml", "addons_repo_url: https://git.example.com/x\nlabels: {region: eu}\n", `fleet/members/h/c.yaml:1: addons_repo_url`},
		{"template", "charts/x/templates/x.yaml", "{{ if .x }}\nrepoURL: https://git.example.com/x\n{{ end }}\n", `charts/x/templates/x.yaml:2: repoURL`},
		{"half a template", "addons/x.yaml.gotmpl", "repoURL: \"https://{{ .x }}/y\"\npath: x\n", `addons/x.yaml.gotmpl:1: repoURL`},
		{"project", "fleet/x.yaml", "sourceRepos:\n- '*'\n- https://git.example.com/x\n", `fleet/x.yaml:3: sourceRepos "https://git.example.com/x"`},
		{"text in YAML", "fleet/x.yaml", "values: |\n  repoURL: https://git.example.com/x\n", `fleet/x.yaml:2: repoURL`},
		{"escapes", "charts/x.yaml", "repoURL: \"https:/\\x2fa.example.com\"\n", `charts/x.yaml:1: repoURL "https://a.example.com" is written in a way`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "fleet")
			_, err := fleetrepo.New(t.Context(), fleetrepo.Options{
				Source: small(t, map[string]string{test.file: test.text}), Remote: "http://127.0.0.1:1/x.git", ChartRepo: chartRepo, Hub: "h", Dir: dir,
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nexpected: %s", err, test.want)
			}
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something was written: %v", err)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	complete := fleetrepo.Options{Source: checkout, Remote: "http://127.0.0.1:1/x.git", ChartRepo: chartRepo, Hub: hub, Dir: filepath.Join(t.TempDir(), "fleet")}
	for name, test := range map[string]struct {
		change func(*fleetrepo.Options)
		want   string
	}{
		"no remote":      {func(o *fleetrepo.Options) { o.Remote = "" }, "Options.Remote is required"},
		"unknown member": {func(o *fleetrepo.Options) { o.Members = []string{"retail-prod-us-1"} }, `hub "hub-eu" has no member "retail-prod-us-1"`},
		"unknown hub":    {func(o *fleetrepo.Options) { o.Hub, o.Members = "hub-jp", []string{"x"} }, `hub "hub-jp" has no member "x"`},
		"no checkout":    {func(o *fleetrepo.Options) { o.Source = t.TempDir() }, "expected a Git checkout"},
		"full folder":    {func(o *fleetrepo.Options) { o.Dir = checkout }, "is not empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := complete
			test.change(&o)
			if _, err := fleetrepo.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, expected %q", err, test.want)
			}
		})
	}
}
