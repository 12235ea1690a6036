package lintreport

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
)

// TestReportsAreCut is rule H10: a report of very many findings lists the first and counts all;
// every format says how many it leaves out.
func TestReportsAreCut(t *testing.T) {
	var ps []problem.Problem
	for i := range 12_000 {
		severity := problem.Warning
		if i%3 == 0 {
			severity = problem.Error
		}
		ps = append(ps, problem.Problem{Reason: problem.UnknownKey, Severity: severity, Pos: problem.Pos{File: fmt.Sprintf("f%05d", i)}, Found: "x"})
	}
	r := New("r", ps, 1, 1)
	if r.Summary.Errors != 4000 || r.Summary.Warnings != 8000 || r.Summary.Omitted != 11_000 || len(r.Problems) != report.MaxFindings || r.Problems[0].Position.File != "f00000" {
		t.Errorf("%+v, %d listed", r.Summary, len(r.Problems))
	}
	var text, json, sarif, some bytes.Buffer
	for _, err := range []error{Write(&text, r, report.Style{}), report.WriteJSON(&json, r), report.WriteJSON(&sarif, NewSARIF(r, "v")), report.WriteFindings(&some, ps, report.Style{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, got, want string }{
		{"text", text.String(), "... and 11000 more findings\n4000 errors, 8000 warnings"},
		{"json", json.String(), `"omitted": 11000`},
		{"sarif", sarif.String(), `"omitted": 11000`},
		{"findings", some.String(), "... and 11000 more findings\n"},
	} {
		if !strings.Contains(c.got, c.want) || len(c.got) > 1<<20 {
			t.Errorf("%s: %d bytes, no %q", c.name, len(c.got), c.want)
		}
	}
}
