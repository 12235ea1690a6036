package fleetrepo_test

import (
	"bytes"
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
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
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
	require.NoError(t, err)
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
	require.NoError(t, err)
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
	require.NoError(t, err)
	return r, url
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := gitcmd.Run(t.Context(), dir, args...)
	require.NoError(t, err)
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
			require.NoError(t, err)
			var members []string
			for _, entry := range entries {
				members = append(members, strings.TrimSuffix(entry.Name(), ".yaml"))
			}
			if want := append([]string{hub}, test.members...); !reflect.DeepEqual(members, want) {
				t.Errorf("members %v, expected %v", members, want)
			}
			head, err := r.Head(t.Context())
			require.NoError(t, err)
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
		if name == "fleet/workloads.yaml" {
			return nil // without the entries of teams that are left out
		}
		after = bytes.TrimSuffix(after, []byte("\nguard: {maxRemovals: 10%, window: 0s}\n"))
		// What stays is there in the same order; what does not is the address of a repository.
		old := strings.Split(strings.NewReplacer("Revision: HEAD", "Revision: release-next", "requeueAfterSeconds: 600\n", "requeueAfterSeconds: 36000\n").Replace(string(before)), "\n")
		for i, line := range strings.Split(string(after), "\n") {
			if strings.HasPrefix(name, "fleet/teams/") && !strings.Contains(line, url) { // the team's repositories are on the same server
				line = strings.ReplaceAll(line, url[:strings.LastIndex(url, "/")], "https://git.example.com")
			}
			if strings.Contains(line, url) || strings.Contains(line, "repoURL: "+chartRepo) || line == "    - "+chartRepo {
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
	require.NoError(t, err)
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
	if text, err := r.Read("versions/applicationSets.yaml"); err != nil || strings.Count(text, "chartRepoRevision: release-next\n") != 4 {
		t.Errorf("canary releases that are not on release-next (6): %v\n%s", err, text)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	r, url := demo(t, three...)
	first, err := r.Head(t.Context())
	require.NoError(t, err)
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
	require.NoError(t, r.Write(values, "replicas: 2\n"))
	require.NoError(t, r.Replace(values, "2", "3"))
	for _, old := range []string{"x", "s"} {
		if err := r.Replace("addons/defaults/addons/metrics-server/values.yaml", old, ""); err == nil {
			t.Errorf("replace %q, which is not there once: no error", old)
		}
	}
	second, err := r.Commit(t.Context(), "more replicas")
	require.NoError(t, err)
	onServer("main", second)
	onServer("release-next", first)
	if text, err := r.Read(values); err != nil || text != "replicas: 3\n" {
		t.Errorf("%s: %q %v", values, text, err)
	}
	require.NoError(t, r.Remove(values))
	if _, err := r.Commit(t.Context(), "none"); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, r.ForcePush(t.Context(), second))
	onServer("main", second)

	require.NoError(t, r.Switch(t.Context(), fleetrepo.ReleaseNext))
	if _, err := r.Read(values); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is on release-next: %v", values, err)
	}
	require.NoError(t, r.Replace("charts/application-sets/catalogs/addons.yaml", "version: 3.13.0", "version: 3.14.0"))
	next, err := r.Commit(t.Context(), "the next metrics-server")
	require.NoError(t, err)
	onServer("release-next", next)
	onServer("main", second)
	require.NoError(t, r.Switch(t.Context(), fleetrepo.Main))
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
	require.NoError(t, err)
	if want := "fleet/fleet-members/hub-eu/retail-staging-eu-1.yaml"; path != want || !strings.Contains(text, "clusterName: retail-staging-eu-1\n") {
		t.Errorf("%s with\n%s", path, text)
	}
	// retail-prod-eu-2 has a level of its own, whose files come back with it.
	const own = "addons/tenants/retail/clusters/retail-prod-eu-2/addons/ingress-nginx/values.yaml"
	if _, err := r.Read(own); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s without its cluster: %v", own, err)
	}
	for _, name := range []string{"retail-staging-eu-1", "retail-prod-eu-2"} {
		require.NoError(t, r.AddMember(name))
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
	require.NoError(t, err)
	for _, want := range []chartserver.Chart{
		{Name: "cert-manager", Version: "v1.20.2"},
		{Name: "cert-manager", Version: "v1.19.1"}, // an override
		{Name: "ingress-nginx", Version: "4.14.1"},
		{Name: "ingress-nginx", Version: "4.14.3"},
		{Name: "karpenter", Version: "1.12.1"},
		{Name: "argo-cd", Version: "10.1.1"},
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
