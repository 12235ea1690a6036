package hierarchy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Strategy says how two values at one path become one.
type Strategy string

// The strategies. Default is Helm's: maps merge, all else is replaced.
const (
	Default Strategy = ""
	Append  Strategy = "append"  // lists: the later layer's elements after the earlier one's
	Unique  Strategy = "unique"  // lists: as Append, without elements that the list already has
	ByKey   Strategy = "by-key"  // lists of maps: elements with the same value of a key merge, others are appended
	Replace Strategy = "replace" // maps: the later layer's map replaces the earlier one's
)

// Rule chooses a strategy for the paths that a pattern matches.
type Rule struct {
	// Pattern is a path of keys, in which the part `*` stands for any one part and `**` for any
	// number.
	Pattern string `json:"path" expect:"a path of keys"`
	// Group and Component limit the rule when they are not empty.
	Group     string   `json:"group,omitempty"`
	Component string   `json:"component,omitempty"`
	Strategy  Strategy `json:"-"`
	// Key is the elements' identifying key with ByKey.
	Key string      `json:"-"`
	Pos problem.Pos `json:"-" is:"place"`

	parts []string
}

// Rules are tried in order; the first that matches decides.
type Rules []Rule

// NewRules checks and compiles rules. The error names the rule by its pattern.
func NewRules(rules ...Rule) (Rules, error) {
	out := make(Rules, 0, len(rules))
	for _, r := range rules {
		parts, err := ParsePath(r.Pattern)
		if err != nil {
			return nil, err
		}
		if len(parts) == 0 {
			return nil, fmt.Errorf("empty path")
		}
		switch r.Strategy {
		case Append, Unique, Replace:
			if r.Key != "" {
				return nil, fmt.Errorf("rule for %q: only strategy %s takes a key", r.Pattern, ByKey)
			}
		case ByKey:
			if r.Key == "" {
				return nil, fmt.Errorf("rule for %q: strategy %s needs a key", r.Pattern, ByKey)
			}
		default:
			return nil, fmt.Errorf("rule for %q: unknown strategy %q; expected append, unique, by-key or replace", r.Pattern, r.Strategy)
		}
		r.parts = parts
		out = append(out, r)
	}
	return out, nil
}

// For returns the rules that concern one component, in order.
func (rs Rules) For(group, component string) Rules {
	concerns := func(r Rule) bool {
		return (r.Group == "" || r.Group == group) && (r.Component == "" || r.Component == component)
	}
	if !slices.ContainsFunc(rs, concerns) {
		return nil
	}
	if !slices.ContainsFunc(rs, func(r Rule) bool { return !concerns(r) }) {
		return rs // all of them: the same slice, so that components can share trees
	}
	var out Rules
	for _, r := range rs {
		if concerns(r) {
			out = append(out, r)
		}
	}
	return out
}

// at returns the rule for a path, nil for the default.
func (rs Rules) at(path []string) *Rule {
	for i := range rs {
		if matches(rs[i].parts, path) {
			return &rs[i]
		}
	}
	return nil
}

func matches(pattern, path []string) bool {
	switch {
	case len(pattern) == 0:
		return len(path) == 0
	case pattern[0] == "**":
		for i := 0; i <= len(path); i++ {
			if matches(pattern[1:], path[i:]) {
				return true
			}
		}
		return false
	case len(path) == 0:
		return false
	}
	return (pattern[0] == "*" || pattern[0] == path[0]) && matches(pattern[1:], path[1:])
}

// ParseStrategy reads `append`, `unique`, `replace` or `by-key: name`.
func ParseStrategy(text string) (Strategy, string) {
	name, key, _ := strings.Cut(text, ":")
	return Strategy(strings.TrimSpace(name)), strings.TrimSpace(key)
}
