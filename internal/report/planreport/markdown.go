package planreport

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/argosy-hub/argosy/internal/plan"
	"github.com/argosy-hub/argosy/internal/report"
)

// MaxMarkdown is the limit of a plan as Markdown, in characters: GitHub takes comments of up to
// 65,536.
const MaxMarkdown = 60_000

// maxLines is how many lines Markdown has of what a plan lacks, so that there is room for what it
// has.
const maxLines = 30

// WriteMarkdown writes a plan as Markdown that fits a pull request's comment: what is loud, the
// sum, a table for each hub, and the details folded. What goes beyond limit characters is left out,
// and a note says so.
func WriteMarkdown(w io.Writer, p Plan, limit int) error {
	m := markdown{room: limit - 200} // the rest is for the note
	m.add(fmt.Sprintf("### Plan: %s → %s\n", escape(p.Base.String()), escape(p.Head.String())))
	for _, line := range append(p.loud(), p.Summary.String()) {
		m.add("\n**" + escape(line) + "**\n")
	}
	lines := p.notKnown()
	for _, line := range lines[:min(len(lines), maxLines)] {
		m.add("\n" + escape(line) + "\n")
	}
	if n := len(lines) - maxLines; n > 0 {
		m.add(fmt.Sprintf("\nand %s: `argosy plan` and `argosy lint` show all\n", report.Count(n, "further line")))
	}
	for _, line := range p.rollouts() {
		m.add("\nrollout: " + escape(line) + "\n")
	}
	for _, line := range p.waiting() {
		m.add("\nwaiting: " + escape(line) + "\n")
	}
	m.guard(p.Guard)
	for _, h := range p.Hubs {
		all := sections(h)
		if len(all) == 0 {
			continue
		}
		head := fmt.Sprintf("\n#### %s\n\n| | what | clusters |\n|---|---|---|\n", escape(h.Name))
		for _, s := range all {
			for _, l := range condense(s.lines) {
				if m.add(head + row(l, s.clusters)) {
					head = ""
				}
			}
		}
	}
	for _, h := range p.Hubs {
		for _, s := range sections(h) {
			for _, l := range condense(s.lines) {
				if len(l.differences) > 0 || len(l.parts) > 0 {
					m.add(details(h.Name, l, s.clusters))
				}
			}
		}
	}
	if m.left > 0 {
		fmt.Fprintf(&m.text, "\n*%s left out: the limit is %d characters. `argosy plan` shows everything.*\n", report.Count(m.left, "part"), limit)
	}
	_, err := io.WriteString(w, m.text.String())
	return err
}

// markdown collects blocks as long as there is room.
type markdown struct {
	text strings.Builder
	room int
	left int // blocks that did not fit
}

func (m *markdown) add(block string) bool {
	n := utf8.RuneCountInString(block)
	if n > m.room {
		m.left++
		return false
	}
	m.room -= n
	m.text.WriteString(block)
	return true
}

// condensed is a line of the table: one change, or several without differences that have the same
// action and cause.
type condensed struct {
	planLine
	parts []planLine
}

// condense makes one line of what differs in name alone.
func condense(lines []planLine) []condensed {
	var out []condensed
	at := map[string]int{}
	for _, l := range lines {
		key := fmt.Sprint(l.action, " ", l.cause, " ", l.deletion, " ", l.secret, " ", l.object, " ", l.left)
		if i, ok := at[key]; ok && len(l.differences) == 0 && l.rank() > 0 {
			out[i].titles = append(out[i].titles, l.titles...)
			out[i].about, out[i].detail, out[i].position = "", "", ""
			out[i].parts = append(out[i].parts, l)
			continue
		}
		c := condensed{planLine: l}
		if len(l.differences) == 0 && l.rank() > 0 {
			at[key] = len(out)
			c.parts = []planLine{l}
			c.titles = slices.Clone(l.titles)
		}
		out = append(out, c)
	}
	for i := range out {
		if len(out[i].parts) == 1 {
			out[i].parts = nil // the table says it all
		}
	}
	return out
}

func row(l condensed, clusters []string) string {
	what := codes(l.titles)
	if n := len(l.parts); n > 0 {
		what = report.Count(n, l.parts[0].unit()) + ": " + what
	}
	for _, note := range l.notes() {
		what += "<br>" + escape(note)
	}
	if n := len(l.differences) + l.more; n > 0 {
		what += "<br>" + report.Count(n, "difference")
	}
	return fmt.Sprintf("| %s | %s | %s |\n", l.action, what, onClusters(clusters))
}

func onClusters(clusters []string) string {
	if len(clusters) == 1 {
		return escape(clusters[0])
	}
	return fmt.Sprintf("%d: %s", len(clusters), escape(Named(clusters)))
}

// details are one line's differences, folded.
func details(hub string, l condensed, clusters []string) string {
	var b strings.Builder
	on := clusters[0]
	if len(clusters) > 1 {
		on = report.Count(len(clusters), "cluster")
	}
	fmt.Fprintf(&b, "\n<details><summary>%s: %s %s on %s</summary>\n\n", escape(hub), l.action, escape(Named(l.titles)), escape(on))
	for _, part := range l.parts {
		b.WriteString(strings.TrimSpace("- "+code(part.titles[0])+" "+escape(strings.Join(part.notes(), " "))) + "\n")
	}
	if len(l.differences) == 0 {
		b.WriteString("\n</details>\n")
		return b.String()
	}
	b.WriteString("| | before | after |\n|---|---|---|\n")
	for _, d := range l.differences {
		old, updated := sideTexts(d)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", code(title(d)), cell(d.Old, old), cell(d.New, updated))
	}
	if l.more > 0 {
		fmt.Fprintf(&b, "| and %s | | |\n", report.Count(l.more, "further field"))
	}
	b.WriteString("\n</details>\n")
	return b.String()
}

func cell(s *plan.Side, text string) string {
	if s == nil {
		return "none"
	}
	out := code(text)
	if at := place(s); at != "" {
		out += "<br>" + escape(at)
	}
	return out
}

func codes(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, code(n))
	}
	return Named(out)
}

// code is text as code in a table's cell. What would end a code span there goes into HTML's own
// element.
func code(s string) string {
	s = report.Printable(s)
	if s == "" || strings.ContainsAny(s, "`|") || strings.TrimSpace(s) != s {
		return "<code>" + unlinked(inCode.Replace(s)) + "</code>"
	}
	return "`" + s + "`"
}

// special is what Markdown may take for more than text.
var special = []string{
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "\\", "&#92;", "`", "&#96;", "*", "&#42;", "_", "&#95;",
	"[", "&#91;", "]", "&#93;", "~", "&#126;", "|", "&#124;", "@", "&#64;",
}

// A forge looks for names of people and numbers of issues in what comes of the Markdown, so that
// only something in between keeps it from telling them; it does not look for those in code.
var (
	inCode = strings.NewReplacer(special...)
	inText = strings.NewReplacer(append([]string{"@", "&#64;&#8203;", "#", "&#35;&#8203;", "!", "&#33;&#8203;"}, special...)...)
)

// escape keeps a repository's text from being taken for Markdown or HTML, and from calling anybody.
func escape(s string) string { return unlinked(inText.Replace(report.Printable(s))) }

// address is the beginning of what a forge makes a link of by itself: a URL, a host and an issue.
// Markdown does it within an HTML element for code, too, and not in a code span.
var address = regexp.MustCompile(`(?i)(:/|www|\bgh)([/.-])`)

// unlinked puts an invisible space into addresses.
func unlinked(s string) string { return address.ReplaceAllString(s, "$1&#8203;$2") }
