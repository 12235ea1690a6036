// Package lintreport writes the findings about a repository as text, JSON and SARIF.
package lintreport

import (
	"io"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
)

// Report is every finding about a repository.
type Report struct {
	APIVersion string `json:"apiVersion" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind" jsonschema:"enum=LintReport"`
	// Revision is the Git commit, or for a folder a digest of its files.
	Revision string  `json:"revision"`
	Summary  Summary `json:"summary"`
	// Problems are the findings, in order of position: the first 1,000.
	Problems []problem.Finding `json:"problems"`
}

// Kind is the kind of a Report.
const Kind = "LintReport"

// IsClean reports that there are no problems; notes do not count.
func (s Summary) IsClean() bool { return s.Errors+s.Warnings == 0 }

// Fails reports that there are errors; in a strict reading, that there are problems.
func (s Summary) Fails(isStrict bool) bool { return s.Errors > 0 || isStrict && !s.IsClean() }

// Summary counts findings, hubs and clusters.
type Summary struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	// Notes counts the notes: they report what is right as it is.
	Notes int `json:"notes,omitempty"`
	// Omitted is how many findings the report does not list.
	Omitted int `json:"omitted,omitempty"`
	// Hubs and Clusters are 0 when the repository as a whole cannot be read.
	Hubs     int `json:"hubs"`
	Clusters int `json:"clusters"`
}

// New returns the report of the problems in a repository with the given number of hubs and
// clusters.
func New(revision string, problems []problem.Problem, hubs, clusters int) Report {
	problems = problem.Sorted(problems)
	errs := len(problem.Errors(problems))
	listed := slices.DeleteFunc(slices.Clone(problems), func(p problem.Problem) bool { return p.Severity == problem.Note })
	notes := len(problems) - len(listed)
	if len(problems) <= report.MaxFindings { // else notes would leave problems out
		listed = problems
	}
	listed = listed[:min(report.MaxFindings, len(listed))]
	return Report{
		APIVersion: report.APIVersion, Kind: Kind, Revision: revision, Problems: problem.Findings(listed),
		Summary: Summary{
			Errors: errs, Warnings: len(problems) - errs - notes, Notes: notes, Omitted: len(problems) - len(listed),
			Hubs: hubs, Clusters: clusters,
		},
	}
}

// Write writes a report as text: the findings, and a line that sums them up.
func Write(w io.Writer, r Report, s report.Style) error {
	p := report.NewPrinter(w, s)
	p.Findings(r.Problems, r.Summary.Omitted)
	p.Line("%s", r.Summary)
	return p.Err
}

func (s Summary) String() string {
	scope := "the repository cannot be used as a whole"
	if s.Hubs > 0 {
		scope = report.Count(s.Clusters, "cluster") + " of " + report.Count(s.Hubs, "hub")
	}
	count := "no problems"
	if !s.IsClean() {
		count = report.Count(s.Errors, "error") + ", " + report.Count(s.Warnings, "warning")
	}
	if s.Notes > 0 {
		count += ", " + report.Count(s.Notes, "note")
	}
	return count + ": " + scope
}
