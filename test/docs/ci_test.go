package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestReleaseTestsBesideSigning: of a release's jobs the one that may write runs no test and no
// build of the release. It signs the files whose digest the job that builds them has computed, and
// both that one and the tests may only read.
func TestReleaseTestsBesideSigning(t *testing.T) {
	t.Parallel()
	const file = ".github/workflows/release.yaml"
	release, _ := readWorkflow(t, file)
	if release.Permissions == nil || len(release.Permissions) > 0 {
		t.Errorf("permissions %v", release.Permissions)
	}
	runs := func(name string) (all string) {
		for _, s := range release.Jobs[name].Steps {
			all += s.Run + "\n"
			if s.Uses != "" && !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(s.Uses) {
				t.Errorf("job %s does not pin %s by commit", name, s.Uses)
			}
			if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != false {
				t.Errorf("job %s leaves the token in the checkout", name)
			}
			if strings.HasPrefix(s.Uses, "actions/setup-go@") && s.With["cache"] != false {
				t.Errorf("job %s takes what another run has cached", name)
			}
		}
		return all
	}
	for name, j := range release.Jobs {
		all := runs(name)
		for permission, level := range j.Permissions {
			if level != "read" && name != "publish" {
				t.Errorf("job %s may %s %s", name, level, permission)
			}
		}
		for _, c := range []struct{ part, job string }{
			{"make release-test", "test"},
			{"make race", "test"},
			{`make release VERSION="$VERSION"`, "build"},
			{"sha256sum release.tar", "build"},
			{`"$DIGEST  release.tar" | sha256sum --check`, "publish"},
			{"make release-sign", "publish"},
			{"make release-push", "publish"},
			{"gh release create", "publish"},
		} {
			if has := strings.Contains(all, c.part); has != (name == c.job) {
				t.Errorf("job %s runs %s: %t", name, c.part, has)
			}
		}
	}
	if needs := release.Jobs["publish"].Needs; !slices.Contains(needs, any("test")) || !slices.Contains(needs, any("build")) {
		t.Errorf("publish needs %v", needs)
	}
}

// job is as much of a workflow's job as the test looks at.
type job struct {
	Permissions map[string]string
	Needs       needs
	Steps       []workflowStep
}

// workflowStep is a step of a job.
type workflowStep struct {
	Name, Uses, Run, Shell string
	With                   map[string]any
	Env                    map[string]string
}

// needs are the jobs that one waits for: a name, or a list of them.
type needs []any

func (n *needs) UnmarshalJSON(data []byte) error {
	var list []any
	if json.Unmarshal(data, &list) != nil {
		var one any
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		list = []any{one}
	}
	*n = list
	return nil
}

// workflow is as much of one as the tests look at.
type workflow struct {
	On          map[string]any
	Permissions map[string]string
	Jobs        map[string]job
}

func readWorkflow(t *testing.T, file string) (w workflow, text string) {
	t.Helper()
	text = strings.Replace(read(t, file), "\non:", "\n\"on\":", 1) // YAML 1.1 takes it for a boolean
	require.NoError(t, yaml.Unmarshal([]byte(text), &w), "%s", file)
	return w, text
}

// The workflows give each job the rights that it needs and no more: what runs the change may read
// alone, and what may write runs nothing of it. No text of the change is put into a script.
func TestWorkflowsAreCareful(t *testing.T) {
	t.Parallel()
	for _, folder := range []struct{ review, comment string }{
		{"docs/ci/github-actions.yaml", "docs/ci/github-actions-comment.yaml"},
		{".github/workflows/fleet.yaml", ".github/workflows/fleet-comment.yaml"},
		{"docs/ci/github-actions.yaml", "docs/ci/github-actions-approve.yaml"},
	} {
		for _, file := range []string{folder.review, folder.comment} {
			workflow, text := readWorkflow(t, file)
			if workflow.Permissions == nil || len(workflow.Permissions) > 0 || len(workflow.Jobs) == 0 {
				t.Errorf("%s: permissions %v, %d jobs", file, workflow.Permissions, len(workflow.Jobs))
			}
			if _, is := workflow.On["pull_request_target"]; is || strings.Contains(text, "pull_request_target") {
				t.Errorf("%s: pull_request_target gives a fork's change rights", file)
			}
			_, onChange := workflow.On["pull_request"]
			for name, j := range workflow.Jobs {
				for permission, level := range j.Permissions {
					if level != "read" && (onChange && permission != "security-events" || !onChange && permission != "pull-requests") {
						t.Errorf("%s: job %s may %s %s", file, name, level, permission)
					}
				}
				writes := slices.ContainsFunc(slices.Collect(maps.Values(j.Permissions)), func(level string) bool { return level != "read" })
				for _, s := range j.Steps {
					if s.Uses != "" && !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(s.Uses) {
						t.Errorf("%s: job %s does not pin %s by commit", file, name, s.Uses)
					}
					if s.With["repository"] != nil && !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(fmt.Sprint(s.With["ref"])) {
						t.Errorf("%s: job %s does not pin %v by commit", file, name, s.With["repository"])
					}
					if writes && onChange && (s.Run != "" || strings.HasPrefix(s.Uses, "actions/checkout@")) {
						t.Errorf("%s: job %s may write, and runs something of the change", file, name)
					}
					if strings.Contains(s.Run, "${{") {
						t.Errorf("%s: job %s has an expression in a script", file, name)
					}
					if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != false {
						t.Errorf("%s: job %s leaves the token in the checkout", file, name)
					}
					if ref, _ := s.With["ref"].(string); !onChange && strings.HasPrefix(s.Uses, "actions/checkout@") && strings.Contains(ref, "workflow_run") {
						t.Errorf("%s: job %s checks out the change, and may write", file, name)
					}
				}
			}
			if onChange && workflow.Jobs["review"].Steps[0].With["fetch-depth"] != float64(0) {
				t.Errorf("%s: the plan needs the whole history", file)
			}
		}
	}
	var gitlab map[string]struct {
		Variables map[string]string
		Script    []string
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "docs/ci/gitlab-ci.yaml")), &gitlab))
	if gitlab["fleet:review"].Variables["GIT_DEPTH"] != "0" || gitlab["fleet:comment"].Variables["GIT_STRATEGY"] != "none" || len(gitlab["fleet:comment"].Script) == 0 {
		t.Errorf("%+v", gitlab)
	}
	var hooks []map[string]any
	if err := yaml.Unmarshal([]byte(read(t, ".pre-commit-hooks.yaml")), &hooks); err != nil || len(hooks) != 1 || hooks[0]["pass_filenames"] != false || hooks[0]["always_run"] != true {
		t.Errorf("%v %v", hooks, err)
	}
}
