package lintreport

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
)

var finding = problem.Problem{
	Reason: problem.UnknownKey, Severity: problem.Error, Pos: problem.Pos{File: "a b/ü.yaml", Line: 3, Column: 7},
	Subject: "key \"x\x1b[2J\"", Found: "not known", Hints: []string{"did you mean \"y\"?"}, Related: []problem.Pos{{File: "c.yaml", Line: 1}},
	Hub: "hub", Cluster: "c",
}

func TestColour(t *testing.T) {
	var plain, colour bytes.Buffer
	r := New("r", []problem.Problem{finding}, 1, 1)
	if err := Write(&plain, r, report.Style{}); err != nil {
		t.Fatal(err)
	}
	if err := Write(&colour, r, report.Style{Color: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") {
		t.Errorf("plain text has escape sequences: %q", plain.String())
	}
	if !strings.Contains(colour.String(), "\x1b[31merror:\x1b[0m") {
		t.Errorf("the severity is not coloured: %q", colour.String())
	}
	// Colour only says again what the words say; a file's own escape sequences are shown, never
	// obeyed.
	stripped := colour.String()
	for _, code := range []string{"0", "1", "2", "31", "36"} {
		stripped = strings.ReplaceAll(stripped, "\x1b["+code+"m", "")
	}
	if stripped != plain.String() {
		t.Errorf("without colours:\n%q\nplain:\n%q", stripped, plain.String())
	}
	if !strings.Contains(plain.String(), `\x1b[2J`) {
		t.Errorf("the escape sequence is not shown: %q", plain.String())
	}
}

func TestSARIF(t *testing.T) {
	r := New("r", []problem.Problem{finding, {Reason: problem.NoMembers, Severity: problem.Error, Found: "none"}}, 0, 0)
	log := NewSARIF(r, "v1")
	text, err := json.Marshal(log)
	if err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) != 2 {
		t.Fatalf("%d results", len(run.Results))
	}
	for _, result := range run.Results {
		if run.Tool.Driver.Rules[result.RuleIndex].ID != result.RuleID {
			t.Errorf("ruleIndex %d is not %s", result.RuleIndex, result.RuleID)
		}
	}
	if len(run.Results[0].Locations) != 0 {
		t.Error("a finding without a place has a location")
	}
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
