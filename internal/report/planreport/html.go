package planreport

import (
	"io"
	"strings"

	"github.com/argosy-hub/argosy/internal/plan"
	"github.com/argosy-hub/argosy/internal/planpage"
	"github.com/argosy-hub/argosy/internal/report"
	"github.com/argosy-hub/argosy/internal/report/approval"
)

// maxPageClusters is how many clusters of a section a page names before it counts.
const maxPageClusters = 200

// WriteHTML writes a plan as one file that refers to nothing else: all that Write has, in the same
// order.
func WriteHTML(w io.Writer, p Plan) error { return planpage.WriteFile(w, p.page()) }

// page is the plan for a page.
func (p Plan) page() planpage.Plan {
	out := planpage.Plan{
		Base: p.Base.String(), Head: p.Head.String(), Summary: p.Summary.String(), Counts: p.Summary.pageCounts(),
		Loud: p.loud(), Warnings: p.notKnown(), Sections: []planpage.Section{},
	}
	for _, n := range []struct {
		prefix string
		lines  []string
	}{{"waiting", p.waiting()}, {"rollout", p.rollouts()}, {"moved", p.Guard.Moved}, {"undecided", p.Guard.Undecided}} {
		for _, line := range n.lines {
			out.Notes = append(out.Notes, n.prefix+": "+line)
		}
	}
	if held := p.Guard.held(); len(held) > 0 {
		out.Refused = append(out.Refused, planpage.Refused{Headline: p.Guard.heldHeadline(), Lines: held})
	}
	for _, v := range verdicts {
		if refused, lines := p.Guard.refused(v), p.Guard.lines(v); len(lines) > 0 {
			out.Refused = append(out.Refused, planpage.Refused{Headline: headline(v, len(refused)), Lines: lines})
		}
	}
	if p.Guard.Approval != nil {
		var b strings.Builder
		_ = approval.Write(&b, p.Guard.Approval) // into memory
		out.Approval = b.String()
	}
	for _, h := range p.Hubs {
		for _, s := range sections(h) {
			out.Sections = append(out.Sections, pageSection(h.Name, s))
		}
	}
	return out
}

// pageCounts are the numbers of a summary that are not zero.
func (s Summary) pageCounts() (out []planpage.Count) {
	add := func(n int, action, what, words string) {
		if n > 0 {
			if n != 1 {
				what += "s"
			}
			out = append(out, planpage.Count{Action: action, Number: n, What: what + " " + words})
		}
	}
	add(s.Clusters.Create, planpage.Create, "cluster", "new")
	add(s.Clusters.Change, planpage.Change, "cluster", "changed")
	add(s.Clusters.Remove, planpage.Remove, "cluster", "removed")
	add(s.Applications.Create, planpage.Create, "Application", "to create")
	add(s.Applications.Change, planpage.Change, "Application", "to change")
	add(s.Applications.Move, planpage.Move, "Application", "to move")
	add(s.Applications.Remove, planpage.Remove, "Application", "to remove")
	add(s.Objects, planpage.Change, "further object", "changed")
	return out
}

func pageSection(hub string, s section) planpage.Section {
	out := planpage.Section{Hub: hub, More: max(0, len(s.clusters)-maxPageClusters)}
	for _, c := range s.clusters[:min(len(s.clusters), maxPageClusters)] {
		out.Clusters = append(out.Clusters, planpage.Link{Name: report.Printable(c)})
	}
	for _, l := range s.lines {
		line := planpage.Line{Action: string(l.action), Fields: []planpage.Field{}, More: l.more}
		for _, t := range l.titles {
			line.Titles = append(line.Titles, planpage.Link{Name: report.Printable(t)})
		}
		for _, n := range l.notes() {
			line.Notes = append(line.Notes, report.Printable(n))
		}
		for _, d := range l.differences {
			old, updated := sideTexts(d)
			line.Fields = append(line.Fields, planpage.Field{Name: report.Printable(title(d)), Before: pageSide(d.Old, old), After: pageSide(d.New, updated)})
		}
		out.Lines = append(out.Lines, line)
	}
	return out
}

func pageSide(s *plan.Side, text string) *planpage.Side {
	if s == nil {
		return nil
	}
	return &planpage.Side{Text: report.Printable(text), Position: s.Position}
}
