package docs

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// script runs a job's script in a folder, as the forge's runner does.
func script(t *testing.T, dir string, shell []string, text string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), shell[0], append(shell[1:], "-c", text)...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// checkout is a folder with this repository where a job has it, and a review.
func checkout(t *testing.T, at, review string) string {
	t.Helper()
	dir := t.TempDir()
	all, err := filepath.Abs(root)
	if err == nil {
		err = os.Symlink(all, filepath.Join(dir, at))
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, filepath.Dir(review)), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, review), []byte(reviewMarker+"### Plan\n"), 0o600)
	}
	require.NoError(t, err)
	return dir
}

// The step of the GitHub workflows that comments, as it stands: it finds the pull request of a fork
// by the branch and the commit, says nothing of an older commit, and fails if GitHub does.
func TestGitHubComments(t *testing.T) {
	t.Parallel()
	for file, at := range map[string]string{"docs/ci/github-actions-comment.yaml": ".argosy", ".github/workflows/fleet-comment.yaml": "."} {
		w, _ := readWorkflow(t, file)
		steps := w.Jobs["comment"].Steps
		step := steps[len(steps)-1]
		if step.Name != "Comment" || step.Shell != "bash" {
			t.Fatalf("%s: %+v", file, step)
		}
		f := &forge{}
		server := httptest.NewServer(f)
		t.Cleanup(server.Close)
		var dir string
		if at == "." { // the workflow's own checkout
			dir = checkout(t, "other", "review/comment.md")
			require.NoError(t, os.Symlink(filepath.Join(dir, "other", "docs"), filepath.Join(dir, "docs")))
		} else {
			dir = checkout(t, at, "review/comment.md")
		}
		run := func(token, sha string) (string, error) {
			event := strings.NewReplacer(
				"${{ github.token }}", token, "${{ github.event.workflow_run.head_repository.owner.login }}", "mallory",
				"${{ github.event.workflow_run.head_branch }}", branch, "${{ github.event.workflow_run.head_sha }}", sha,
				"${{ github.event.workflow_run.html_url }}", "https://forge.example/runs/1",
			)
			env := []string{"PATH=" + os.Getenv("PATH"), "GITHUB_API_URL=" + server.URL, "GITHUB_REPOSITORY=acme/fleet"}
			for k, v := range step.Env {
				env = append(env, k+"="+event.Replace(v))
			}
			return script(t, dir, []string{"bash", "--noprofile", "--norc", "-eo", "pipefail"}, step.Run, env...)
		}
		if out, err := run("s3cret", newest); err != nil || len(f.comments) != 1 || !strings.Contains(f.comments[0].Body, "### Plan\n\nOf commit "+newest) {
			t.Errorf("%s: %v: %s: %+v", file, err, out, f.comments)
		}
		if out, err := run("s3cret", "0lder"); err != nil || len(f.comments) != 1 || !strings.Contains(out, "nothing to say") {
			t.Errorf("%s: %v: %s: %+v", file, err, out, f.comments)
		}
		if out, err := run("other", newest); err == nil {
			t.Errorf("%s: nothing fails without the right token: %s", file, out)
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
	dir := checkout(t, "argosy", "review/31/comment.md")
	tools := filepath.Join(dir, "tools") // what a container has, and this repository from elsewhere
	text := map[string]string{"apk": "exit 0", "git": `case "$*" in clone*) ln -s "$ROOT" argosy ;; "-C argosy checkout --quiet --detach 0123") ;; *) exit 1 ;; esac`}
	require.NoError(t, os.Mkdir(tools, 0o700))
	for name, does := range text {
		require.NoError(t, os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+does+"\n"), 0o700))
	}
	all, err := filepath.Abs(root)
	require.NoError(t, err)
	f := &forge{gitlab: true}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	env := []string{
		"PATH=" + tools + ":" + os.Getenv("PATH"), "ROOT=" + all, "ARGOSY_COMMIT=0123", "CI_API_V4_URL=" + server.URL, "CI_PIPELINE_ID=31",
		"CI_MERGE_REQUEST_IID=7", "CI_MERGE_REQUEST_PROJECT_ID=12", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main", "CI_MERGE_REQUEST_DIFF_BASE_SHA=ba5e",
		"CI_COMMIT_SHA=" + newest, "ARGOSY_COMMENT_TOKEN=s3cret", "RUN=https://forge.example/runs/31",
	}
	shell := []string{"sh", "-e"}
	comment := strings.Join(jobs["fleet:comment"].Script, "\n")
	if out, err := script(t, dir, shell, comment, append(env, "CI_PROJECT_ID=12")...); err != nil || len(f.comments) != 1 || !strings.Contains(f.comments[0].Body, "### Plan\n\nOf commit "+newest) {
		t.Errorf("%v: %s: %+v", err, out, f.comments)
	}
	lines := slices.Clone(jobs["fleet:review"].Script)
	last := len(lines) - 1
	command, arguments, ok := strings.Cut(lines[last], " ")
	if !ok || command != "argosy/docs/ci/argosy-review.sh" {
		t.Fatalf("%q", lines)
	}
	lines[last] = "echo " + arguments
	for project, want := range map[string]string{"12": "origin/main review/31\n", "13": "ba5e review/31\n"} {
		if out, err := script(t, dir, shell, strings.Join(lines, "\n"), append(env, "CI_PROJECT_ID="+project)...); err != nil || out != want {
			t.Errorf("project %s: %v: %q, want %q", project, err, out, want)
		}
	}
}
