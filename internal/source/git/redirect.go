package git

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"

	"github.com/argosy-hub/argosy/internal/source"
)

var (
	// redirected is git's message for a redirect that it does not follow.
	redirected = regexp.MustCompile(`The requested URL returned error: 30\d`)
	// redirectsTo matches the redirect in a trace of git.
	redirectsTo = regexp.MustCompile(`(?im)<= Recv header: location: (\S+)`)
	// requests matches what git appends to a repository's URL.
	requests = regexp.MustCompile(`/(info/refs|git-upload-pack)$`)
)

// redirectError says where a server redirects a command to. Git does not follow redirects and does
// not print the target, so it runs again with a trace.
func (r *Repository) redirectError(ctx context.Context, args []string) error {
	e := &source.Error{
		Reason: source.Unreachable, Source: r.name, Detail: "the server redirects to another address, which is not followed",
		Hint: "write the URL of the repository itself",
	}
	var exit *gitExit
	from, wrong := url.Parse(r.address.url + "/info/refs")
	if err := r.run(ctx, command{args: args, env: []string{"GIT_TRACE_CURL=1", "GIT_TRACE_CURL_NO_DATA=1"}}); !errors.As(err, &exit) || wrong != nil {
		return e
	}
	found := redirectsTo.FindStringSubmatch(exit.all)
	if found == nil {
		return e
	}
	if to, err := from.Parse(found[1]); err == nil {
		to.User, to.RawQuery, to.Fragment = nil, "", "" // may hold secrets
		e.Detail = "the server redirects to " + r.clean(requests.ReplaceAllString(to.String(), "")) + ", which is not followed"
		if strings.HasSuffix(to.Path, "/info/refs") {
			e.Hint = "write that URL if it is the repository's"
		}
	}
	return e
}
