package planreport

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// changed is a component's change of one value on the clusters named.
func changed(component string, old, updated any, file string) plan.Application {
	return plan.Application{
		Action: "change", View: "components", Group: "addons", Component: component, Owner: "hub", Engine: "argocd",
		Differences: []plan.Difference{{
			Kind: "value", Name: "replicas", Old: &plan.Side{Value: old, Position: problem.Pos{File: "base.yaml", Line: 1}},
			New: &plan.Side{Value: updated, Position: problem.Pos{File: file, Line: 1}},
		}},
	}
}

func created(component, version string) plan.Application {
	return plan.Application{Action: "create", View: "components", Group: "addons", Component: component, Owner: "hub", Engine: "argocd", Chart: component, Version: version}
}

func on(cluster string, as ...plan.Application) plan.Cluster {
	return plan.Cluster{Name: cluster, Tenant: "t", Environment: "dev", Applications: as}
}

func fresh(c plan.Cluster) plan.Cluster {
	c.Action = "create"
	return c
}

// What is the same on several clusters is one line; lines for the same clusters are one section;
// the widest comes first.
func TestSections(t *testing.T) {
	remote := changed("web", 2, 5, "a.yaml")
	remote.Owner = "c"
	for _, c := range []struct {
		name     string
		clusters []plan.Cluster
		want     string
	}{
		{"nothing", nil, ""},
		{
			"one change everywhere",
			[]plan.Cluster{on("a", changed("web", 2, 5, "a.yaml")), on("b", changed("web", 2, 5, "a.yaml")), on("c", changed("web", 2, 5, "a.yaml"))},
			"a b c: change addons/web (1)\n",
		},
		{
			"other values, other places",
			[]plan.Cluster{on("a", changed("web", 2, 5, "a.yaml")), on("b", changed("web", 2, 6, "a.yaml")), on("c", changed("web", 2, 5, "c.yaml")), on("d", changed("web", 2, 5, "a.yaml"))},
			"a d: change addons/web (1)\nb: change addons/web (1)\nc: change addons/web (1)\n",
		},
		{
			"one difference of several components",
			[]plan.Cluster{on("a", changed("web", 2, 5, "a.yaml"), changed("dns", 2, 5, "a.yaml"), changed("efs", 3, 5, "a.yaml"))},
			"a: change addons/dns addons/web (1)\na: change addons/efs (1)\n",
		},
		{
			"text is no number",
			[]plan.Cluster{on("a", changed("web", 2, 5, "a.yaml")), on("b", changed("web", 2, "5", "a.yaml"))},
			"a: change addons/web (1)\nb: change addons/web (1)\n",
		},
		{
			"new clusters",
			[]plan.Cluster{fresh(on("a", created("dns", "1"), created("web", "1"))), fresh(on("b", created("dns", "1"), created("web", "2")))},
			"a b: create cluster\na b: create addons/dns\na: create addons/web\nb: create addons/web\n",
		},
		{
			"another owner",
			[]plan.Cluster{on("a", changed("web", 2, 5, "a.yaml")), on("c", remote)},
			"a: change addons/web (1)\nc: change addons/web (1)\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			for _, s := range sections(plan.Hub{Name: "h", Clusters: c.clusters}) {
				for _, l := range s.Lines {
					fmt.Fprintf(&b, "%s: %s %s", strings.Join(names(s.Clusters), " "), l.Action, strings.Join(names(l.Titles), " "))
					if n := len(l.Fields); n > 0 {
						fmt.Fprintf(&b, " (%d)", n)
					}
					b.WriteByte('\n')
				}
			}
			assert.Equal(t, c.want, b.String())
		})
	}
}

// A change at the level of the system stays readable with a thousand clusters.
func TestWritePlanOfManyClusters(t *testing.T) {
	h := plan.Hub{Name: "h"}
	for i := range 1000 {
		h.Clusters = append(h.Clusters, on(fmt.Sprintf("c-%04d", i), changed("web", 2, 5, "a.yaml")))
	}
	p := Plan{
		Base: Revision{Name: "main", Revision: "0123456789abcdef"}, Head: Revision{Revision: "sha256:1"}, Hubs: []plan.Hub{h},
		Summary: Summary{Clusters: Counts{Unchanged: 1000}, Applications: Counts{Change: 1000, Unchanged: 3}},
	}
	var b strings.Builder
	require.NoError(t, Write(&b, p, report.Style{}, false))
	want := `from main (0123456) to the folder as it is

h: 1000 clusters: c-0000, c-0001, c-0002, c-0003, c-0004, c-0005, c-0006, c-0007 and 992 more
  ~ addons/web
      replicas: 2 -> 5
          was at base.yaml:1
          now at a.yaml:1

clusters: none changed; Applications: 1000 to change, 3 unchanged
`
	assert.Equal(t, want, b.String())
}

// Markdown ends before the limit, with whole blocks and a note.
func TestWritePlanMarkdownIsBounded(t *testing.T) {
	h := plan.Hub{Name: "h"}
	for i := range 500 {
		h.Clusters = append(h.Clusters, on(fmt.Sprintf("c-%04d", i), changed("web", 2, i, "a.yaml")))
	}
	p := Plan{Hubs: []plan.Hub{h}}
	for _, limit := range []int{1000, 10_000, MaxMarkdown} {
		var b strings.Builder
		require.NoError(t, WriteMarkdown(&b, p, limit))
		out := b.String()
		if n := utf8.RuneCountInString(out); n > limit || n < limit/2 {
			t.Errorf("limit %d: %d characters", limit, n)
		}
		if strings.Count(out, "<details>") != strings.Count(out, "</details>") {
			t.Errorf("limit %d: a block is cut", limit)
		}
		assert.Contains(t, out, fmt.Sprintf("left out: the limit is %d characters.", limit), "limit %d: no note", limit)
	}
}

// However much fails, there is room for what changes.
func TestWritePlanMarkdownNamesSomeErrors(t *testing.T) {
	p := Plan{Hubs: []plan.Hub{{Name: "h", Clusters: []plan.Cluster{on("c", changed("web", 2, 5, "a.yaml"))}}}}
	for i := range 1000 {
		p.Problems = append(p.Problems, Problem{"head", problem.NewFinding(problem.Problem{Severity: problem.Error, Found: fmt.Sprintf("%0100d", i)})})
	}
	var b strings.Builder
	require.NoError(t, WriteMarkdown(&b, p, MaxMarkdown))
	for _, want := range []string{"\n**incomplete: there are errors**\n", "\nand 970 further lines: ", "| change | `addons/web`"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in the output:\n%s", want, b.String())
		}
	}
}

// An error that breaks many alike is one line, with those that it breaks, and says of which
// revisions it is.
func TestWritePlanErrorsAlike(t *testing.T) {
	p := New(Revision{Name: "a"}, Revision{Name: "b"}, &plan.Plan{})
	fails := func(app string) problem.Problem {
		return problem.Problem{Reason: problem.ExpansionFailed, Severity: problem.Error, Pos: problem.Pos{File: "catalog.yaml", Line: 2}, Subject: app, Found: "no such function"}
	}
	p.AddProblems(plan.Head, []problem.Problem{fails("one"), fails("two"), fails("three")})
	p.AddProblems(plan.Base, []problem.Problem{fails("three")})
	var b strings.Builder
	require.NoError(t, Write(&b, p, report.Style{}, false))
	want := "error of the head: catalog.yaml:2: one, two: no such function\nerror of the base and the head: catalog.yaml:2: three: no such function\n"
	if !strings.HasSuffix(b.String(), want) {
		t.Errorf("%s\nwant at its end\n%s", b.String(), want)
	}
}

// What a repository's files hold cannot become Markdown or HTML of its own.
func TestWritePlanMarkdownEscapes(t *testing.T) {
	a := changed("web", "a`|</code><script>\n@all", "plain | `x`", "a_b*.yaml")
	a.Differences[0].Name = "x`y|z"
	a.Detail, a.Cause, a.Action = "for @all, see #12 and !13 \u202egnp", "lost", "remove"
	var b strings.Builder
	require.NoError(t, WriteMarkdown(&b, Plan{Hubs: []plan.Hub{{Name: "h<b>", Clusters: []plan.Cluster{on("a", a)}}}}, MaxMarkdown))
	out := b.String()
	for _, bad := range []string{"<script>", "|</code>", "h<b>", "@all", "a_b*", "\u202e"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q is in the output:\n%s", bad, out)
		}
	}
	if want := "for &#64;&#8203;all, see &#35;&#8203;12 and &#33;&#8203;13 &#92;u202egnp"; !strings.Contains(out, want) { // not within code
		t.Errorf("%q is not in the output:\n%s", want, out)
	}
	for line := range strings.Lines(out) {
		if n := strings.Count(line, "|"); strings.HasPrefix(line, "|") && n != 4 {
			t.Errorf("%d bars in a row of three cells: %s", n, line)
		}
	}
}

// A repository's texts make no links: neither to hosts of others nor to issues.
func TestTextsMakeNoLinks(t *testing.T) {
	for text, want := range map[string]string{
		"see https://evil.example/login":     "see https:/&#8203;/evil.example/login",
		"HTTP://evil.example and ftp://x.y":  "HTTP:/&#8203;/evil.example and ftp:/&#8203;/x.y",
		"www.evil.example WWW.evil.example":  "www&#8203;.evil.example WWW&#8203;.evil.example",
		"https://github.com/o/r/issues/1":    "https:/&#8203;/github.com/o/r/issues/1",
		"GH-1, gh-2 and a_GH-3":              "GH&#8203;-1, gh&#8203;-2 and a&#95;GH&#8203;-3",
		"o/r@0123456789abcdef, #1 and @user": "o/r&#64;&#8203;0123456789abcdef, &#35;&#8203;1 and &#64;&#8203;user",
		"catalog.yaml:2: high-speed":         "catalog.yaml:2: high-speed",
	} {
		assert.Equal(t, want, escape(text), "%q", text)
	}
	for text, want := range map[string]string{
		"https://charts.example/stable": "`https://charts.example/stable`",                 // a code span makes no link
		"a|https://evil.example":        "<code>a&#124;https:/&#8203;/evil.example</code>", // an element does
	} {
		assert.Equal(t, want, code(text), "%q", text)
	}
}

// However many Applications change beside the parameter sets, no number is below zero.
func TestSummaryIsNotNegative(t *testing.T) {
	o := plan.Object{Kind: "Application", Action: plan.Change, Counted: true}
	got := summaryOf([]plan.Hub{{Name: "h", UnchangedApplications: 1, Objects: []plan.Object{o, o, o}}})
	if want := (Counts{Change: 3}); got.Applications != want {
		t.Errorf("%+v, want %+v", got.Applications, want)
	}
}

// What is no Application is not counted as one, and what stays not as removed.
func TestWritePlanMarkdownTellsObjectsApart(t *testing.T) {
	object := func(name string, left bool) plan.Object {
		return plan.Object{Kind: "RoleBinding", Name: name, Owner: "hub", Cluster: "a", Action: plan.Remove, Left: left}
	}
	h := plan.Hub{Name: "h", Objects: []plan.Object{object("one", false), object("two", false), object("three", true)}}
	var b strings.Builder
	require.NoError(t, WriteMarkdown(&b, Plan{Hubs: []plan.Hub{h}}, MaxMarkdown))
	if out := b.String(); !strings.Contains(out, "| remove | 2 objects: `RoleBinding one`, `RoleBinding two`") || !strings.Contains(out, "| remove | `RoleBinding three`<br>left behind") {
		t.Errorf("got:\n%s", out)
	}
}

// A terminal and a comment have the first lines of the guard; a page has all.
func TestPagesListAll(t *testing.T) {
	p := Plan{}
	for i := range 20 {
		line := fmt.Sprintf("line-%02d", i)
		p.Guard.Moved, p.Guard.Commits = append(p.Guard.Moved, line), append(p.Guard.Commits, CommitRefusal{Hub: "h", Message: line})
	}
	for name, write := range map[string]func(io.Writer) error{
		"text":     func(w io.Writer) error { return Write(w, p, report.Style{}, false) },
		"Markdown": func(w io.Writer) error { return WriteMarkdown(w, p, MaxMarkdown) },
		"HTML":     func(w io.Writer) error { return WriteHTML(w, p) },
	} {
		var b strings.Builder
		require.NoError(t, write(&b))
		last, more, want := strings.Count(b.String(), "line-19"), strings.Count(b.String(), "and 12 more"), 0
		if name == "HTML" {
			want = 2
		}
		if last != want || more != 2-want {
			t.Errorf("%s has the last line %d times, and counts the others %d times", name, last, more)
		}
	}
}

// Several objects that nothing removes are one line of the table, which says so.
func TestMarkdownTellsWhatIsLeftBehind(t *testing.T) {
	h := plan.Hub{Name: "h"}
	for _, name := range []string{"one", "two"} {
		h.Objects = append(h.Objects, plan.Object{Kind: "Role", Name: name, Owner: "hub", Cluster: "a", Action: plan.Remove, Left: true})
	}
	var b strings.Builder
	require.NoError(t, WriteMarkdown(&b, Plan{Hubs: []plan.Hub{h}}, MaxMarkdown))
	if want := "| remove | 2 objects: `Role one`, `Role two`<br>left behind: nothing generates it any more, and nothing removes it | a |"; !strings.Contains(b.String(), want) {
		t.Errorf("got:\n%s", b.String())
	}
}
