package report

import (
	"fmt"
	"io"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// MaxFindings is how many findings a report lists.
const MaxFindings = 1000

// WriteFindings writes problems as text: the first MaxFindings, and how many more there are.
func WriteFindings(w io.Writer, ps []problem.Problem, s Style) error {
	p := NewPrinter(w, s)
	listed := ps[:min(MaxFindings, len(ps))]
	p.Findings(problem.Findings(listed), len(ps)-len(listed))
	return p.Err
}

// Findings prints findings, and how many others were omitted.
func (p *Printer) Findings(fs []problem.Finding, omitted int) {
	for _, f := range fs {
		p.Finding(f)
	}
	if omitted > 0 {
		p.Line("... and %s", p.Bold(Count(omitted, "more finding")))
	}
}

// Finding prints a finding, with its hints and related places on lines of their own.
func (p *Printer) Finding(f problem.Finding) {
	where := ""
	if !f.Pos.IsZero() {
		where = p.Bold(f.Pos.String()+":") + " "
	}
	severity := p.Yellow(string(f.Severity) + ":")
	if f.Severity == problem.Error {
		severity = p.Red(string(f.Severity) + ":")
	}
	p.Line("%s%s %s %s", where, severity, f.Message, p.Dim("["+string(f.Reason)+"]"))
	for _, r := range f.Related {
		p.Line("    see %s", r)
	}
	for _, h := range f.Hints {
		p.Line("    %s %s", p.Cyan("hint:"), h)
	}
	if f.Cluster != "" {
		p.Line("    %s", p.Dim(fmt.Sprintf("concerns cluster %s of hub %s", f.Cluster, f.Hub)))
	}
}
