package planpage

import (
	_ "embed"
	"html/template"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Stylesheet is the stylesheet of all pages.
//
//go:embed argosy.css
var Stylesheet string

// Icon is the icon of all pages.
//
//go:embed icon.svg
var Icon string

// PlanTemplate defines the template "plan", which shows a Plan. It needs Functions.
//
//go:embed plan.html
var PlanTemplate string

// Plan is what changes between two revisions.
type Plan struct {
	Base    string   `json:"base"`
	Head    string   `json:"head"`
	Summary string   `json:"summary"`
	Counts  []Count  `json:"counts"`
	Loud    []string `json:"loud,omitempty"`
	// Notes are remarks on the plan, and Warnings say what the plan lacks.
	Notes    []string `json:"notes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Refused are the changes that the guard would refuse. Approval is the file that approves them.
	Refused  []Refused `json:"refused,omitempty"`
	Approval string    `json:"approval,omitempty"`
	Sections []Section `json:"sections"`
}

// The actions of Count and Line.
const (
	Create = "create"
	Change = "change"
	Move   = "move"
	Remove = "remove"
)

// Count is the number of clusters or Applications that an action affects.
type Count struct {
	Action string `json:"action"`
	Number int    `json:"number"`
	What   string `json:"what"`
}

// Refused lists under a headline the changes that the guard would refuse.
type Refused struct {
	Headline string   `json:"headline"`
	Lines    []string `json:"lines"`
}

// Section holds changes that are the same on each of its clusters, all of one hub.
type Section struct {
	Hub      string `json:"hub"`
	Clusters []Link `json:"clusters"`
	// More counts further clusters.
	More  int    `json:"more,omitempty"`
	Lines []Line `json:"lines"`
}

// Link is a name with the address of its page, empty for none. The address is not in the JSON, so
// lines that several clusters share have the same JSON.
type Link struct {
	Name string `json:"name"`
	URL  string `json:"-"`
}

// Line is one change.
type Line struct {
	Action string   `json:"action"`
	Titles []Link   `json:"titles"`
	Notes  []string `json:"notes,omitempty"`
	Fields []Field  `json:"fields"`
	// More counts further fields.
	More int `json:"more,omitempty"`
	// Unit is the noun by which several lines without fields are counted as one, such as
	// Application; empty for the cluster itself. Such lines have the same Why, which may be one of
	// the notes.
	Unit string `json:"-"`
	Why  string `json:"-"`
	// Parts are the lines that this one counts; none for a single one.
	Parts []Line `json:"-"`
}

// Field is a field that differs, before and after; a side without the field is nil.
type Field struct {
	Name   string `json:"name"`
	Before *Side  `json:"before,omitempty"`
	After  *Side  `json:"after,omitempty"`
	// Caused is set if a position is the change's cause, not the place that sets a side.
	Caused bool `json:"-"`
}

// Side is a value, and the place that sets it.
type Side struct {
	Text     string      `json:"value"`
	Position problem.Pos `json:"position,omitzero"`
	// URL is the address of the place; empty where it is not known.
	URL string `json:"url,omitempty"`
}

// Functions are the functions of PlanTemplate.
var Functions = template.FuncMap{
	"parts":  func(path string) []string { return strings.SplitAfter(path, "/") },
	"plural": Plural,
	"add":    func(a, b int) int { return a + b },
}

// Plural returns a number and its noun.
func Plural(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "y"):
		return strconv.Itoa(n) + " " + strings.TrimSuffix(one, "y") + "ies"
	}
	return strconv.Itoa(n) + " " + one + "s"
}
