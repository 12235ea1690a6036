package report

import (
	"encoding/json"
	"io"

	"github.com/argosy-hub/argosy/internal/problem"
)

// APIVersion is the version of every envelope.
const APIVersion = "argosy.dev/v1alpha1"

// The kinds of envelopes.
const (
	KindLintReport  = "LintReport"
	KindExplanation = "Explanation"
	KindPlan        = "Plan"
	KindVersion     = "Version"
	// KindRemovalApproval is that of a file that people write, not of an output.
	KindRemovalApproval = "RemovalApproval"
)

// Position is a place in a file of the repository. Line and column count from 1 and are absent when unknown.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty" jsonschema:"minimum=1"`
	Column int    `json:"column,omitempty" jsonschema:"minimum=1"`
}

// String is "file:line:column" as far as it is known.
func (p *Position) String() string {
	if p == nil {
		return ""
	}
	return problem.Pos{File: p.File, Line: p.Line, Column: p.Column}.String()
}

// position is a place, nil when nothing is known of it.
func position(p problem.Pos) *Position {
	if p.IsZero() {
		return nil
	}
	return &Position{File: p.File, Line: p.Line, Column: p.Column}
}

// Finding is one problem.
type Finding struct {
	// Reason is a stable code; docs/reference/problems.md describes each.
	Reason   string `json:"reason"`
	Severity string `json:"severity" jsonschema:"enum=error,enum=warning"`
	// Position is where the problem stands.
	Position *Position `json:"position,omitempty"`
	// Message says what is wrong in one line, without position and hints.
	Message string `json:"message"`
	// Subject, Found and Expected are the message's parts.
	Subject  string `json:"subject,omitempty"`
	Found    string `json:"found,omitempty"`
	Expected string `json:"expected,omitempty"`
	// Hints say how to mend it.
	Hints []string `json:"hints,omitempty"`
	// Related are other places that take part.
	Related []Position `json:"related,omitempty"`
	// Hub and Cluster name the member concerned, if it is one member alone.
	Hub     string `json:"hub,omitempty"`
	Cluster string `json:"cluster,omitempty"`
}

// NewFinding is a problem as it is reported.
func NewFinding(p problem.Problem) Finding {
	f := Finding{
		Reason: string(p.Reason), Severity: string(p.Severity), Position: position(p.Pos),
		Subject: p.Subject, Found: p.Found, Expected: p.Expected, Hints: p.Hints, Hub: p.Hub, Cluster: p.Cluster,
	}
	for _, r := range p.Related {
		f.Related = append(f.Related, Position{File: r.File, Line: r.Line, Column: r.Column})
	}
	p.Hints, p.Related = nil, nil
	f.Message = p.Message()
	return f
}

func findings(ps []problem.Problem) []Finding {
	out := make([]Finding, 0, len(ps))
	for _, p := range ps {
		out = append(out, NewFinding(p))
	}
	return out
}

// WriteJSON writes an envelope as indented JSON.
func WriteJSON(w io.Writer, envelope any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(envelope)
}

// Version is what the program says of itself.
type Version struct {
	APIVersion string `json:"apiVersion" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind" jsonschema:"enum=Version"`
	// Version is the release's version, or "devel".
	Version string `json:"version"`
	// Revision is the commit that the program was built from, when it is known.
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}
