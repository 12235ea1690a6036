package labels

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// Kind distinguishes labels from annotations, whose values follow different rules.
type Kind string

// The kinds.
const (
	Label      Kind = "label"
	Annotation Kind = "annotation"
)

// Reserved labels of a cluster Secret.
const (
	SecretType      = "argocd.argoproj.io/secret-type"
	SecretTypeValue = "cluster"
	FleetMember     = "fleet_member"
	Tenant          = "tenant"
	Environment     = "environment"
)

// Entry is one label or annotation that Git declares.
type Entry struct {
	Key, Value string
	Pos        problem.Pos
}

// Input holds the sources of a cluster's labels or annotations.
type Input struct {
	Kind Kind
	// Live are the labels of the live cluster Secret. Invalid values are left out.
	Live map[string]string
	// Declared are the labels in Git, least specific first; the later wins.
	Declared []Entry
	// Reserved are values that cannot be declared otherwise.
	Reserved map[string]string
}

// Set is the result of Compute.
type Set struct {
	// All has the values that selectors and templates see.
	All map[string]string
	// Declared has the desired values of the Secret: All, without values that only the live Secret
	// has. Without this difference a label that Terraform removes would stay for ever.
	Declared map[string]string
	// Origins are the places of the declared values.
	Origins map[string]problem.Pos
	// Replaced has the live Secret's values that differ in All, by key.
	Replaced []Replacement
}

// Replacement is a label or annotation that differs between a live cluster Secret and responses.
type Replacement struct {
	Kind Kind   `json:"kind" jsonschema:"enum=label,enum=annotation"`
	Key  string `json:"key"`
	// Live is the cluster Secret's value. Served is the value from Git or the member's identity; it
	// is absent where the live one is left out, because it is invalid.
	Live   string  `json:"live"`
	Served *string `json:"served,omitempty"`
}

// String describes both values.
func (r Replacement) String() string {
	live := fmt.Sprintf("%q", problem.Truncate(r.Live, maxShown))
	if r.Served == nil {
		return fmt.Sprintf("%s of the cluster Secret is left out: it is invalid", live)
	}
	return fmt.Sprintf("%q replaces %s of the cluster Secret", problem.Truncate(*r.Served, maxShown), live)
}

// maxShown bounds a value in a text.
const maxShown = 100

// Live returns the live Secret's value of a label that is replaced; nil if it is not.
func (s Set) Live(key string) *string {
	for i := range s.Replaced {
		if s.Replaced[i].Key == key {
			return &s.Replaced[i].Live
		}
	}
	return nil
}

// Compute ranks the sources and checks the result. It returns all problems; the set is complete
// only when there is none.
func Compute(in Input) (Set, []problem.Problem) {
	s := Set{All: map[string]string{}, Declared: map[string]string{}, Origins: map[string]problem.Pos{}}
	for k, v := range in.Live {
		if len(check(in.Kind, k, v)) == 0 {
			s.All[k] = v
		}
	}
	var problems []problem.Problem
	for _, e := range in.Declared {
		if want, reserved := in.Reserved[e.Key]; reserved {
			if e.Value != want {
				problems = append(problems, problem.Problem{
					Reason: problem.ReservedLabel, Severity: problem.Error, Pos: e.Pos, Subject: fmt.Sprintf("%s %q", in.Kind, e.Key),
					Found: fmt.Sprintf("%q", e.Value), Expected: fmt.Sprintf("%q, which the member file gives", want),
					Hints: []string{"it is reserved: remove it here"},
				})
			}
			continue
		}
		if faults := check(in.Kind, e.Key, e.Value); len(faults) > 0 {
			problems = append(problems, problem.Problem{
				Reason: problem.InvalidLabel, Severity: problem.Error, Pos: e.Pos, Subject: fmt.Sprintf("%s %q", in.Kind, e.Key),
				Found: fmt.Sprintf("%q", e.Value), Expected: faults[0],
			})
			continue
		}
		s.All[e.Key], s.Declared[e.Key], s.Origins[e.Key] = e.Value, e.Value, e.Pos
	}
	for k, v := range in.Reserved {
		s.All[k], s.Declared[k] = v, v
	}
	for _, k := range slices.Sorted(maps.Keys(in.Live)) {
		if v, is := s.All[k]; !is {
			s.Replaced = append(s.Replaced, Replacement{Kind: in.Kind, Key: k, Live: in.Live[k]})
		} else if v != in.Live[k] {
			s.Replaced = append(s.Replaced, Replacement{in.Kind, k, in.Live[k], &v})
		}
	}
	if in.Kind == Annotation {
		problems = append(problems, tooLarge(s)...)
	}
	return s, problems
}

// maxAnnotations limits the bytes of all annotations of an object (apimachinery v0.33,
// pkg/api/validation/objectmeta.go).
const maxAnnotations = 256 << 10

// tooLarge reports annotations beyond maxAnnotations, at the place of the largest.
func tooLarge(s Set) []problem.Problem {
	total, most, largest := 0, -1, ""
	for _, k := range slices.Sorted(maps.Keys(s.Declared)) {
		n := len(k) + len(s.Declared[k])
		if total += n; n > most {
			most, largest = n, k
		}
	}
	if total <= maxAnnotations {
		return nil
	}
	return []problem.Problem{{
		Reason: problem.InvalidLabel, Severity: problem.Error, Pos: s.Origins[largest], Subject: fmt.Sprintf("annotation %q", largest),
		Found: fmt.Sprintf("all annotations have %d bytes", total), Expected: fmt.Sprintf("at most %d", maxAnnotations),
	}}
}

// valueForm is the form of a label's value in fewer words than Kubernetes', because it becomes part
// of a condition.
const valueForm = `at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit`

// check returns what is expected of an invalid key or value, by Kubernetes' own validation.
func check(kind Kind, key, value string) []string {
	faults := validation.IsQualifiedName(key)
	if kind == Label && len(validation.IsValidLabelValue(value)) > 0 {
		faults = append(faults, valueForm)
	}
	return faults
}

// FromNode returns the entries of a map in a values file. Null removes an entry of a lower layer,
// hence gives none; booleans and numbers are the texts in the file; anything else is a problem.
func FromNode(kind Kind, n *yamldoc.Node) ([]Entry, []problem.Problem) {
	if n.IsNull() {
		return nil, nil
	}
	if n.Kind != yamldoc.Map {
		return nil, []problem.Problem{{
			Reason: problem.InvalidLabel, Severity: problem.Error, Pos: n.Pos(), Subject: string(kind) + "s", Found: "is a " + n.Kind.String(), Expected: "a map",
		}}
	}
	var entries []Entry
	var problems []problem.Problem
	for _, f := range n.Fields() {
		switch f.Value.Kind {
		case yamldoc.Null:
		case yamldoc.Map, yamldoc.List:
			problems = append(problems, problem.Problem{
				Reason: problem.InvalidLabel, Severity: problem.Error, Pos: f.Value.Pos(), Subject: fmt.Sprintf("%s %q", kind, f.Key),
				Found: "is a " + f.Value.Kind.String(), Expected: "text",
			})
		default:
			entries = append(entries, Entry{Key: f.Name(), Value: f.Value.Text(), Pos: f.Value.Pos()})
		}
	}
	return entries, problems
}

// NotMaps reports a file of fleet/fleet-secret whose labels or annotations, or the value around
// both, are not a map. Merging it would remove what the levels before it declare.
func NotMaps(file *yamldoc.Node) (out []problem.Problem) {
	secret := file.Get("externalSecret")
	for _, x := range []struct {
		key   string
		value *yamldoc.Node
	}{
		{"externalSecret", secret}, {"externalSecret.labels", secret.Get("labels")}, {"externalSecret.annotations", secret.Get("annotations")},
	} {
		if !x.value.IsNull() && x.value.Kind != yamldoc.Map {
			out = append(out, problem.Problem{
				Reason: problem.InvalidLabel, Severity: problem.Error, Pos: x.value.Pos(), Subject: fmt.Sprintf("key %q", x.key),
				Found: "is a " + x.value.Kind.String(), Expected: "a map, or null to remove what lower levels declare",
			})
		}
	}
	return out
}

// IsName reports whether a name can be a folder, a label value and part of an Application's name: a
// DNS-1123 label (RFC 1123: at most 63 lower case letters, digits and inner hyphens).
func IsName(name string) bool { return yamldoc.IsName(name) }
