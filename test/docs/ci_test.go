package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const reviewMarker = "<!-- argosy-review -->\n"

// newest is the newest commit of the change.
const newest = "c0ffee0000000000000000000000000000000000"

// branch is the change's, of a fork of mallory's; its name is no command.
const branch = `x"; exit 1; $(exit 1) '&state=all`

// forge has the comments of pull request 7, as GitHub or GitLab gives and takes them.
type forge struct {
	gitlab bool

	mu       sync.Mutex
	comments []forgeComment
	refuses  bool
}

type forgeComment struct {
	ID           int
	Author, Body string
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list, one, me := "/repos/acme/fleet/issues/7/comments", "/repos/acme/fleet/issues/comments/", "github-actions[bot]"
	change := map[string]any{"head": map[string]string{"sha": newest}}
	authorized, update := r.Header.Get("Authorization") == "Bearer s3cret", http.MethodPatch
	if f.gitlab {
		list, one, me = "/projects/12/merge_requests/7/notes", "/projects/12/merge_requests/7/notes/", "project_bot"
		change = map[string]any{"sha": newest}
		authorized, update = r.Header.Get("PRIVATE-TOKEN") == "s3cret", http.MethodPut
	}
	var sent struct{ Body string }
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	id, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, one))
	switch {
	case !authorized:
		w.WriteHeader(http.StatusUnauthorized)
	case f.refuses && r.Method != http.MethodGet:
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodGet && (r.URL.Path == "/repos/acme/fleet/pulls/7" || r.URL.Path == "/projects/12/merge_requests/7"):
		_ = json.NewEncoder(w).Encode(change)
	case r.URL.Path == "/repos/acme/fleet/pulls" && r.URL.Query().Get("state") == "open":
		list := []map[string]any{{"number": 6, "head": map[string]string{"sha": "0ther"}}}
		if r.URL.Query().Get("head") == "mallory:"+branch {
			list = append(list, map[string]any{"number": 7, "head": change["head"]})
		}
		_ = json.NewEncoder(w).Encode(list)
	case r.URL.Path == "/user" && f.gitlab:
		fmt.Fprintf(w, `{"username":%q}`, me)
	case r.Method == http.MethodGet && r.URL.Path == list:
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		out := []map[string]any{}
		for _, c := range f.comments[min((page-1)*size, len(f.comments)):min(page*size, len(f.comments))] {
			author := map[string]string{"login": c.Author}
			if f.gitlab {
				author = map[string]string{"username": c.Author}
			}
			out = append(out, map[string]any{"id": c.ID, map[bool]string{false: "user", true: "author"}[f.gitlab]: author, "body": c.Body})
		}
		_ = json.NewEncoder(w).Encode(out)
	case r.Method == http.MethodPost && r.URL.Path == list:
		f.comments = append(f.comments, forgeComment{len(f.comments) + 1, me, sent.Body})
		w.WriteHeader(http.StatusCreated)
	case r.Method == update && id > 0 && id <= len(f.comments):
		f.comments[id-1].Body = sent.Body
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// docs/ci/argosy-comment.sh writes one comment and updates it, its own and no other's, however many
// there are; it says so when there is no review; and what is not taken is a failure.
func TestReviewComment(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"sh", "curl", "jq"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Skipf("there is no %s here", command)
		}
	}
	for _, gitlab := range []bool{false, true} {
		f := &forge{gitlab: gitlab}
		for i := range 120 {
			f.comments = append(f.comments, forgeComment{i + 1, "somebody", reviewMarker + "mine!"})
		}
		server := httptest.NewServer(f)
		t.Cleanup(server.Close)
		env := []string{"PATH=" + os.Getenv("PATH"), "GITHUB_API_URL=" + server.URL, "GITHUB_REPOSITORY=acme/fleet", "GITHUB_TOKEN=s3cret"}
		if gitlab {
			env = []string{"PATH=" + os.Getenv("PATH"), "CI_API_V4_URL=" + server.URL, "CI_PROJECT_ID=12", "ARGOSY_COMMENT_TOKEN=s3cret"}
		}
		comment := func(number, text string, more ...string) (string, error) {
			file := filepath.Join(t.TempDir(), "comment.md")
			if text != "" {
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			}
			cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "docs/ci/argosy-comment.sh"), number, file)
			cmd.Env = slices.Concat(env, more)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		for _, text := range []string{"first\n", "second `$(x)` \"quoted\"\n", "third " + strings.Repeat("ü", 70_000)} {
			if out, err := comment("7", reviewMarker+text); err != nil || out != "" {
				t.Fatalf("%v: %s", err, out)
			}
			if len(f.comments) != 121 {
				t.Fatalf("%d comments", len(f.comments))
			}
			got := f.comments[120].Body
			if want := reviewMarker + text; len(text) < 1000 && got != want {
				t.Errorf("got %q, want %q", got, want)
			} else if n := len([]rune(got)); n > 65_000 || len(text) > 1000 && (n < 64_000 || !strings.Contains(got, "left out")) {
				t.Errorf("%d characters", n)
			}
		}
		// A run that left no review is reported; what was reviewed is said in each; and of an older
		// commit than the newest nothing is.
		of := []string{"COMMIT=" + newest, "RUN=https://forge.example/runs/1"}
		foot := "\nOf commit " + newest + ", [run](https://forge.example/runs/1)\n"
		for text, want := range map[string]string{"": "### No review\n", reviewMarker + "### Plan\n": "### Plan\n"} {
			out, err := comment("7", text, of...)
			if got := f.comments[120].Body; err != nil || !strings.HasPrefix(got, reviewMarker+want) || !strings.HasSuffix(got, foot) {
				t.Errorf("%v: %s: got %q, want %q and %q", err, out, got, want, foot)
			}
		}
		before := f.comments[120].Body
		if out, err := comment("7", reviewMarker+"older\n", "COMMIT=0ld"); err != nil || !strings.Contains(out, "newer commit") || f.comments[120].Body != before {
			t.Errorf("%v: %s: %q", err, out, f.comments[120].Body)
		}
		if len(f.comments) != 121 {
			t.Errorf("%d comments", len(f.comments))
		}
		for i, c := range f.comments[:120] {
			if c.Body != reviewMarker+"mine!" {
				t.Errorf("comment %d of somebody's was changed: %.40q", i, c.Body)
			}
		}
		for want, fails := range map[string]func() (string, error){
			"is no number":       func() (string, error) { return comment("7/../8", reviewMarker) },
			"does not begin":     func() (string, error) { return comment("7", "something else") },
			"does not take it":   func() (string, error) { return comment("8", reviewMarker) },
			"is not set":         func() (string, error) { return comment("7", reviewMarker, "GITHUB_TOKEN=", "ARGOSY_COMMENT_TOKEN=") },
			"the forge does not": func() (string, error) { f.refuses = true; return comment("7", reviewMarker) },
		} {
			if out, err := fails(); err == nil || !strings.Contains(out, want) || strings.Contains(out, "s3cret") {
				t.Errorf("%s: %v: %s", want, err, out)
			}
			f.refuses = false
		}
	}
}

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
	Steps       []struct {
		Name, Uses, Run, Shell string
		With                   map[string]any
		Env                    map[string]string
	}
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
