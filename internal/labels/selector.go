package labels

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// Selector selects clusters by their labels. The zero value selects all.
type Selector struct{ s k8slabels.Selector }

// maxParts limits the parts of a selector, each of which is compared with every cluster.
const maxParts = 1000

// ParseSelector reads matchLabels and matchExpressions as Kubernetes does; nil and an empty object
// select all. Unknown keys and operators are errors. So is null for a value, which Kubernetes'
// decoding takes for the empty text: a selector without a value would refuse every cluster that has
// one.
func ParseSelector(v any) (Selector, error) {
	if where, found := nullIn(v); found {
		return Selector{}, fmt.Errorf("selector: %s is null; expected text", where)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return Selector{}, err
	}
	var ls metav1.LabelSelector
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&ls); err != nil {
		return Selector{}, fmt.Errorf("selector: expected matchLabels and matchExpressions: %w", err)
	}
	if n := len(ls.MatchLabels) + len(ls.MatchExpressions); n > maxParts {
		return Selector{}, fmt.Errorf("selector: %d labels and expressions; expected at most %d", n, maxParts)
	}
	s, err := metav1.LabelSelectorAsSelector(&ls)
	if err != nil {
		return Selector{}, fmt.Errorf("selector: %w", err)
	}
	return Selector{s: s}, nil
}

// ReadNode reads a selector of a file.
func (s *Selector) ReadNode(n *yamldoc.Node) (err error) {
	for _, f := range n.Fields() {
		if hints := problem.Nearest(f.Key, []string{"matchLabels", "matchExpressions"}); f.Key != "matchLabels" && f.Key != "matchExpressions" {
			return errors.New(strings.Join(append([]string{fmt.Sprintf("key %q is not known", f.Key)}, hints...), "; "))
		}
	}
	*s, err = ParseSelector(n.Any())
	return err
}

// nullIn returns the place in a selector where a value is null instead of a text.
func nullIn(v any) (where string, found bool) {
	selector, _ := v.(map[string]any)
	values, _ := selector["matchLabels"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if values[key] == nil {
			return fmt.Sprintf("matchLabels %q", key), true
		}
	}
	expressions, _ := selector["matchExpressions"].([]any)
	for i, e := range expressions {
		expression, _ := e.(map[string]any)
		values, _ := expression["values"].([]any)
		if slices.Contains(values, nil) {
			return fmt.Sprintf("a value of matchExpressions[%d]", i), true
		}
	}
	return "", false
}

// IsEmpty reports whether the selector selects everything, whatever its labels.
func (s Selector) IsEmpty() bool { return s.s == nil || s.s.Empty() }

// Matches reports whether a cluster with these labels is selected.
func (s Selector) Matches(labels map[string]string) bool {
	return s.s == nil || s.s.Matches(k8slabels.Set(labels))
}

// Refuses reports whether a label that the cluster has keeps it from being selected. A missing
// label does not refuse: it may have been lost.
func (s Selector) Refuses(labels map[string]string) bool {
	if s.s == nil {
		return false
	}
	set := k8slabels.Set(labels)
	requirements, _ := s.s.Requirements()
	return slices.ContainsFunc(requirements, func(r k8slabels.Requirement) bool { return set.Has(r.Key()) && !r.Matches(set) })
}

// SelectorFromText turns a selector in kubectl's form (tier=gold,region in (a,b),!legacy) into the
// form that ParseSelector reads. All parts have to match in both.
func SelectorFromText(text string) (map[string]any, error) {
	requirements, err := k8slabels.ParseToRequirements(text)
	if err != nil {
		return nil, err
	}
	expressions := []any{}
	for _, r := range requirements {
		expression := map[string]any{"key": r.Key()}
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			expression["operator"] = metav1.LabelSelectorOpIn
		case selection.NotEquals, selection.NotIn:
			expression["operator"] = metav1.LabelSelectorOpNotIn
		case selection.Exists:
			expression["operator"] = metav1.LabelSelectorOpExists
		case selection.DoesNotExist:
			expression["operator"] = metav1.LabelSelectorOpDoesNotExist
		default:
			return nil, fmt.Errorf("%q: expected one of =, !=, in, notin, key, !key", r.String())
		}
		if values := r.Values().List(); len(values) > 0 {
			expression["values"] = values
		}
		expressions = append(expressions, expression)
	}
	return map[string]any{"matchExpressions": expressions}, nil
}

// Demands reports whether a cluster can only be selected if its label has one of the values:
// whether one part of the selector by itself requires it.
func (s Selector) Demands(key string, values []string) bool {
	if s.s == nil {
		return false
	}
	other := func(v string) bool { return !slices.Contains(values, v) }
	return s.has(key, func(r k8slabels.Requirement) bool { return !slices.ContainsFunc(r.Values().UnsortedList(), other) })
}

// Names reports whether a cluster can only be selected if its label has one of some values.
func (s Selector) Names(key string) bool {
	return s.s != nil && s.has(key, func(k8slabels.Requirement) bool { return true })
}

// has reports whether one of the parts names values of a label.
func (s Selector) has(key string, is func(k8slabels.Requirement) bool) bool {
	requirements, _ := s.s.Requirements()
	return slices.ContainsFunc(requirements, func(r k8slabels.Requirement) bool {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			return r.Key() == key && is(r)
		default:
			return false
		}
	})
}
