package planreport

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// htmlOf is a plan in which a text stands wherever a repository's text may.
func htmlOf(t testing.TB, text string) string {
	t.Helper()
	a := changed("web", text, map[string]any{text: []any{text}}, text)
	a.Component, a.Differences[0].Name = text, text
	gone := created(text, text)
	gone.Action, gone.Cause, gone.Detail, gone.Position = plan.Remove, plan.Disabled, text, problem.Pos{File: text, Line: 3}
	p := New(Revision{Name: text, Revision: text}, Revision{Revision: text}, &plan.Plan{Hubs: []plan.Hub{{Name: text, Clusters: []plan.Cluster{on(text, a, gone), on("other", a)}}}})
	p.AddProblems(plan.Head, []problem.Problem{{Reason: problem.NotExpanded, Severity: problem.Warning, Subject: text, Found: text, Hints: []string{text}}})
	p.Guard.Moved = []string{text}
	p.Guard.Commits = []CommitRefusal{{Hub: text, Message: text}}
	var b strings.Builder
	require.NoError(t, WriteHTML(&b, p))
	return b.String()
}

// The file refers to nothing, runs nothing, and its policy allows its own stylesheet alone.
func TestHTMLStandsAlone(t *testing.T) {
	t.Parallel()
	text := htmlOf(t, "plain")
	_, style, _ := strings.Cut(text, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	assert.Contains(t, html.UnescapeString(text), `content="`+policy+`"`, "no policy %s", policy)
	if strings.Contains(style, "url(") || strings.Contains(style, "@import") {
		t.Error("the stylesheet refers to something")
	}
	for _, e := range strings.Split(elements(text), "\n") {
		for _, bad := range []string{"script", "iframe", "object", "img", "link", "form", "a"} {
			if name, _, _ := strings.Cut(e, " "); name == bad {
				t.Errorf("<%s>", e)
			}
		}
		if strings.Contains(e, " on") || strings.Contains(e, " style") || strings.Contains(e, " src") || strings.Contains(e, " href") {
			t.Errorf("<%s>", e)
		}
	}
	for _, want := range []string{"plain:3", "removes 1", "not followed: plain", "moved: plain", "2 clusters"} {
		assert.Contains(t, strings.ReplaceAll(text, "<wbr>", ""), want, "the file")
	}
}

// Texts of a repository are text: the elements of the file do not depend on them.
func FuzzHTMLMarkup(f *testing.F) {
	for _, s := range []string{"plain", `<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "'--></title></style></textarea>", "{{.}}", "javascript:alert(1)", "\x00\xff", "a\nb", "&lt;", "</style"} {
		f.Add(s)
	}
	plain := elements(htmlOf(f, "plain"))
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "/") || s == "" || s == "other" { // parts of a path have an element each
			t.Skip()
		}
		if got := elements(htmlOf(t, s)); got != plain {
			t.Errorf("%q changes the elements:\n%s", s, got)
		}
	})
}

// elements are the elements of a page with the names of their attributes.
func elements(text string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(text))
	for z.Next() != html.ErrorToken {
		token := z.Token()
		if token.Type != html.StartTagToken && token.Type != html.EndTagToken {
			continue
		}
		b.WriteString(token.Data)
		for _, a := range token.Attr {
			fmt.Fprintf(&b, " %s", a.Key)
		}
		b.WriteString("\n")
	}
	return b.String()
}
