package yamldoc_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

type file struct {
	Kind  string          `json:"kind" jsonschema:"enum=File"`
	Items []item          `json:"items,omitempty" jsonschema:"maxItems=2"`
	ByKey map[string]item `json:"byKey,omitempty" is:"name"`
	Paths []string        `json:"paths,omitempty" jsonschema:"oneof_type=string;array,uniqueItems=true"`
	Free  map[string]any  `json:"-"`
}

type item struct {
	common
	Name    string        `json:"name" is:"name"`
	Version string        `json:"version,omitempty" is:"quoted"`
	On      bool          `json:"is,omitempty"`
	Last    bool          `json:"place,omitempty" jsonschema:"enum=first,enum=last"`
	Day     time.Weekday  `json:"day,omitempty" jsonschema:"enum=sun,enum=mon"`
	Soak    time.Duration `json:"soak,omitempty" longest:"1h"`
	Until   time.Time     `json:"until,omitempty" expect:"a day"`
	Most    *float64      `json:"most,omitempty" expect:"a number"`
	Own     upper         `json:"own,omitempty" expect:"upper case"`
	Raw     *yamldoc.Node `json:"raw,omitempty"`
}

type common struct {
	Path string      `json:"path,omitempty" pattern:"^/" expect:"an absolute path"`
	Pos  problem.Pos `json:"-" is:"place"`
}

// Check has a rule beside the tags.
func (i *item) Check(at yamldoc.At) {
	if i.On && !at.Has("path") {
		at.Wrong("is", "on without a path", "a path")
	}
}

type upper string

func (u *upper) UnmarshalText(text []byte) error {
	if *u = upper(text); strings.ToUpper(string(text)) != string(text) {
		return errors.New("is lower case")
	}
	return nil
}

func decode(t *testing.T, text string) (file, string) {
	t.Helper()
	doc, err := yamldoc.Parse("f", []byte(text))
	require.NoError(t, err)
	var f file
	var lines []string
	for _, p := range yamldoc.NewReader(doc).Decode(doc.Root, "the file", problem.InvalidTeam, &f).Problems() {
		lines = append(lines, string(p.Reason)+" "+p.Error())
	}
	return f, strings.Join(lines, "\n")
}

func TestDecodeReadsEachKindOfField(t *testing.T) {
	most := 1.5
	f, problems := decode(t, `
kind: File
items:
- {name: 0123, path: /a, is: "true", place: last, day: mon, soak: 30m, until: 2026-12-01, most: 1.5, own: UP, version: "1.10", raw: [1]}
- {name: b, place: first, soak: "", path: null}
byKey: {a: {name: c}, gone: null}
paths: one
`)
	require.Equal(t, "", problems)
	if len(f.Items) != 2 || f.Items[0].Raw.Items()[0].Text() != "1" || f.Items[0].Pos.Line != 4 {
		t.Fatalf("%+v", f)
	}
	f.Items[0].Raw = nil
	pos := func(line, column int) common {
		return common{Pos: problem.Pos{File: "f", Line: line, Column: column}}
	}
	first := pos(4, 3)
	first.Path = "/a"
	want := file{Kind: "File", Paths: []string{"one"}, ByKey: map[string]item{"a": {common: pos(6, 12), Name: "c"}}, Items: []item{
		{common: first, Name: "0123", On: true, Last: true, Day: time.Monday, Soak: 30 * time.Minute, Until: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Most: &most, Own: "UP", Version: "1.10"},
		{common: pos(5, 3), Name: "b"},
	}}
	assert.Equal(t, "", cmp.Diff(want, f, cmp.AllowUnexported(item{})))
}

// Each mistake has its place, its code, and what was expected.
func TestDecodeProblems(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    `invalid-team f: key "kind": missing or empty; expected "File"`,
		"- a":                                 `invalid-value f:1:1: the file: is a list; expected a map`,
		"kind: Other":                         `invalid-value f:1:7: key "kind": "Other"; expected "File"`,
		"{kind: File, item: []}":              `unknown-key f:1:14: key "item": not known in the file; did you mean "items"?`,
		"{kind: File, items: a}":              `invalid-value f:1:21: key "items": is a string; expected a list`,
		"{kind: File, items: [a]}":            `invalid-value f:1:22: items[0]: is a string; expected a map`,
		"{kind: File, items: [{}, {}, {}]}":   `limit-exceeded f:1:21: key "items": 3 elements; expected at most 2`,
		"{kind: File, items: [null]}":         `invalid-team f:1:22: key "items[0].name": missing or empty; expected lower case letters, digits and inner hyphens, at most 63`,
		"{kind: File, items: [{name: A}]}":    `invalid-team f:1:29: key "items[0].name": "A" is not a DNS-1123 label; expected lower case letters, digits and inner hyphens, at most 63`,
		"{kind: File, byKey: {A: {name: a}}}": `invalid-team f:1:22: key "byKey.A": is not a DNS-1123 label; expected lower case letters, digits and inner hyphens, at most 63`,
		"{kind: File, paths: [a, a]}":         `invalid-team f:1:25: key "paths[1]": "a" is given again; expected each once`,
		"{kind: File, paths: [{}]}":           `invalid-value f:1:22: key "paths[0]": is a map; expected text`,
		"{kind: File, paths: {}}":             `invalid-value f:1:21: key "paths": is a map; expected a list`,
	} {
		if _, got := decode(t, text); !strings.HasPrefix(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	for field, want := range map[string]string{
		"version: 1.10":    `invalid-team f:1:41: key "items[0].version": is a number; expected text; put it in quotes: YAML reads 1.10 as 1.1`,
		"version: 0123":    `invalid-team f:1:41: key "items[0].version": is a number; expected text; put it in quotes: YAML reads 0123 as 83`,
		"is: 1":            `invalid-value f:1:36: key "items[0].is": 1; expected true or false`,
		"is: true":         `invalid-team f:1:36: key "items[0].is": on without a path; expected a path`,
		"place: lats":      `invalid-team f:1:39: key "items[0].place": "lats"; expected first or last; did you mean "last"?`,
		"day: tue":         `invalid-team f:1:37: key "items[0].day": "tue"; expected sun or mon`,
		"soak: 2h":         `invalid-team f:1:38: key "items[0].soak": "2h"; expected a duration such as 30m or 24h, at most 1h0m0s`,
		"soak: -1h":        `invalid-team f:1:38: key "items[0].soak": "-1h"; expected a duration`,
		"until: 12/01":     `invalid-team f:1:39: key "items[0].until": "12/01"; expected a day`,
		"most: many":       `invalid-team f:1:38: key "items[0].most": "many"; expected a number`,
		"own: up":          `invalid-team f:1:37: key "items[0].own": is lower case; expected upper case`,
		"path: a":          `invalid-team f:1:38: key "items[0].path": "a"; expected an absolute path`,
		"path: [a]":        `invalid-value f:1:38: key "items[0].path": is a list; expected text`,
		"nam: b, path: /a": `unknown-key f:1:32: key "nam": not known in items[0]; did you mean "name"?`,
	} {
		if _, got := decode(t, "{kind: File, items: [{name: a, "+field+"}]}"); !strings.HasPrefix(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", field, got, want)
		}
	}
}
