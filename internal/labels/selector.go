package labels

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
)

// Selector selects clusters by their labels. The zero value selects all.
type Selector struct{ s k8slabels.Selector }

// ParseSelector reads matchLabels and matchExpressions as Kubernetes does; nil and an empty object select all. Unknown
// keys and operators are errors.
func ParseSelector(v any) (Selector, error) {
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
	s, err := metav1.LabelSelectorAsSelector(&ls)
	if err != nil {
		return Selector{}, fmt.Errorf("selector: %w", err)
	}
	return Selector{s: s}, nil
}

// Matches reports whether a cluster with these labels is selected.
func (s Selector) Matches(labels map[string]string) bool {
	return s.s == nil || s.s.Matches(k8slabels.Set(labels))
}
