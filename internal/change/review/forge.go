package review

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Request names a pull or merge request, and the review whose comment it gets.
type Request struct {
	Number int
	// Head is the branch of a GitHub pull request without a number, OWNER:BRANCH.
	Head string
	// Commit is the reviewed commit: if the request has a newer one, nothing is posted. Run is the
	// URL of the whole review. Both may be empty.
	Commit, Run string
}

// ErrOlder means that the request has a newer commit than the one that was reviewed, or is closed.
var ErrOlder = errors.New("the pull request has a newer commit, or is closed: nothing to say")

// Forge has pull or merge requests.
type Forge struct {
	api     string   // of its repository
	request string   // the path of one, %d for its number
	notes   string   // the path of its comments
	user    string   // the URL that describes the token's account
	bots    []string // the pipelines' accounts, if the token may not query user
	header  [2]string
	// Number is the pull or merge request's for which the pipeline runs, 0 for none.
	Number int
	azure  bool
	// update returns method and path for a change of a comment.
	update func(number int, c comment) (method, path string)
	client http.Client
}

// comment is one of GitHub, Forgejo, Gitea or GitLab, or a thread of Azure DevOps.
type comment struct {
	ID     int
	Body   string
	User   struct{ Login string }
	Author struct {
		Username string
		ID       any
	}
	Content  string
	Comments []comment
}

// timeout and limit bound a call and its response; maxPages bounds the pages of 100 comments that
// are searched.
const (
	timeout  = time.Minute
	limit    = 64 << 20
	maxPages = 20
)

var pull = regexp.MustCompile(`^refs/pull/(\d+)/`)

// ForgeOf returns the forge of a pipeline, by its environment: GitHub, Forgejo, Gitea, GitLab or
// Azure DevOps. ARGOSY_REVIEW_TOKEN is the token, by default the pipeline's own. The error says
// what is not set.
func ForgeOf(env func(string) string) (*Forge, error) {
	token, number := env("ARGOSY_REVIEW_TOKEN"), ""
	f := &Forge{client: http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	var missing []string
	of := func(name string) string {
		if env(name) == "" {
			missing = append(missing, name)
		}
		return env(name)
	}
	switch {
	case env("CI_API_V4_URL") != "":
		number = env("CI_MERGE_REQUEST_IID")
		f.api, f.request, f.notes, f.user = env("CI_API_V4_URL")+"/projects/"+url.PathEscape(of("CI_PROJECT_ID")), "/merge_requests/%d", "/notes", env("CI_API_V4_URL")+"/user"
		f.header = [2]string{"PRIVATE-TOKEN", token} // the job's own token may not comment
		f.update = func(number int, c comment) (string, string) {
			return http.MethodPut, fmt.Sprintf(f.request+"/notes/%d", number, c.ID)
		}
	case env("SYSTEM_COLLECTIONURI") != "":
		number, token, f.azure = env("SYSTEM_PULLREQUEST_PULLREQUESTID"), cmp.Or(token, env("SYSTEM_ACCESSTOKEN")), true
		f.api = strings.TrimSuffix(env("SYSTEM_COLLECTIONURI"), "/") + "/" + url.PathEscape(of("SYSTEM_TEAMPROJECT")) + "/_apis/git/repositories/" + url.PathEscape(of("BUILD_REPOSITORY_ID"))
		f.request, f.notes, f.user = "/pullRequests/%d", "/threads", strings.TrimSuffix(env("SYSTEM_COLLECTIONURI"), "/")+"/_apis/connectionData"
		f.header = [2]string{"Authorization", "Bearer " + token}
		f.update = func(number int, c comment) (string, string) {
			return http.MethodPatch, fmt.Sprintf(f.request+"/threads/%d/comments/%d", number, c.ID, c.Comments[0].ID)
		}
	case env("GITHUB_REPOSITORY") != "":
		if m := pull.FindStringSubmatch(env("GITHUB_REF")); m != nil {
			number = m[1]
		}
		token = cmp.Or(token, env("GITHUB_TOKEN"))
		api := cmp.Or(env("GITHUB_API_URL"), "https://api.github.com")
		f.api, f.request, f.notes, f.user, f.bots = api+"/repos/"+env("GITHUB_REPOSITORY"), "/pulls/%d", "/issues/%d/comments", api+"/user", []string{"github-actions[bot]"}
		if strings.HasSuffix(api, "/api/v1") { // Gitea and Forgejo reserve these names
			f.bots = []string{"forgejo-actions", "gitea-actions"}
		}
		f.header = [2]string{"Authorization", "Bearer " + token}
		f.update = func(_ int, c comment) (string, string) {
			return http.MethodPatch, fmt.Sprintf("/issues/comments/%d", c.ID)
		}
	default:
		return nil, problem.Usage([]string{"GitHub, Forgejo, Gitea, GitLab and Azure DevOps set it in their pipelines"}, "none of GITHUB_REPOSITORY, CI_API_V4_URL and SYSTEM_COLLECTIONURI is set")
	}
	if token == "" {
		missing = append(missing, "ARGOSY_REVIEW_TOKEN")
	}
	if len(missing) > 0 {
		return nil, problem.Usage(nil, "%s is not set", strings.Join(missing, " and "))
	}
	f.Number, _ = strconv.Atoi(number)
	return f, nil
}

// Post writes the comment to a request, or updates its own. The error is ErrOlder, or says what the
// forge does not take.
func (f *Forge) Post(ctx context.Context, r Request, text string) error {
	if err := f.find(ctx, &r); err != nil {
		return err
	}
	authors, err := f.own(ctx)
	if err != nil {
		return err
	}
	before, err := f.before(ctx, r.Number, authors)
	if err != nil {
		return err
	}
	method, path, body := http.MethodPost, f.notesOf(r.Number), any(map[string]string{"body": r.body(text)})
	switch {
	case f.azure && before == nil: // a closed thread: it does not block the merge
		body = map[string]any{"status": "closed", "comments": []any{map[string]any{"parentCommentId": 0, "commentType": "text", "content": r.body(text)}}}
	case f.azure:
		body = map[string]string{"content": r.body(text)}
	}
	if before != nil {
		method, path = f.update(r.Number, *before)
	}
	return f.call(ctx, method, f.api+path, body, nil)
}

// find completes a request's number, and checks that it has no newer commit.
func (f *Forge) find(ctx context.Context, r *Request) error {
	type request struct {
		Number                int
		Head                  struct{ Sha string }
		Sha                   string
		LastMergeSourceCommit struct{ CommitID string }
	}
	if r.Head != "" {
		var open []request
		if err := f.call(ctx, http.MethodGet, f.api+"/pulls?state=open&head="+url.QueryEscape(r.Head), nil, &open); err != nil {
			return err
		}
		for _, one := range open {
			if one.Head.Sha == r.Commit {
				r.Number = one.Number
			}
		}
		if r.Number == 0 {
			return ErrOlder
		}
		return nil
	}
	if r.Commit == "" {
		return nil
	}
	var is request
	if err := f.call(ctx, http.MethodGet, f.api+fmt.Sprintf(f.request, r.Number), nil, &is); err != nil {
		return err
	}
	if cmp.Or(is.Head.Sha, is.Sha, is.LastMergeSourceCommit.CommitID) != r.Commit {
		return ErrOlder
	}
	return nil
}

// own returns the accounts that the token may comment as.
func (f *Forge) own(ctx context.Context) ([]string, error) {
	var is struct {
		Login, Username   string
		AuthenticatedUser struct{ ID string }
	}
	err := f.call(ctx, http.MethodGet, f.user, nil, &is)
	var refused *refusal
	if errors.As(err, &refused) && len(f.bots) > 0 && refused.code != http.StatusUnauthorized { // a job's token is no user's
		return f.bots, nil
	}
	return []string{cmp.Or(is.Login, is.Username, is.AuthenticatedUser.ID)}, err
}

// before returns the comment of an earlier review; nil for none.
func (f *Forge) before(ctx context.Context, number int, authors []string) (*comment, error) {
	isOurs := func(c comment) bool {
		id, _ := c.Author.ID.(string) // a number on GitLab
		return slices.Contains(authors, cmp.Or(c.User.Login, c.Author.Username, id)) && strings.HasPrefix(cmp.Or(c.Body, c.Content), Marker)
	}
	seen := map[int]bool{}
	for page := 1; page <= maxPages; page++ {
		var some []comment
		var threads struct{ Value []comment }
		to := any(&some)
		if f.azure {
			to = &threads
		}
		if err := f.call(ctx, http.MethodGet, fmt.Sprintf("%s?per_page=100&page=%d", f.api+f.notesOf(number), page), nil, to); err != nil {
			return nil, err
		}
		isNew := false // a forge may have no pages
		for _, c := range append(some, threads.Value...) {
			isNew, seen[c.ID] = isNew || !seen[c.ID], true
			if isOurs(c) || f.azure && len(c.Comments) > 0 && isOurs(c.Comments[0]) {
				return &c, nil
			}
		}
		if !isNew {
			break
		}
	}
	return nil, nil
}

func (f *Forge) notesOf(number int) string {
	if strings.Contains(f.notes, "%d") {
		return fmt.Sprintf(f.notes, number)
	}
	return fmt.Sprintf(f.request+f.notes, number)
}

// refusal is the status of a call that the forge has not taken.
type refusal struct {
	code int
	call string
	says string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the forge does not take %s: status %d%s", r.call, r.code, r.says)
}

// call asks the forge.
func (f *Forge) call(ctx context.Context, method, address string, body, to any) error {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return err
		}
	}
	if f.azure && !strings.Contains(address, "connectionData") { // it has no other version
		address += map[bool]string{true: "&", false: "?"}[strings.Contains(address, "?")] + "api-version=7.1"
	}
	r, err := http.NewRequestWithContext(ctx, method, address, &sent)
	if err != nil {
		return err
	}
	r.Header.Set(f.header[0], f.header[1])
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	resp, err := f.client.Do(r)
	if err != nil {
		return fmt.Errorf("the forge does not respond: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err != nil {
		return fmt.Errorf("the forge does not respond: %w", err)
	}
	if resp.StatusCode/100 != 2 || resp.StatusCode == http.StatusNonAuthoritativeInfo { // 203 is Azure DevOps' page to sign in
		var said struct{ Message string }
		if json.Unmarshal(text, &said) == nil && said.Message != "" {
			said.Message = ": " + problem.OneLine(said.Message, 200)
		}
		return &refusal{resp.StatusCode, method + " " + r.URL.Path, said.Message}
	}
	if to == nil {
		return nil
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("the forge answers %s %s with something else than expected: %w", method, r.URL.Path, err)
	}
	return nil
}
