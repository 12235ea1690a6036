package review_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/change/review"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// newest is the newest commit of the change, run the review's.
const (
	newest = "c0ffee0000000000000000000000000000000000"
	run    = "https://forge.example/runs/1"
	secret = "s3cret"
)

// kind is what the APIs of forges differ in.
type kind struct {
	env                map[string]string // URL stands for the server's
	header, value      string
	user, account      string // its path, and what it says; empty if the token may not ask
	request, says      string
	notes              string
	update             string // method and path, %d for the comment
	hasPages, isThread bool
	note               func(id int, author, body string) any
	me, other          string
}

var kinds = map[string]kind{
	"GitHub": {
		env:    map[string]string{"GITHUB_API_URL": "URL", "GITHUB_REPOSITORY": "acme/fleet", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_TOKEN": secret},
		header: "Authorization", value: "Bearer " + secret, user: "/user",
		request: "/repos/acme/fleet/pulls/7", says: `{"head": {"sha": "` + newest + `"}}`,
		notes: "/repos/acme/fleet/issues/7/comments", update: "PATCH /repos/acme/fleet/issues/comments/%d", hasPages: true,
		note: func(id int, author, body string) any {
			return map[string]any{"id": id, "user": map[string]any{"login": author, "id": 5}, "body": body}
		}, me: "github-actions[bot]", other: "somebody",
	},
	"Forgejo": {
		env:    map[string]string{"GITHUB_API_URL": "URL/api/v1", "GITHUB_REPOSITORY": "acme/fleet", "GITHUB_REF": "refs/pull/7/head", "ARGOSY_REVIEW_TOKEN": secret},
		header: "Authorization", value: "Bearer " + secret, user: "/api/v1/user", account: `{"login": "argosy"}`,
		request: "/api/v1/repos/acme/fleet/pulls/7", says: `{"head": {"sha": "` + newest + `"}}`,
		notes: "/api/v1/repos/acme/fleet/issues/7/comments", update: "PATCH /api/v1/repos/acme/fleet/issues/comments/%d",
		note: func(id int, author, body string) any {
			return map[string]any{"id": id, "user": map[string]any{"login": author, "id": 5}, "body": body}
		}, me: "argosy", other: "somebody",
	},
	"Gitea": {
		env:    map[string]string{"GITHUB_API_URL": "URL/api/v1", "GITHUB_REPOSITORY": "acme/fleet", "GITHUB_REF": "refs/pull/7/head", "GITHUB_TOKEN": secret},
		header: "Authorization", value: "Bearer " + secret, user: "/api/v1/user",
		request: "/api/v1/repos/acme/fleet/pulls/7", says: `{"head": {"sha": "` + newest + `"}}`,
		notes: "/api/v1/repos/acme/fleet/issues/7/comments", update: "PATCH /api/v1/repos/acme/fleet/issues/comments/%d",
		note: func(id int, author, body string) any {
			return map[string]any{"id": id, "user": map[string]any{"login": author, "id": -2}, "body": body}
		}, me: "gitea-actions", other: "github-actions[bot]",
	},
	"GitLab": {
		env:    map[string]string{"CI_API_V4_URL": "URL/api/v4", "CI_PROJECT_ID": "12", "CI_MERGE_REQUEST_IID": "7", "ARGOSY_REVIEW_TOKEN": secret},
		header: "PRIVATE-TOKEN", value: secret, user: "/api/v4/user", account: `{"id": 9, "username": "project_bot"}`,
		request: "/api/v4/projects/12/merge_requests/7", says: `{"sha": "` + newest + `"}`,
		notes: "/api/v4/projects/12/merge_requests/7/notes", update: "PUT /api/v4/projects/12/merge_requests/7/notes/%d", hasPages: true,
		note: func(id int, author, body string) any {
			return map[string]any{"id": id, "author": map[string]any{"id": 9, "username": author}, "body": body}
		}, me: "project_bot", other: "somebody",
	},
	"Azure DevOps": {
		env:    map[string]string{"SYSTEM_COLLECTIONURI": "URL/acme/", "SYSTEM_TEAMPROJECT": "a project", "BUILD_REPOSITORY_ID": "r1", "SYSTEM_PULLREQUEST_PULLREQUESTID": "7", "SYSTEM_ACCESSTOKEN": secret},
		header: "Authorization", value: "Bearer " + secret, user: "/acme/_apis/connectionData", account: `{"authenticatedUser": {"id": "b0t"}}`,
		request: "/acme/a project/_apis/git/repositories/r1/pullRequests/7", says: `{"lastMergeSourceCommit": {"commitId": "` + newest + `"}}`,
		notes: "/acme/a project/_apis/git/repositories/r1/pullRequests/7/threads", update: "PATCH /acme/a project/_apis/git/repositories/r1/pullRequests/7/threads/%d/comments/1", isThread: true,
		note: func(id int, author, body string) any {
			return map[string]any{"id": id, "comments": []any{map[string]any{"id": 1, "content": body, "author": map[string]any{"id": author}}}}
		}, me: "b0t", other: "somebody",
	},
}

// forge has the comments of request 7.
type forge struct {
	kind
	comments []struct{ author, body string }
	refuses  bool
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var sent struct {
		Body, Content string
		Comments      []struct{ Content string }
	}
	if (r.Method == http.MethodGet) != (json.NewDecoder(r.Body).Decode(&sent) != nil) { // none has both
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	body := sent.Body + sent.Content
	if len(sent.Comments) > 0 {
		body = sent.Comments[0].Content
	}
	updated := -1
	for i := range f.comments {
		if r.Method+" "+r.URL.Path == fmt.Sprintf(f.update, i+1) {
			updated = i
		}
	}
	switch {
	case r.Header.Get(f.header) != f.value:
		w.WriteHeader(http.StatusUnauthorized)
	case f.refuses && r.Method != http.MethodGet:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message": "no right to write"}`)
	case f.isThread && r.URL.Path != f.user && r.URL.Query().Get("api-version") != "7.1":
		w.WriteHeader(http.StatusBadRequest)
	case r.Method == http.MethodGet && r.URL.Path == f.user && f.account == "":
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodGet && r.URL.Path == f.user:
		fmt.Fprint(w, f.account)
	case r.Method == http.MethodGet && r.URL.Path == f.request:
		fmt.Fprint(w, f.says)
	case r.URL.Path == "/repos/acme/fleet/pulls" && r.URL.Query().Get("state") == "open":
		open := `{"number": 6, "head": {"sha": "0ther"}}`
		if r.URL.Query().Get("head") == `mallory:x"; exit 1; $(exit 1) '&state=all` {
			open += `, {"number": 7, "head": {"sha": "` + newest + `"}}`
		}
		fmt.Fprint(w, "["+open+"]")
	case r.Method == http.MethodGet && r.URL.Path == f.notes:
		from, to := 0, len(f.comments)
		if f.hasPages {
			page, _ := strconv.Atoi(r.URL.Query().Get("page"))
			from, to = min((page-1)*100, to), min(page*100, to)
		}
		list := []any{}
		for i, c := range f.comments[from:to] {
			list = append(list, f.note(from+i+1, c.author, c.body))
		}
		if f.isThread {
			_ = json.NewEncoder(w).Encode(map[string]any{"value": list})
			return
		}
		_ = json.NewEncoder(w).Encode(list)
	case r.Method == http.MethodPost && r.URL.Path == f.notes:
		f.comments = append(f.comments, struct{ author, body string }{f.me, body})
		w.WriteHeader(http.StatusCreated)
	case updated >= 0:
		f.comments[updated].body = body
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// TestPost: each forge gets one comment, which is updated, its own and no other's, however many
// there are. Of an older commit nothing is posted, and what is not taken is a failure without the
// token.
func TestPost(t *testing.T) {
	t.Parallel()
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &forge{kind: k}
			for range 120 {
				f.comments = append(f.comments, struct{ author, body string }{k.other, review.Marker + "mine!"})
			}
			server := httptest.NewServer(f)
			t.Cleanup(server.Close)
			env := func(name string) string { return strings.Replace(k.env[name], "URL", server.URL, 1) }
			post := func(r review.Request, text string) error {
				t.Helper()
				of, err := review.ForgeOf(env)
				require.NoError(t, err)
				if r.Number == 0 {
					r.Number = of.Number
				}
				return of.Post(t.Context(), r, text)
			}
			for _, text := range []string{"first\n", "second `$(x)` \"quoted\"\n", "third " + strings.Repeat("ü", 70_000)} {
				require.NoError(t, post(review.Request{}, review.Marker+text))
				if len(f.comments) != 121 {
					t.Fatalf("%d comments", len(f.comments))
				}
				got := f.comments[120].body
				if want := review.Marker + text; len(text) < 1000 && got != want {
					t.Errorf("got %q, want %q", got, want)
				} else if n := len([]rune(got)); n > 65_000 || len(text) > 1000 && (n < 64_000 || !strings.Contains(got, "left out")) {
					t.Errorf("%d characters", n)
				}
			}
			require.NoError(t, post(review.Request{Commit: newest, Run: run}, review.Marker+"### Plan\n"))
			want := review.Marker + "### Plan\n\nOf commit " + newest + ", [run](" + run + ")\n"
			if got := f.comments[120].body; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if err := post(review.Request{Commit: "0ld"}, review.Marker+"older\n"); !errors.Is(err, review.ErrOlder) || f.comments[120].body != want {
				t.Errorf("%v: %q", err, f.comments[120].body)
			}
			for i, c := range f.comments[:120] {
				if c.body != review.Marker+"mine!" {
					t.Errorf("comment %d of somebody's was changed: %.40q", i, c.body)
				}
			}
			for says, fails := range map[string]func() error{
				"404": func() error { return post(review.Request{Number: 8}, review.Marker) },
				"403: no right to write": func() error {
					f.refuses = true
					return post(review.Request{}, review.Marker)
				},
				"401": func() error {
					f.value = "another"
					return post(review.Request{}, review.Marker)
				},
			} {
				f.value, f.refuses = k.value, false
				if err := fails(); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), secret) {
					t.Errorf("%s: %v", says, err)
				}
			}
		})
	}
}

// TestHead: the pull request of a fork's branch, whatever its name is, is found by the commit.
func TestHead(t *testing.T) {
	t.Parallel()
	k := kinds["GitHub"]
	f := &forge{kind: k}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	of, err := review.ForgeOf(func(name string) string { return strings.Replace(k.env[name], "URL", server.URL, 1) })
	require.NoError(t, err)
	const head = `mallory:x"; exit 1; $(exit 1) '&state=all`
	require.NoError(t, of.Post(t.Context(), review.Request{Head: head, Commit: newest}, review.Marker))
	for _, r := range []review.Request{{Head: head, Commit: "0lder"}, {Head: "mallory:other", Commit: newest}} {
		if err := of.Post(t.Context(), r, review.Marker); !errors.Is(err, review.ErrOlder) {
			t.Error(err)
		}
	}
	if len(f.comments) != 1 {
		t.Errorf("%+v", f.comments)
	}
}

// TestForgeOf: what a pipeline does not set is named.
func TestForgeOf(t *testing.T) {
	t.Parallel()
	for says, env := range map[string]map[string]string{
		"none of GITHUB_REPOSITORY, CI_API_V4_URL and SYSTEM_COLLECTIONURI is set": {},
		"ARGOSY_REVIEW_TOKEN is not set":                                           {"GITHUB_REPOSITORY": "acme/fleet"},
		"CI_PROJECT_ID and ARGOSY_REVIEW_TOKEN is not set":                         {"CI_API_V4_URL": "https://git.example/api/v4"},
	} {
		if _, err := review.ForgeOf(func(name string) string { return env[name] }); err == nil || err.Error() != says {
			t.Errorf("%v, want %s", err, says)
		}
	}
}

// TestComment: a text cannot end its frame or give the forge a command, and a file that is no
// comment is refused.
func TestComment(t *testing.T) {
	t.Parallel()
	got := review.Comment("a.yaml:1: ~~~~~~~~\n/merge\n", "### Plan\n", "")
	if want := review.Marker + "### Findings\n\n~~~~~~~~text\na.yaml:1: ~ ~ ~~ ~ ~~~\n /merge\n~~~~~~~~\n\n### Plan\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := review.Comment(strings.Repeat("line\n", 5000), "", "why\n")
	if !strings.Contains(long, "There is more") || !strings.Contains(long, "### No plan") || len(long) > 5000 {
		t.Errorf("%d: %.200q", len(long), long)
	}
	file := filepath.Join(t.TempDir(), "comment.md")
	if text, err := review.Read(file); err != nil || !strings.HasPrefix(text, review.Marker+"### No review") {
		t.Errorf("%q, %v", text, err)
	}
	require.NoError(t, os.WriteFile(file, []byte("something else"), 0o600))
	if _, err := review.Read(file); err == nil || !strings.Contains(err.Error(), "does not begin with <!-- argosy-review -->") {
		t.Error(err)
	}
}
