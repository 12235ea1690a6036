package planreport

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/argosy-hub/argosy/internal/base/planpage"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/plan"
)

const (
	// MaxMarkdown is the limit of a plan as Markdown, in characters: GitHub takes comments of up
	// to 65,536.
	MaxMarkdown = 60_000
	// maxNames is how many names, or lines about the guard, text and Markdown list before they
	// count.
	maxNames = 8
	// maxTitles is how many equal changes text names before it does so.
	maxTitles = 50
	// maxClusters is how many clusters of a section a page names before it counts.
	maxClusters = 200
)

var (
	//go:embed text.tmpl
	textTemplate string
	//go:embed markdown.tmpl
	markdownTemplate string
)

// view returns the data that the text, Markdown and HTML templates of a plan show, with at most so
// many lines of a kind.
func (p Plan) view(most int) (planpage.Plan, error) {
	notes, err := p.lines("notes")
	if err != nil {
		return planpage.Plan{}, err
	}
	warnings, err := p.lines("warnings")
	out := planpage.Plan{
		Base: report.Printable(p.Base.String()), Head: report.Printable(p.Head.String()), Summary: p.Summary.String(), Counts: p.Summary.counts(),
		Loud: printable("", p.loud()), Warnings: warnings, Sections: []planpage.Section{},
	}
	out.Notes = slices.Concat(notes, printable("moved: ", firstOf(most, p.Guard.Moved)), printable("undecided: ", firstOf(most, p.Guard.Undecided)))
	out.Refused = p.Guard.refusals(most)
	if p.Guard.Approval != nil {
		var b strings.Builder
		_ = WriteApproval(&b, p.Guard.Approval) // into memory
		out.Approval = b.String()
	}
	for _, h := range p.Hubs {
		out.Sections = append(out.Sections, sections(h)...)
	}
	return out, err
}

// printable puts a prefix before lines and makes them safe to show.
func printable(begin string, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = report.Printable(begin + line)
	}
	return out
}

// WriteHTML writes a plan as one HTML file without references to other files. It shows all that
// Write shows, in the same order.
func WriteHTML(w io.Writer, p Plan) error {
	view, err := p.view(math.MaxInt32)
	if err != nil {
		return err
	}
	return planpage.WriteFile(w, view)
}

// Write writes a plan as text: for each hub the equal changes and their clusters, and a summary
// line. If short, it writes the summary line of each hub instead of its changes.
func Write(w io.Writer, p Plan, s report.Style, short bool) error {
	all, err := p.view(maxNames)
	if err != nil {
		return err
	}
	view := struct {
		planpage.Plan
		Hubs []string
	}{Plan: all}
	if short {
		view.Sections = nil
		for _, h := range p.Hubs {
			if len(h.Clusters)+len(h.Objects) > 0 {
				view.Hubs = append(view.Hubs, s.Bold(report.Printable(h.Name)+":")+" "+summaryOf([]plan.Hub{h}).String())
			}
		}
	}
	signs := map[string]string{planpage.Create: s.Green("+"), planpage.Remove: s.Red("-"), planpage.Move: s.Yellow(">"), planpage.Change: s.Yellow("~")}
	return template.Must(template.New("text").Funcs(functions).Funcs(template.FuncMap{
		"bold": s.Bold, "dim": s.Dim, "red": s.Red, "yellow": s.Yellow, "cyan": s.Cyan,
		"sign": func(action string) string { return signs[action] },
	}).Parse(textTemplate)).Execute(w, view)
}

// WriteMarkdown writes a plan as Markdown that fits a pull request's comment: warnings, the
// summary, a table for each hub, and the details folded. It leaves out what is beyond limit
// characters, and adds a note that says so.
func WriteMarkdown(w io.Writer, p Plan, limit int) error {
	view, err := p.view(maxNames)
	if err != nil {
		return err
	}
	for i, s := range view.Sections {
		view.Sections[i].Lines = condense(s.Lines)
	}
	all, err := blocks(markdown, "markdown", view)
	if err != nil {
		return err
	}
	room, left, head := limit-200, 0, "" // the rest is for the note
	var out strings.Builder
	for _, block := range all {
		if strings.HasPrefix(block, "\n#### ") { // written with the first row that fits
			head = block
			continue
		}
		if !strings.HasPrefix(block, "|") {
			head = ""
		}
		n := utf8.RuneCountInString(head + block)
		if n > room {
			left++
			continue
		}
		room -= n
		out.WriteString(head + block)
		head = ""
	}
	if left > 0 {
		fmt.Fprintf(&out, "\n*%s left out: the limit is %d characters. `argosy plan` shows everything.*\n", report.Count(left, "part"), limit)
	}
	_, err = io.WriteString(w, out.String())
	return err
}

// blocks returns the parts of a template's output, split at each {{cut}}.
func blocks(t *template.Template, name string, data any) (out []string, err error) {
	if t, err = t.Clone(); err != nil {
		return nil, err
	}
	var b strings.Builder
	t.Funcs(template.FuncMap{"cut": func() string {
		out = append(out, b.String())
		b.Reset()
		return ""
	}})
	err = t.ExecuteTemplate(&b, name, data)
	return out, err
}

var markdown = template.Must(template.New("markdown").Funcs(functions).Parse(markdownTemplate))

var functions = template.FuncMap{
	"count": report.Count, "named": named, "codes": codes, "code": code, "md": escape, "join": strings.Join, "places": places,
	"add": func(a, b int) int { return a + b },
	"cut": func() string { return "" }, // blocks sets it
	"names": func(links []planpage.Link) string {
		if len(links) <= maxTitles {
			return strings.Join(names(links), ", ")
		}
		return Named(names(links))
	},
	"side": func(s *planpage.Side) string {
		if s == nil {
			return "(none)"
		}
		return s.Text
	},
	"width": func(lines []planpage.Line) (width int) {
		for _, l := range lines {
			if len(l.Fields) == 0 {
				width = max(width, utf8.RuneCountInString(l.Titles[0].Name))
			}
		}
		return width
	},
	"cell": func(s *planpage.Side) string {
		switch {
		case s == nil:
			return "none"
		case s.Position.IsZero():
			return code(s.Text)
		}
		return code(s.Text) + "<br>" + escape(s.Position.String())
	},
}

// condense merges lines that differ only in the name.
func condense(lines []planpage.Line) (out []planpage.Line) {
	for _, same := range grouped(lines, func(l planpage.Line) string {
		if len(l.Fields) > 0 || l.Unit == "" {
			return ""
		}
		return l.Action + " " + l.Unit + " " + l.Why
	}) {
		l := same[0]
		if len(same) > 1 {
			l.Parts, l.Titles, l.Notes = same, nil, notEmpty(l.Why)
			for _, part := range same {
				l.Titles = append(l.Titles, part.Titles...)
			}
		}
		out = append(out, l)
	}
	return out
}

// places returns the positions of a field's two sides.
func places(f planpage.Field) (out []string) {
	add := func(what string, s *planpage.Side) {
		if s != nil && !s.Position.IsZero() {
			out = append(out, report.Printable(what+" "+s.Position.String()))
		}
	}
	var old, updated problem.Pos
	if f.Before != nil {
		old = f.Before.Position
	}
	if f.After != nil {
		updated = f.After.Position
	}
	switch {
	case old == updated:
		add("at", f.After)
	case f.Caused && (old.IsZero() || updated.IsZero()):
		add("by", f.Before)
		add("by", f.After)
	default:
		add("was at", f.Before)
		add("now at", f.After)
	}
	return out
}

func names(links []planpage.Link) []string {
	out := make([]string, len(links))
	for i, l := range links {
		out[i] = l.Name
	}
	return out
}

// Named lists the first names, and says how many more there are: "a, b and 3 more".
func Named(names []string) string { return firstNames(names, len(names)) }

// named lists the names of links, and the number of those not listed.
func named(links []planpage.Link, more int) string { return firstNames(names(links), len(links)+more) }

func firstNames(names []string, n int) string {
	if n <= maxNames+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), n-maxNames)
}

// codes formats names as code.
func codes(links []planpage.Link) string {
	out := names(links)
	for i, name := range out {
		out[i] = code(name)
	}
	return Named(out)
}

// code formats a text as code in a table's cell. A text that would end a code span goes into an
// HTML element.
func code(s string) string {
	s = report.Printable(s)
	if s == "" || strings.ContainsAny(s, "`|") || strings.TrimSpace(s) != s {
		return "<code>" + unlinked(inCode.Replace(s)) + "</code>"
	}
	return "`" + s + "`"
}

// special maps characters that Markdown may interpret to HTML entities.
var special = []string{
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "\\", "&#92;", "`", "&#96;", "*", "&#42;", "_", "&#95;",
	"[", "&#91;", "]", "&#93;", "~", "&#126;", "|", "&#124;", "@", "&#64;",
}

// inCode and inText escape text. A forge finds names of people and numbers of issues in the
// rendered Markdown, except in code. Only an invisible space in between keeps it from notifying
// them.
var (
	inCode = strings.NewReplacer(special...)
	inText = strings.NewReplacer(append([]string{"@", "&#64;&#8203;", "#", "&#35;&#8203;", "!", "&#33;&#8203;"}, special...)...)
)

// escape keeps a repository's text from being read as Markdown or HTML, and from notifying people.
func escape(s string) string { return unlinked(inText.Replace(report.Printable(s))) }

// address matches the beginning of text that a forge turns into a link: a URL, a host and an issue.
// Markdown does so within an HTML element for code, too, but not in a code span.
var address = regexp.MustCompile(`(?i)(:/|www|\bgh)([/.-])`)

// unlinked puts an invisible space into addresses.
func unlinked(s string) string { return address.ReplaceAllString(s, "$1&#8203;$2") }
