package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/lint/secretscan"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// documents reports problems within the readable files: scalars that YAML versions read
// differently, keys that a merge key sets again, and documents that are never read.
func (l *linter) documents() {
	for _, p := range slices.Sorted(maps.Keys(l.reachable)) {
		file := l.st.Resolver().Snapshot.File(p)
		if file == nil || strings.HasSuffix(p, hierarchy.TemplateSuffix) {
			continue
		}
		doc, err := l.st.Resolver().Documents.Doc(file)
		if err != nil {
			l.problems = append(l.problems, problem.From(err, problem.InvalidYAML, problem.Pos{File: p})...)
			continue
		}
		l.problems = append(append(l.problems, doc.Duplicates...), doc.Overridden...)
		for _, a := range doc.Ambiguous {
			what := "value"
			if a.Key {
				what = "key"
			}
			found := "Helm reads " + a.Means
			if a.Differ {
				found += ", YAML 1.2 reads something else"
			}
			l.problems = append(l.problems, problem.Problem{
				Reason: problem.AmbiguousScalar, Severity: problem.Warning, Pos: a.Pos, Subject: fmt.Sprintf("%s %s", what, a.Text),
				Found: found, Hints: []string{"put it in quotes, or write what you mean"},
			})
		}
		if !doc.Extra.IsZero() {
			l.problems = append(l.problems, problem.Problem{
				Reason: problem.MultipleDocuments, Severity: problem.Warning, Pos: doc.Extra,
				Found: "a second document, which is not read", Expected: "one document in a file",
			})
		}
	}
}

// plaintext reports secrets in plain text in all files that some cluster can read.
func (l *linter) plaintext() {
	for _, p := range slices.Sorted(maps.Keys(l.reachable)) {
		file := l.st.Resolver().Snapshot.File(p)
		if file == nil || file.Err != nil {
			continue
		}
		var found []problem.Problem
		if strings.HasSuffix(p, hierarchy.TemplateSuffix) {
			found = secretscan.Template(file)
		} else if doc, err := l.st.Resolver().Documents.Doc(file); err == nil {
			found = secretscan.Document(file, doc.Root)
		}
		l.problems = append(l.problems, problem.Cut(found, problem.OfFile)...)
	}
}
