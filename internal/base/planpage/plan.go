package planpage

import (
	_ "embed"
	"html/template"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Stylesheet is that of all pages.
//
//go:embed argosy.css
var Stylesheet string

// Icon is the picture of all pages.
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
	// Notes are what is good to know, and Warnings what the plan lacks.
	Notes    []string `json:"notes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Refused are what the guard would refuse. Approval is the file that approves it.
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

// Count is how many clusters or Applications an action is done to.
type Count struct {
	Action string `json:"action"`
	Number int    `json:"number"`
	What   string `json:"what"`
}

// Refused says under a headline what would not be done.
type Refused struct {
	Headline string   `json:"headline"`
	Lines    []string `json:"lines"`
}

// Section is what changes alike on some clusters of a hub.
type Section struct {
	Hub      string `json:"hub"`
	Clusters []Link `json:"clusters"`
	// More counts further clusters.
	More  int    `json:"more,omitempty"`
	Lines []Line `json:"lines"`
}

// Link is a name, and the address of its page; empty for none. The JSON of lines that are alike on
// several clusters is the same.
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
	// Unit is what the line is one of, for where several without fields are counted as one: an
	// Application, for example; empty for the cluster itself. Such lines have the same Why, which
	// may be one of the notes.
	Unit string `json:"-"`
	Why  string `json:"-"`
	// Parts are the lines that this one counts; none for a single one.
	Parts []Line `json:"-"`
}

// Field is what differs, before and after; nil where there is nothing.
type Field struct {
	Name   string `json:"name"`
	Before *Side  `json:"before,omitempty"`
	After  *Side  `json:"after,omitempty"`
	// Caused is set if a position is what the change comes from, not where a side is set.
	Caused bool `json:"-"`
}

// Side is a value, and the place that sets it.
type Side struct {
	Text     string      `json:"value"`
	Position problem.Pos `json:"position,omitzero"`
	// URL is the address of the place; empty where it is not known.
	URL string `json:"url,omitempty"`
}

// Functions are those of PlanTemplate.
var Functions = template.FuncMap{
	"parts":  func(path string) []string { return strings.SplitAfter(path, "/") },
	"plural": Plural,
	"add":    func(a, b int) int { return a + b },
}

// Plural is a number and its noun.
func Plural(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "y"):
		return strconv.Itoa(n) + " " + strings.TrimSuffix(one, "y") + "ies"
	}
	return strconv.Itoa(n) + " " + one + "s"
}
