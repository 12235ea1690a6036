package planreport

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/argosy-hub/argosy/internal/plan"
	"github.com/argosy-hub/argosy/internal/report"
)

// printer writes a plan as text.
type printer struct{ *report.Printer }

// maxNames is how many names of clusters text and Markdown list before they count.
const maxNames = 8

// Write writes a plan as text: for each hub what changes alike on which clusters, and a line that
// sums it up. Short, it writes the line that sums each hub up in place of its changes.
func Write(w io.Writer, p Plan, s report.Style, short bool) error {
	out := printer{report.NewPrinter(w, s)}
	out.Line("%s", out.Dim(fmt.Sprintf("from %s to %s", p.Base, p.Head)))
	for _, loud := range p.loud() {
		out.Line("%s", out.Bold(out.Red(loud)))
	}
	for _, h := range p.Hubs {
		if short {
			if len(h.Clusters)+len(h.Objects) > 0 {
				out.Line("%s %s", out.Bold(h.Name+":"), summaryOf([]plan.Hub{h}))
			}
			continue
		}
		for _, section := range sections(h) {
			out.Line("")
			out.section(h.Name, section)
		}
	}
	if p.Changes() && !short {
		out.Line("")
	}
	out.Line("%s", p.Summary)
	for _, line := range p.waiting() {
		out.Line("waiting: %s", line)
	}
	for _, line := range p.rollouts() {
		out.Line("rollout: %s", line)
	}
	for _, line := range p.notKnown() {
		out.Line("%s", out.Yellow(line))
	}
	out.guard(p.Guard)
	return out.Err
}

func (p printer) section(hub string, s section) {
	head := Named(s.clusters)
	if n := len(s.clusters); n > 1 {
		head = fmt.Sprintf("%d clusters: %s", n, head)
	}
	p.Line("%s", p.Bold(hub+": "+head))
	width := 0
	for _, l := range s.lines {
		if len(l.differences) == 0 {
			width = max(width, utf8.RuneCountInString(l.titles[0]))
		}
	}
	for _, l := range s.lines {
		p.planLine(l, width)
	}
}

func (p printer) planLine(l planLine, width int) {
	titles := strings.Join(l.titles, ", ")
	p.Line("  %s %-*s  %s", p.sign(l.action), width, titles, strings.Join(l.notes(), "  "))
	for _, d := range l.differences {
		old, updated := sideTexts(d)
		p.Line("      %s: %s -> %s", p.Cyan(title(d)), old, updated)
		was, now := place(d.Old), place(d.New)
		if was == now {
			p.place("at", now)
			continue
		}
		if d.Kind == plan.Field && (was == "" || now == "") { // of one side alone, it is what the change comes from
			p.place("by", was+now)
			continue
		}
		p.place("was at", was)
		p.place("now at", now)
	}
	if l.more > 0 {
		p.Line("      and %s", report.Count(l.more, "further field"))
	}
}

// place is a line of its own for a place that is known.
func (p printer) place(what, place string) {
	if place != "" {
		p.Line("          %s", p.Dim(what+" "+place))
	}
}

// notes are what is said of a line besides its titles and differences; the place comes last.
func (l planLine) notes() []string {
	var out []string
	if l.about != "" {
		out = append(out, l.about)
	}
	if l.cause != "" {
		out = append(out, l.why())
	}
	if l.position != "" {
		out = append(out, "("+l.position+")")
	}
	return out
}

// sign is an action in one letter.
func (p printer) sign(action plan.Action) string {
	switch action {
	case plan.Create:
		return p.Green("+")
	case plan.Remove:
		return p.Red("-")
	case plan.Move:
		return p.Yellow(">")
	}
	return p.Yellow("~")
}

// title is a difference's name; values and settings speak for themselves.
func title(d plan.Difference) string {
	switch d.Kind {
	case plan.Label, plan.Annotation:
		return string(d.Kind) + " " + d.Name
	}
	return d.Name
}

// sideTexts are the values of both sides, JSON for the chart's values, where types matter. Of long
// ones they show what differs.
func sideTexts(d plan.Difference) (old, updated string) {
	if d.Old == nil || d.New == nil {
		return sideText(d.Old, d.Kind), sideText(d.New, d.Kind)
	}
	return report.Pair(fullText(d.Old, d.Kind), fullText(d.New, d.Kind))
}

func sideText(s *plan.Side, kind plan.Kind) string {
	if s == nil {
		return "(none)"
	}
	text, _ := report.Pair(fullText(s, kind), "")
	return text
}

func fullText(s *plan.Side, kind plan.Kind) string {
	if v, ok := s.Value.(string); ok && kind != plan.Value {
		return v
	}
	return report.JSON(s.Value)
}

// place is where a side is set, empty if that is unknown.
func place(s *plan.Side) string {
	if s == nil {
		return ""
	}
	return s.Position.String()
}
