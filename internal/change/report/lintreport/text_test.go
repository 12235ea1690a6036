package lintreport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var finding = problem.Problem{
	Reason: problem.UnknownKey, Severity: problem.Error, Pos: problem.Pos{File: "a b/ü.yaml", Line: 3, Column: 7},
	Subject: "key \"x\x1b[2J\"", Found: "not known", Hints: []string{"did you mean \"y\"?"}, Related: []problem.Pos{{File: "c.yaml", Line: 1}},
	Hub: "hub", Cluster: "c",
}

func TestColour(t *testing.T) {
	var plain, colour bytes.Buffer
	r := New("r", []problem.Problem{finding}, 1, 1)
	require.NoError(t, Write(&plain, r, report.Style{}))
	require.NoError(t, Write(&colour, r, report.Style{Color: true}))
	if strings.Contains(plain.String(), "\x1b") {
		t.Errorf("plain text has escape sequences: %q", plain.String())
	}
	assert.Contains(t, colour.String(), "\x1b[31merror:\x1b[0m", "the severity is not coloured")
	// Colour only says again what the words say; a file's own escape sequences are shown, never
	// obeyed.
	stripped := colour.String()
	for _, code := range []string{"0", "1", "2", "31", "36"} {
		stripped = strings.ReplaceAll(stripped, "\x1b["+code+"m", "")
	}
	if stripped != plain.String() {
		t.Errorf("without colours:\n%q\nplain:\n%q", stripped, plain.String())
	}
	assert.Contains(t, plain.String(), `\x1b[2J`, "the escape sequence is not shown")
}

func TestSARIF(t *testing.T) {
	r := New("r", []problem.Problem{finding, {Reason: problem.NoMembers, Severity: problem.Error, Found: "none"}}, 0, 0)
	log := NewSARIF(r, "v1")
	text, err := json.Marshal(log)
	require.NoError(t, err)
	run := log.Runs[0]
	if len(run.Results) != 2 {
		t.Fatalf("%d results", len(run.Results))
	}
	for _, result := range run.Results {
		assert.Equal(t, result.RuleID, run.Tool.Driver.Rules[result.RuleIndex].ID, "ruleIndex %d is not", result.RuleIndex)
	}
	assert.Equal(t, 0, len(run.Results[0].Locations), "a finding without a place has a location")
	for _, want := range []string{
		`"uri":"a%20b/%C3%BC.yaml"`, `"region":{"startLine":3,"startColumn":7}`, `"uri":"c.yaml"`, `"level":"error"`, `"version":"2.1.0"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	// A fingerprint survives a change of line.
	moved := finding
	moved.Pos.Line = 30
	if fingerprint(problem.NewFinding(moved)) != fingerprint(problem.NewFinding(finding)) {
		t.Error("the fingerprint depends on the line")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

var errFull = &json.InvalidUnmarshalError{}

// An output that fails is an error, not a short report.
func TestWriteFails(t *testing.T) {
	if err := Write(failing{}, New("r", nil, 1, 1), report.Style{}); err == nil {
		t.Error("no error")
	}
}

// U1: a finding in the repository of a mount is none of this repository's file of that path, nor
// another mount's.
func TestSARIFOfAMount(t *testing.T) {
	in := func(repository string) problem.Finding {
		p := finding
		p.Pos.Repository = repository
		return problem.NewFinding(p)
	}
	ours, cart, card := in(""), in("https://git.example.com/cart.git"), in("https://git.example.com/card.git")
	if a, b, c := fingerprint(ours), fingerprint(cart), fingerprint(card); a == b || b == c {
		t.Errorf("one fingerprint for several repositories: %s %s %s", a, b, c)
	}
	result := resultOf(cart, 0)
	for _, l := range result.Locations {
		if uri := l.PhysicalLocation.ArtifactLocation.URI; uri == "a%20b/%C3%BC.yaml" {
			t.Errorf("%s is this repository's file", uri)
		}
	}
	if want := "https://git.example.com/cart.git//a b/ü.yaml:3:7: "; !strings.HasPrefix(result.Message.Text, want) {
		t.Errorf("%q does not begin with %q", result.Message.Text, want)
	}
}

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
	if r.Summary.Errors != 4000 || r.Summary.Warnings != 8000 || r.Summary.Omitted != 11_000 || len(r.Problems) != report.MaxFindings || r.Problems[0].Pos.File != "f00000" {
		t.Errorf("%+v, %d listed", r.Summary, len(r.Problems))
	}
	var text, json, sarif, some bytes.Buffer
	for _, err := range []error{Write(&text, r, report.Style{}), report.WriteJSON(&json, r), report.WriteJSON(&sarif, NewSARIF(r, "v")), report.WriteFindings(&some, ps, report.Style{})} {
		require.NoError(t, err)
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

// Every reason code is documented, with an example and a way to fix it.
func TestReasonsAreDocumented(t *testing.T) {
	codes := reasons(t)
	data, err := os.ReadFile("../../../../docs/reference/problems.md")
	require.NoError(t, err)
	sections := map[string]string{}
	var order []string
	for _, section := range strings.Split(string(data), "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		sections[name] = text
		order = append(order, name)
	}
	if !slices.Equal(order, codes) {
		t.Errorf("docs/reference/problems.md describes\n%v\nthe codes are\n%v", order, codes)
	}
	for _, code := range codes {
		text := sections[code]
		if !strings.Contains(text, "["+code+"]") || !strings.Contains(text, "\nFix: ") {
			t.Errorf("%s: expected an example that ends in [%s], and a paragraph \"Fix: \"", code, code)
		}
		if !regexp.MustCompile(`\n\n    (\S.*: )?(error|warning|note): `).MatchString(text) {
			t.Errorf("%s: expected an example as lint prints it", code)
		}
	}
}

// reasons are the values of all constants of type problem.Reason, sorted.
func reasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../base/problem/problem.go", nil, 0)
	require.NoError(t, err)
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); ok && id.Name == "Reason" {
			for _, value := range v.Values {
				text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				require.NoError(t, err)
				out = append(out, text)
			}
		}
		return true
	})
	slices.Sort(out)
	if len(out) < 20 {
		t.Fatalf("found only %d reasons", len(out))
	}
	return out
}
