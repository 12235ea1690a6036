package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// approvals are what a forge has taken, of pull request 7 of a commit into main.
type approvals struct {
	gitlab bool
	newest string
	taken  []string
}

func (f *approvals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	change, approve, of := "/repos/acme/fleet/pulls/7", "/reviews", map[string]any{"head": map[string]string{"sha": f.newest}, "base": map[string]string{"ref": "main"}}
	authorized := r.Header.Get("Authorization") == "Bearer s3cret"
	if f.gitlab {
		change, approve, of = "/projects/12/merge_requests/7", "/approve", map[string]any{"sha": f.newest, "target_branch": "main"}
		authorized = r.Header.Get("PRIVATE-TOKEN") == "s3cret"
	}
	switch {
	case !authorized:
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/repos/acme/fleet/pulls" && r.URL.Query().Get("head") == "mallory:change" && r.URL.Query().Get("state") == "open":
		_ = json.NewEncoder(w).Encode([]any{map[string]any{"number": 7, "head": of["head"]}})
	case r.URL.Path == "/projects/12/merge_requests" && r.URL.Query().Get("target_branch") == "main" && r.URL.Query().Get("state") == "opened":
		_ = json.NewEncoder(w).Encode([]any{map[string]any{"iid": 7, "sha": f.newest}})
	case r.Method == http.MethodPut && r.URL.Path == change+"/merge":
		f.taken = append(f.taken, "merge "+r.FormValue("sha")+" "+r.FormValue("merge_when_pipeline_succeeds"))
	case r.Method == http.MethodGet && r.URL.Path == change:
		_ = json.NewEncoder(w).Encode(of)
	case r.Method == http.MethodPost && r.URL.Path == change+approve:
		var sent struct {
			SHA, Event string
			CommitID   string `json:"commit_id"`
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		f.taken = append(f.taken, sent.Event+" "+sent.CommitID+sent.SHA)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// approvalFleet is a fleet repository on the branch main, with a function that runs Git in it.
func approvalFleet(t *testing.T) (dir string, git func(args ...string) string) {
	t.Helper()
	fixture, err := txtar.ParseFile("testdata/script/plan-new-cluster.txtar")
	require.NoError(t, err)
	above := t.TempDir()
	require.NoError(t, txtar.Write(fixture, above))
	dir = filepath.Join(above, "fleet-repository")
	git = func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet", "--initial-branch", "main")
	git("add", ".")
	git("commit", "--quiet", "--message", "base")
	return dir, git
}

// docs/ci/argosy-approve.sh approves a change that makes one cluster of an allowed class, on top of
// what the branch has by now, and no other. Nothing of the change is checked out.
func TestApprove(t *testing.T) {
	script, err := filepath.Abs("../../docs/ci/argosy-approve.sh")
	require.NoError(t, err)
	dir, git := approvalFleet(t)
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	const members = "fleet/fleet-members/hub/"
	member := func(name, more string) string {
		return "clusterName: " + name + "\ntenant: shop\nenvironment: dev\n" + more
	}
	made := "provision: {class: eks-kro, version: \"1.33\", account: \"111122223333\", region: eu-west-1}\n"
	// change is a commit that parts from main, with files.
	change := func(files map[string]string) string {
		t.Helper()
		git("checkout", "--quiet", "-b", "change", "main")
		for name, text := range files {
			write(name, text)
		}
		git("add", ".")
		git("commit", "--quiet", "--message", "change")
		commit := git("rev-parse", "HEAD")
		git("checkout", "--quiet", "main")
		git("branch", "--quiet", "-D", "change")
		return commit
	}
	one := change(map[string]string{members + "shop-2.yaml": member("shop-2", made)})
	// The branch goes on, in the files of another cluster: that is no part of the change.
	write(members+"shop-5.yaml", member("shop-5", "secretManagerSecretName: shop-5\n"))
	git("add", ".")
	git("commit", "--quiet", "--message", "other")

	asked := []string{"one cluster", "a newer commit", "another branch", "a wrong token", "two clusters"} // with each forge's API
	for name, c := range map[string]struct {
		commit, newest string
		env            []string
		status         int
		says           string
	}{
		"one cluster":     {commit: one, says: "approved: one new cluster"},
		"another class":   {commit: one, env: []string{"CLASSES=existing"}, status: 1, says: "cluster shop-2 is of class eks-kro; allowed: existing"},
		"a newer commit":  {commit: one, newest: strings.Repeat("a", 40), status: 1, says: "there is a newer commit than " + one},
		"another branch":  {commit: one, env: []string{"BRANCH=release"}, status: 1, says: "it is not for the branch release"},
		"a wrong token":   {commit: one, env: []string{"GITHUB_TOKEN=x", "ARGOSY_APPROVE_TOKEN=x"}, status: 2, says: "the forge does not take it"},
		"no facts":        {commit: one, env: []string{"FACTS="}, status: 2, says: "FACTS: is not set: a file of argosy facts export, or none"},
		"no classes":      {commit: one, env: []string{"CLASSES="}, status: 2, says: "CLASSES"},
		"no whole commit": {commit: one[:12], status: 2, says: "is no whole name of a commit"},
		"a wrong command": {commit: one, env: []string{"ARGOSY=" + filepath.Join(dir, "none")}, status: 2, says: "has failed"},
		"two clusters": {
			commit: change(map[string]string{members + "shop-2.yaml": member("shop-2", made), members + "shop-3.yaml": member("shop-3", made)}),
			status: 1, says: "it changes more than one file",
		},
		"a cluster and a workflow": {
			commit: change(map[string]string{members + "shop-2.yaml": member("shop-2", made), ".github/workflows/x.yaml": "on: push\n"}),
			status: 1, says: "it changes more than one file",
		},
		"another file":       {commit: change(map[string]string{"addons/defaults/addons/metrics-server/values.yaml": "replicas: 3\n"}), status: 1, says: "change: metrics-server-shop-1"},
		"a change of one":    {commit: change(map[string]string{members + "shop-5.yaml": member("shop-5", "secretManagerSecretName: x\n")}), status: 1, says: "it does not add one file"},
		"a broken file":      {commit: change(map[string]string{members + "shop-2.yaml": member("shop-2", "provison: {}\n")}), status: 1, says: "[unknown-key]"},
		"a hub":              {commit: change(map[string]string{"fleet/fleet-members/hub-2/hub-2.yaml": member("hub-2", "fleet_member: hub-cluster\n")}), status: 1, says: "hub"},
		"a file for nothing": {commit: change(map[string]string{"notes.md": "x\n"}), status: 1, says: "no cluster is created"},
		"a conflict":         {commit: conflicting(git, write, members+"shop-1.yaml", member("shop-1", "secretManagerSecretName: y\n")), status: 1, says: "it does not merge without conflict"},
	} {
		for _, gitlab := range []bool{false, true} {
			if gitlab && !slices.Contains(asked, name) {
				continue
			}
			newest := c.newest
			if newest == "" {
				newest = c.commit
			}
			f := &approvals{gitlab: gitlab, newest: newest}
			server := httptest.NewServer(f)
			env := []string{"GITHUB_API_URL=" + server.URL, "GITHUB_REPOSITORY=acme/fleet", "GITHUB_TOKEN=s3cret"}
			want := []string{"APPROVE " + c.commit}
			if gitlab {
				env, want = []string{"CI_API_V4_URL=" + server.URL, "CI_PROJECT_ID=12", "ARGOSY_APPROVE_TOKEN=s3cret"}, []string{" " + c.commit}
			}
			if c.status != 0 {
				want = nil
			}
			head := git("rev-parse", "HEAD")
			cmd := exec.CommandContext(t.Context(), "sh", script, "7", c.commit)
			cmd.Dir = dir
			cmd.Env = slices.Concat(os.Environ(), []string{"BRANCH=main", "CLASSES=eks-kro", "FACTS=none", "ARGOSY=argosy"}, env, c.env)
			out, _ := cmd.CombinedOutput()
			server.Close()
			if status := cmd.ProcessState.ExitCode(); status != c.status || !strings.Contains(string(out), c.says) || !slices.Equal(f.taken, want) || strings.Contains(string(out), "s3cret") {
				t.Errorf("%s, GitLab %t: status %d, approvals %q; expected %d, %q and %q:\n%s", name, gitlab, status, f.taken, c.status, want, c.says, out)
			}
			if now := git("rev-parse", "HEAD"); now != head || git("status", "--porcelain") != "" {
				t.Errorf("%s: the checkout has changed", name)
			}
		}
	}
}

// conflicting is a commit that changes a file which main then changes otherwise.
func conflicting(git func(...string) string, write func(name, text string), file, text string) string {
	git("checkout", "--quiet", "-b", "change", "main~1")
	write(file, text)
	git("commit", "--quiet", "--all", "--message", "change")
	commit := git("rev-parse", "HEAD")
	git("checkout", "--quiet", "main")
	git("branch", "--quiet", "-D", "change")
	write(file, strings.Replace(text, "secretManagerSecretName: y", "secretManagerSecretName: z", 1))
	git("commit", "--quiet", "--all", "--message", "otherwise")
	return commit
}

// The jobs of docs/ci that approve, as they stand: they fetch the change of the request, approve
// it, and let what waits for a person wait. On GitLab it is then merged.
func TestApprovalJobs(t *testing.T) {
	repo, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir, git := approvalFleet(t)
	bare := filepath.Join(t.TempDir(), "origin.git")
	git("clone", "--quiet", "--bare", ".", bare)
	git("remote", "add", "origin", bare)
	git("checkout", "--quiet", "-b", "change")
	const file = "fleet/fleet-members/hub/shop-2.yaml"
	text := "clusterName: shop-2\ntenant: shop\nenvironment: dev\nsecretManagerSecretName: shop-2\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	git("add", ".")
	git("commit", "--quiet", "--message", "change")
	commit := git("rev-parse", "HEAD")
	git("push", "--quiet", "origin", "HEAD:refs/pull/7/head", "HEAD:refs/merge-requests/7/head")
	git("checkout", "--quiet", "main")
	git("branch", "--quiet", "-D", "change")
	for _, link := range []string{".argosy", "argosy"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, link, "docs"), 0o755))
		require.NoError(t, os.Symlink(filepath.Join(repo, "docs/ci"), filepath.Join(dir, link, "docs/ci")))
	}
	step := func(text []byte, at any) {
		t.Helper()
		require.NoError(t, yaml.Unmarshal([]byte(strings.Replace(string(text), "\non:", "\n\"on\":", 1)), at))
	}
	read := func(name string) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(repo, "docs/ci", name))
		require.NoError(t, err)
		return text
	}
	var github struct {
		Jobs map[string]struct {
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}
	step(read("github-actions-approve.yaml"), &github)
	var gitlab map[string]struct{ Script []string }
	step(read("gitlab-ci-approve.yaml"), &gitlab)
	steps := github.Jobs["approve"].Steps
	event := strings.NewReplacer("${{ github.token }}", "s3cret", "${{ github.event.workflow_run.head_repository.owner.login }}", "mallory",
		"${{ github.event.workflow_run.head_branch }}", "change", "${{ github.event.workflow_run.head_sha }}", commit, "${{ github.event.repository.default_branch }}", "main")

	for _, c := range []struct {
		classes string
		github  []string
		gitlab  []string
	}{
		{"existing", []string{"APPROVE " + commit}, []string{" " + commit, "merge " + commit + " true"}},
		{"eks-kro", nil, nil},
	} {
		for _, isGitLab := range []bool{false, true} {
			f := &approvals{gitlab: isGitLab, newest: commit}
			server := httptest.NewServer(f)
			run, want := steps[len(steps)-1].Run, c.github
			env := []string{"GITHUB_API_URL=" + server.URL, "GITHUB_REPOSITORY=acme/fleet"}
			for key, value := range steps[len(steps)-1].Env {
				env = append(env, key+"="+event.Replace(value))
			}
			if isGitLab {
				run, want = strings.Join(gitlab["fleet:approve"].Script, "\n"), c.gitlab
				env = []string{"CI_API_V4_URL=" + server.URL, "CI_PROJECT_ID=12", "ARGOSY_APPROVE_TOKEN=s3cret", "BRANCH=main"}
			}
			cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", run)
			cmd.Dir, cmd.Env = dir, slices.Concat(os.Environ(), env, []string{"CLASSES=" + c.classes, "FACTS=none", "ARGOSY=argosy"})
			out, err := cmd.CombinedOutput()
			server.Close()
			if err != nil || !slices.Equal(f.taken, want) {
				t.Errorf("%s, GitLab %t: %v: %q; expected %q:\n%s", c.classes, isGitLab, err, f.taken, want, out)
			}
		}
	}
}
