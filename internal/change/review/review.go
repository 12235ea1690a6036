// Package review shows a change in its pull or merge request: one comment, which is updated.
//
//	files, hasFindings, err := review.Review(ctx, options) // comment.md among them
//	f, err := review.ForgeOf(os.Getenv)                    // of the pipeline that it runs in
//	err = f.Post(ctx, review.Request{Number: 7}, comment)
//
// What reads the change needs no token, and what has the token needs nothing but the comment.
package review

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Marker begins each comment, by which it is found again.
const Marker = "<!-- argosy-review -->\n"

const (
	// maxQuote is how long a quoted text may be, in bytes.
	maxQuote = 4000
	// maxComment is in characters: GitHub takes 65,536, GitLab a million, Azure DevOps 150,000.
	maxComment = 65_000
)

// Comment returns the comment of a change: its findings, empty for none, and its plan in Markdown.
// Without a plan, why says what the revisions have instead.
func Comment(findings, plan, why string) string {
	out := Marker
	if findings != "" {
		out += "### Findings\n\n" + quote(findings) + "\n"
	}
	if plan == "" {
		plan = "### No plan\n\nOne of the two revisions has errors:\n\n" + quote(why)
	}
	return out + plan
}

// None returns the comment of a change that could not be reviewed.
func None(why string) string {
	return Marker + "### No review\n\nSomething failed, and nothing is known of this change:\n\n" + quote(why)
}

// Read returns the comment in a file, or one that says that there is none.
func Read(file string) (string, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return None("its run has failed"), nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4*maxComment))
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(string(text), Marker) {
		return "", fmt.Errorf("%s does not begin with %s; expected a comment of argosy review", file, strings.TrimSpace(Marker))
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

// quote shows a text unchanged, in a fence that the text does not have, without lines that a forge
// reads as commands. It cuts a long text.
func quote(text string) string {
	more := ""
	if len(text) > maxQuote {
		text, more = text[:strings.LastIndexByte(text[:maxQuote], '\n')+1], "\n*There is more: `argosy lint` and `argosy plan` show all.*\n"
	}
	text = command.ReplaceAllString(strings.ReplaceAll(text, "~~~", "~ ~ ~"), " /")
	return "~~~~~~~~text\n" + strings.TrimSuffix(text, "\n") + "\n~~~~~~~~\n" + more
}

var command = regexp.MustCompile(`(?m)^/`)

// body returns a comment as it is posted: within the limit, and with the commit and the run that it
// is of.
func (r Request) body(comment string) string {
	if utf8.RuneCountInString(comment) > maxComment {
		comment = string([]rune(comment)[:maxComment-300]) + "\n\n*The rest is left out.*\n"
	}
	var of []string
	if r.Commit != "" {
		of = append(of, "commit "+r.Commit)
	}
	if r.Run != "" {
		of = append(of, fmt.Sprintf("[run](%s)", r.Run))
	}
	if len(of) > 0 {
		comment += "\nOf " + strings.Join(of, ", ") + "\n"
	}
	return comment
}
