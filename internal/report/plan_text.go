package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/argosy-hub/argosy/internal/plan"
)

// maxNames is how many names of clusters text and Markdown list before they count.
const maxNames = 8

// WritePlan writes a plan as text: for each hub what changes alike on which clusters, and a line that sums it up.
func WritePlan(w io.Writer, p Plan, s Style) error {
	out := printer{w: w, Style: s}
	out.line("%s", out.dim(fmt.Sprintf("from %s to %s", p.Base, p.Head)))
	for _, loud := range p.loud() {
		out.line("%s", out.bold(out.red(loud)))
	}
	for _, h := range p.Hubs {
		for _, section := range sections(h) {
			out.line("")
			out.section(h.Name, section)
		}
	}
	if p.Changes() {
		out.line("")
	}
	out.line("%s", p.Summary.text())
	for _, line := range p.waiting() {
		out.line("waiting: %s", line)
	}
	for _, h := range p.Hubs {
		for _, line := range h.rollouts() {
			out.line("rollout: %s", line)
		}
	}
	for _, line := range p.notKnown() {
		out.line("%s", out.yellow(line))
	}
	out.guard(p.Guard)
	return out.err
}

func (p *printer) section(hub string, s section) {
	head := named(s.clusters)
	if n := len(s.clusters); n > 1 {
		head = fmt.Sprintf("%d clusters: %s", n, head)
	}
	p.line("%s", p.bold(hub+": "+head))
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

func (p *printer) planLine(l planLine, width int) {
	title := strings.Join(l.titles, ", ")
	p.line("  %s %-*s  %s", p.sign(l.action), width, title, strings.Join(l.notes(), "  "))
	for _, d := range l.differences {
		p.line("      %s: %s -> %s", p.cyan(d.title()), d.Old.text(d.Kind), d.New.text(d.Kind))
		was, now := d.Old.place(), d.New.place()
		if was == now {
			p.place("at", now)
			continue
		}
		if d.Kind == string(plan.Field) && (was == "" || now == "") { // of one side alone, it is what the change comes from
			p.place("by", was+now)
			continue
		}
		p.place("was at", was)
		p.place("now at", now)
	}
	if l.more > 0 {
		p.line("      and %s", count(l.more, "further field"))
	}
}

// place is a line of its own for a place that is known.
func (p *printer) place(what, place string) {
	if place != "" {
		p.line("          %s", p.dim(what+" "+place))
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
func (p *printer) sign(action string) string {
	switch plan.Action(action) {
	case plan.Create:
		return p.green("+")
	case plan.Remove:
		return p.red("-")
	case plan.Move:
		return p.yellow(">")
	}
	return p.yellow("~")
}

// title says what a difference is about; values and settings speak for themselves.
func (d PlanDifference) title() string {
	switch plan.Kind(d.Kind) {
	case plan.Label, plan.Annotation:
		return d.Kind + " " + d.Name
	}
	return d.Name
}

// text is one side's value: JSON for the chart's values, where types matter.
func (s *PlanSide) text(kind string) string {
	if s == nil {
		return "(none)"
	}
	if v, ok := s.Value.(string); ok && kind != string(plan.Value) {
		return v
	}
	return text(s.Value)
}

func (s *PlanSide) place() string {
	if s == nil {
		return ""
	}
	return s.Position.String()
}
