package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Bounds on the differences of an object that a chart makes: a new version of a definition may
// differ in thousands of fields, and a text may be a dashboard.
const (
	maxFields = 40
	maxField  = 400     // bytes of a text
	maxWhole  = 4 << 10 // bytes of a list or map, as JSON
)

// Hidden replaces the content of a Secret.
const Hidden = "(hidden)"

// bounded returns the first differences of an object, and how many it leaves out. It hides the
// content of a Secret. It shows only the first differing line of a long text, and only the
// differing part of a large list or map.
func bounded(o *object.Object, all []Difference) (out []Difference, more int) {
	if o.Application() || o.ApplicationSet() {
		return all, 0
	}
	if len(all) > maxFields {
		all, more = all[:maxFields], len(all)-maxFields
	}
	secret := o.Kind() == "Secret" && o.Key().Group == ""
	for i := range all {
		d := &all[i]
		path, err := hierarchy.ParsePath(d.Name)
		if secret && (err != nil || mayHoldSecret(path)) {
			hide(d.Old)
			hide(d.New)
			continue
		}
		shorten(d.Old, d.New)
	}
	return all, more
}

// mayHoldSecret reports whether a Secret's value at a path may be or hold its content: kubectl
// copies it into an annotation.
func mayHoldSecret(path []string) bool {
	switch path[0] {
	case "apiVersion", "kind", "type", "immutable":
		return false
	case "metadata":
		return len(path) == 1 || path[1] == "annotations" && (len(path) == 2 || path[2] == "kubectl.kubernetes.io/last-applied-configuration")
	}
	return true
}

func hide(s *Side) {
	if s != nil {
		s.Value = Hidden
	}
}

// shorten reduces long texts, lists and maps to what differs. Of a text, that is the first
// differing line.
func shorten(old, updated *Side) {
	asText(old, updated)
	b, a := textOf(old), textOf(updated)
	if len(b) <= maxField && len(a) <= maxField {
		return
	}
	was, is := strings.Split(b, "\n"), strings.Split(a, "\n")
	n := 0
	for n < len(was) && n < len(is) && was[n] == is[n] {
		n++
	}
	line := func(lines []string) string {
		if n < len(lines) {
			return lines[n]
		}
		return ""
	}
	lineOld, lineNew := problem.Differing(line(was), line(is), maxField)
	excerpt := func(s *Side, text, line string, lines int) {
		switch {
		case text == "": // nothing, or no text
		case len(was) == 1 && len(is) == 1:
			s.Value = line
		default:
			s.Value = fmt.Sprintf("line %d of %d: %s", n+1, lines, line)
		}
	}
	excerpt(old, b, lineOld, len(was))
	excerpt(updated, a, lineNew, len(is))
}

// asText replaces lists and maps by their JSON if one of them is large.
func asText(sides ...*Side) {
	texts, large := make([]string, len(sides)), false
	for i, s := range sides {
		if s == nil {
			continue
		}
		switch s.Value.(type) {
		case []any, map[string]any:
			if text, err := json.Marshal(s.Value); err == nil {
				texts[i], large = string(text), large || len(text) > maxWhole
			}
		}
	}
	for i, s := range sides {
		if large && texts[i] != "" {
			s.Value = texts[i]
		}
	}
}

func textOf(s *Side) string {
	if s == nil {
		return ""
	}
	text, _ := s.Value.(string)
	return text
}
