package report

import (
	"fmt"
	"io"

	"github.com/argosy-hub/argosy/internal/problem"
)

// LintReport is every finding about a repository.
type LintReport struct {
	APIVersion string `json:"apiVersion" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind" jsonschema:"enum=LintReport"`
	// Revision is the Git commit, or for a folder a digest of its files.
	Revision string      `json:"revision"`
	Summary  LintSummary `json:"summary"`
	// Problems are the findings, in order of position: the first 1,000.
	Problems []Finding `json:"problems"`
}

// MaxFindings is how many findings a report lists.
const MaxFindings = 1000

// LintSummary counts.
type LintSummary struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	// Omitted is how many of them the report does not list.
	Omitted int `json:"omitted,omitempty"`
	// Hubs and Clusters are 0 when the repository as a whole cannot be read.
	Hubs     int `json:"hubs"`
	Clusters int `json:"clusters"`
}

// NewLintReport is the report of problems found in a repository with so many hubs and clusters.
func NewLintReport(revision string, problems []problem.Problem, hubs, clusters int) LintReport {
	problems = problem.Sorted(problems)
	errs := len(problem.Errors(problems))
	listed := problems[:min(MaxFindings, len(problems))]
	return LintReport{
		APIVersion: APIVersion, Kind: KindLintReport, Revision: revision, Problems: findings(listed),
		Summary: LintSummary{Errors: errs, Warnings: len(problems) - errs, Omitted: len(problems) - len(listed), Hubs: hubs, Clusters: clusters},
	}
}

// WriteLint writes a report as text: the findings, and a line that sums them up.
func WriteLint(w io.Writer, r LintReport, s Style) error {
	p := printer{w: w, Style: s}
	for _, f := range r.Problems {
		p.finding(f)
	}
	p.omitted(r.Summary.Omitted)
	p.line("%s", r.Summary.text())
	return p.err
}

// WriteFindings writes findings as WriteLint does, without the sum.
func WriteFindings(w io.Writer, ps []problem.Problem, s Style) error {
	p := printer{w: w, Style: s}
	listed := ps[:min(MaxFindings, len(ps))]
	for _, f := range findings(listed) {
		p.finding(f)
	}
	p.omitted(len(ps) - len(listed))
	return p.err
}

// omitted says how many findings are not listed.
func (p *printer) omitted(n int) {
	if n > 0 {
		p.line("... and %s", p.bold(count(n, "more finding")))
	}
}

func (p *printer) finding(f Finding) {
	where := ""
	if f.Position != nil {
		where = p.bold(f.Position.String()+":") + " "
	}
	severity := p.yellow(f.Severity + ":")
	if f.Severity == string(problem.Error) {
		severity = p.red(f.Severity + ":")
	}
	p.line("%s%s %s %s", where, severity, f.Message, p.dim("["+f.Reason+"]"))
	for _, r := range f.Related {
		p.line("    see %s", r.String())
	}
	for _, h := range f.Hints {
		p.line("    %s %s", p.cyan("hint:"), h)
	}
	if f.Cluster != "" {
		p.line("    %s", p.dim(fmt.Sprintf("concerns cluster %s of hub %s", f.Cluster, f.Hub)))
	}
}

func (s LintSummary) text() string {
	scope := "the repository cannot be used as a whole"
	if s.Hubs > 0 {
		scope = fmt.Sprintf("%s of %s", count(s.Clusters, "cluster"), count(s.Hubs, "hub"))
	}
	if s.Errors == 0 && s.Warnings == 0 {
		return "no problems: " + scope
	}
	return fmt.Sprintf("%s, %s: %s", count(s.Errors, "error"), count(s.Warnings, "warning"), scope)
}

// count is a number and its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
