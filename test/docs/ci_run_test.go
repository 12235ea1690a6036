package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// newest is the newest commit of a change, and branch its branch, whose name is no command.
const (
	newest = "c0ffee0000000000000000000000000000000000"
	branch = `x"; exit 1; $(exit 1) '&state=all`
)

// script runs a job's script in a folder, as the forge's runner does, where argosy writes its
// arguments, a line each, in place of what it would do, and a comment. It returns them.
func script(t *testing.T, dir string, shell []string, text, argosy string, env ...string) (arguments []string) {
	t.Helper()
	program := filepath.Join(dir, argosy)
	require.NoError(t, os.MkdirAll(filepath.Dir(program), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "review"), 0o700))
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$HERE/arguments\"\necho plan >\"$HERE/review/comment.md\"\nexit \"${STATUS:-0}\"\n"), 0o700))
	cmd := exec.CommandContext(t.Context(), shell[0], slices.Concat(shell[1:], []string{"-c", text})...)
	cmd.Dir, cmd.Env = dir, slices.Concat(env, []string{"HERE=" + dir})
	if out, err := cmd.CombinedOutput(); err != nil && !slices.Contains(env, "STATUS=1") {
		t.Fatalf("%v: %s", err, out)
	} else if err == nil && slices.Contains(env, "STATUS=1") {
		t.Errorf("a finding is no failure: %s", out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "arguments"))
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// The steps of the GitHub workflows, as they stand: the review's status is the job's, and its
// comment the job's summary, too; the comment is of the branch and the commit that GitHub names.
func TestGitHubSteps(t *testing.T) {
	t.Parallel()
	event := strings.NewReplacer(
		"${{ github.token }}", "s3cret", "${{ github.event.workflow_run.head_repository.owner.login }}", "mallory",
		"${{ github.event.workflow_run.head_branch }}", branch, "${{ github.event.workflow_run.head_sha }}", newest,
		"${{ github.event.workflow_run.html_url }}", "https://forge.example/runs/1", "${{ github.base_ref }}", "main",
	)
	for file, want := range map[string]struct {
		job, step, argosy string
		arguments         []string
	}{
		"docs/ci/github-actions.yaml":          {"review", "Review", ".argosy/bin/argosy", []string{"review", "origin/main", "--facts", "none", "--out", "review"}},
		".github/workflows/fleet.yaml":         {"review", "Review", "bin/argosy", []string{"review", "origin/main", "--facts", "examples/facts.yaml", "--out", "review"}},
		"docs/ci/github-actions-comment.yaml":  {"comment", "Comment", ".argosy/bin/argosy", []string{"review", "post", "review/comment.md", "--head", "mallory:" + branch, "--commit", newest, "--run", "https://forge.example/runs/1"}},
		".github/workflows/fleet-comment.yaml": {"comment", "Comment", "bin/argosy", []string{"review", "post", "review/comment.md", "--head", "mallory:" + branch, "--commit", newest, "--run", "https://forge.example/runs/1"}},
	} {
		w, _ := readWorkflow(t, file)
		steps := w.Jobs[want.job].Steps
		i := slices.IndexFunc(steps, func(s workflowStep) bool { return s.Name == want.step })
		if i < 0 {
			t.Fatalf("%s: no step %s", file, want.step)
		}
		for _, status := range []string{"0", "1"} {
			dir := t.TempDir()
			env := []string{"PATH=" + os.Getenv("PATH"), "STATUS=" + status, "GITHUB_STEP_SUMMARY=" + filepath.Join(dir, "summary.md")}
			for k, v := range steps[i].Env {
				env = append(env, k+"="+event.Replace(v))
			}
			if got := script(t, dir, []string{"bash", "--noprofile", "--norc", "-eo", "pipefail"}, steps[i].Run, want.argosy, env...); !slices.Equal(got, want.arguments) {
				t.Errorf("%s: %q, want %q", file, got, want.arguments)
			}
			if summary, err := os.ReadFile(filepath.Join(dir, "summary.md")); want.step == "Review" && (err != nil || string(summary) != "plan\n") {
				t.Errorf("%s: the summary is %q, %v", file, summary, err)
			}
		}
	}
}

// The scripts of the GitLab jobs, as they stand: what is compared with is the target, and for a
// fork's own pipeline, which does not have it, the commit that GitLab names; the comment is of this
// pipeline's review.
func TestGitLabScripts(t *testing.T) {
	t.Parallel()
	var jobs map[string]struct {
		Variables map[string]string
		Script    []string
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "docs/ci/gitlab-ci.yaml")), &jobs))
	env := []string{
		"CI_PIPELINE_ID=31", "CI_MERGE_REQUEST_PROJECT_ID=12", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main", "CI_MERGE_REQUEST_DIFF_BASE_SHA=ba5e",
		"CI_COMMIT_SHA=" + newest, "CI_PIPELINE_URL=https://forge.example/runs/31", "FACTS=none", "ARGOSY_COMMIT=0123",
	}
	shell := []string{"sh", "-e"}
	for _, c := range []struct{ job, project, want string }{
		{"fleet:review", "12", "review origin/main --facts none --out review/31"},
		{"fleet:review", "13", "review ba5e --facts none --out review/31"},
		{"fleet:comment", "12", "review post review/31/comment.md --commit " + newest + " --run https://forge.example/runs/31"},
	} {
		dir := t.TempDir()
		tools := filepath.Join(dir, "tools") // what a container has
		require.NoError(t, os.Mkdir(tools, 0o700))
		for name, does := range map[string]string{"rm": `[ "$*" = "-rf argosy" ]`, "git": `case "$*" in "clone --quiet https://github.com/argosy-hub/argosy argosy" | "-C argosy checkout --quiet --detach 0123") ;; *) exit 1 ;; esac`, "make": `[ "$*" = "-C argosy bin/argosy" ]`} {
			require.NoError(t, os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+does+"\n"), 0o700))
		}
		got := script(t, dir, shell, strings.Join(jobs[c.job].Script, "\n"), "argosy/bin/argosy", append(env, "PATH="+tools+":"+os.Getenv("PATH"), "CI_PROJECT_ID="+c.project)...)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s of project %s: %q, want %q", c.job, c.project, got, c.want)
		}
	}
}
