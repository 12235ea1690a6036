package report

import (
	"fmt"
	"io"

	"github.com/argosy-hub/argosy/internal/problem"
)

// Finding is one problem.
type Finding struct {
	// Reason is a stable code; docs/reference/problems.md describes each.
	Reason   string `json:"reason"`
	Severity string `json:"severity" jsonschema:"enum=error,enum=warning"`
	// Position is where the problem is.
	Position problem.Pos `json:"position,omitzero"`
	// Message says what is wrong in one line, without position and hints.
	Message string `json:"message"`
	// Subject, Found and Expected are the message's parts.
	Subject  string `json:"subject,omitempty"`
	Found    string `json:"found,omitempty"`
	Expected string `json:"expected,omitempty"`
	// Hints say how to fix it.
	Hints []string `json:"hints,omitempty"`
	// Related are further places that take part.
	Related []problem.Pos `json:"related,omitempty"`
	// Hub and Cluster name the member concerned, if it is one member alone.
	Hub     string `json:"hub,omitempty"`
	Cluster string `json:"cluster,omitempty"`
}

// NewFinding reports a problem.
func NewFinding(p problem.Problem) Finding {
	f := Finding{
		Reason: string(p.Reason), Severity: string(p.Severity), Position: p.Pos,
		Subject: p.Subject, Found: p.Found, Expected: p.Expected,
		Hints: p.Hints, Related: p.Related, Hub: p.Hub, Cluster: p.Cluster,
	}
	p.Hints, p.Related = nil, nil
	f.Message = p.Message()
	return f
}

// Findings reports problems, in their order.
func Findings(ps []problem.Problem) []Finding {
	out := make([]Finding, 0, len(ps))
	for _, p := range ps {
		out = append(out, NewFinding(p))
	}
	return out
}

// MaxFindings is how many findings a report lists.
const MaxFindings = 1000

// WriteFindings writes problems as text: the first MaxFindings, and how many more there are.
func WriteFindings(w io.Writer, ps []problem.Problem, s Style) error {
	p := NewPrinter(w, s)
	listed := ps[:min(MaxFindings, len(ps))]
	p.Findings(Findings(listed), len(ps)-len(listed))
	return p.Err
}

// Findings prints findings, and how many more there are that are not among them.
func (p *Printer) Findings(fs []Finding, omitted int) {
	for _, f := range fs {
		p.Finding(f)
	}
	if omitted > 0 {
		p.Line("... and %s", p.Bold(Count(omitted, "more finding")))
	}
}

// Finding prints a finding, with its hints and related places on lines of their own.
func (p *Printer) Finding(f Finding) {
	where := ""
	if !f.Position.IsZero() {
		where = p.Bold(f.Position.String()+":") + " "
	}
	severity := p.Yellow(f.Severity + ":")
	if f.Severity == string(problem.Error) {
		severity = p.Red(f.Severity + ":")
	}
	p.Line("%s%s %s %s", where, severity, f.Message, p.Dim("["+f.Reason+"]"))
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
