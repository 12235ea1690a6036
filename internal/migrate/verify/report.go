package verify

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
)

// Kind is the kind of a Verification.
const Kind = "Verification"

// Verification says how the Applications that Argosy makes differ from the live ones.
type Verification struct {
	APIVersion string `json:"apiVersion" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind" jsonschema:"enum=Verification"`
	Hub        string `json:"hub"`
	// Compared counts the pairs of Applications, and Equal the pairs without a difference.
	Compared int `json:"compared"`
	Equal    int `json:"equal"`
	// Renamed are pairs with different names.
	Renamed []Pair `json:"renamed"`
	// OnlyArgosy are Applications that the hub lacks, and OnlyLive are Applications that Argosy
	// does not create.
	OnlyArgosy  []string          `json:"onlyArgosy"`
	OnlyLive    []string          `json:"onlyLive"`
	Differences []FieldDifference `json:"differences"`
	Problems    []problem.Finding `json:"problems"`
}

// Pair is an Application of Argosy and its live counterpart.
type Pair struct {
	Argosy string `json:"argosy"`
	Live   string `json:"live"`
}

// FieldDifference is a field in which an Application of Argosy differs from its live counterpart.
type FieldDifference struct {
	Pair
	Cluster string `json:"cluster"`
	// Path is the field's path in the normal form, in which a source has one tree of values.
	Path string `json:"path"`
	// Value is Argosy's; LiveValue is the live Application's. A missing value is absent.
	Value     any `json:"value,omitempty"`
	LiveValue any `json:"liveValue,omitempty"`
	// Position is the file and line that cause Argosy's value. LivePosition is the live
	// Application's place in its file.
	Position     problem.Pos `json:"position,omitzero"`
	LivePosition problem.Pos `json:"livePosition,omitzero"`
}

// IsEqual reports whether there is nothing to report.
func (v Verification) IsEqual() bool {
	return len(v.Differences)+len(v.OnlyArgosy)+len(v.OnlyLive)+len(v.Problems) == 0
}

// Question says what to compare. All fields but Names and Ignore are required.
type Question struct {
	Hub    string
	State  *fleetstate.State
	Argosy []*object.Object
	Live   []Live
	Reader *Reader
	// Names are the names of Argosy's Applications by the live names.
	Names map[string]string
	// Ignore are the names of live Applications that are not compared.
	Ignore []string
}

// side is an Application of one side.
type side struct {
	Application
	object *object.Object
	pos    problem.Pos
}

// Verify compares the Applications. Its error concerns the question; an Application that cannot be
// read is a problem of the result.
func Verify(q Question) (Verification, error) {
	v := Verification{APIVersion: "argosy.dev/v1alpha1", Kind: Kind, Hub: q.Hub, Renamed: []Pair{}, OnlyArgosy: []string{}, OnlyLive: []string{}, Differences: []FieldDifference{}, Problems: []problem.Finding{}}
	read := func(what string, tree manifest.Tree, pos problem.Pos) (Application, bool) {
		a, err := q.Reader.Read(tree)
		if err == nil {
			return a, true
		}
		p := problem.Problem{Reason: problem.NotImported, Severity: problem.Error, Pos: pos, Subject: fmt.Sprintf("%s %q", what, manifest.Text(tree, "metadata", "name")), Found: err.Error()}
		var unreadable *Unreadable
		var away *Away
		switch {
		case errors.As(err, &unreadable) && unreadable.Hint != "":
			p.Hints = []string{unreadable.Hint}
		case errors.As(err, &away):
			p.Hints = []string{away.Hint}
		}
		v.Problems = append(v.Problems, problem.NewFinding(p))
		return Application{}, false
	}
	var ours, live []side
	for _, o := range q.Argosy {
		if !o.Application() {
			continue
		}
		if a, ok := read("Application of Argosy", o.Tree, o.Pos); ok {
			ours = append(ours, side{a, o, o.Pos})
		}
	}
	for _, l := range q.Live {
		name := manifest.Text(l.Tree, "metadata", "name")
		if !slices.Contains(q.Ignore, name) {
			if a, ok := read("live Application", l.Tree, l.Pos); ok {
				live = append(live, side{a, nil, l.Pos})
			}
		} else if a, err := q.Reader.Read(l.Tree); err == nil { // it has its counterpart
			live = append(live, side{a, nil, l.Pos})
		}
	}
	pairs, alone, err := match(ours, live, q.Names)
	if err != nil {
		return v, err
	}
	if away := q.Reader.Doubt(); away != nil {
		v.Problems = append(v.Problems, problem.NewFinding(problem.Problem{Reason: problem.NotImported, Severity: problem.Error, Subject: "the live Applications", Found: away.Text, Hints: []string{away.Hint}}))
	}
	isPaired := map[string]bool{} // of Argosy's, whose names are unique
	for _, p := range pairs {
		isPaired[p[0].Name] = true
	}
	for _, o := range ours {
		if !isPaired[o.Name] {
			v.OnlyArgosy = append(v.OnlyArgosy, o.Name)
		}
	}
	for _, l := range alone {
		if !slices.Contains(q.Ignore, l.Name) {
			v.OnlyLive = append(v.OnlyLive, l.Name)
		}
	}
	slices.Sort(v.OnlyArgosy)
	slices.Sort(v.OnlyLive)
	slices.SortFunc(pairs, func(a, b [2]side) int { return cmp.Compare(a[0].Name, b[0].Name) })
	for _, p := range pairs {
		if slices.Contains(q.Ignore, p[1].Name) {
			continue
		}
		v.add(q, p[0], p[1])
	}
	return v, nil
}

// add compares a pair.
func (v *Verification) add(q Question, ours, live side) {
	v.Compared++
	pair := Pair{ours.Name, live.Name}
	if pair.Argosy != pair.Live {
		v.Renamed = append(v.Renamed, pair)
	}
	found := Differences(ours.Application, live.Application)
	if len(found) == 0 {
		v.Equal++
		return
	}
	cause := causes(q, ours)
	for _, d := range found {
		v.Differences = append(v.Differences, FieldDifference{
			Pair: pair, Cluster: ours.Cluster, Path: hierarchy.FormatPath(d.Path), Value: d.Ours, LiveValue: d.Live, Position: cause(d.Path), LivePosition: live.pos,
		})
	}
}

// causes returns a function that finds the file and line that set a field. Values and catalog
// fields have the position in the hierarchy; all other fields the ApplicationSet's position.
func causes(q Question, ours side) func(path []string) problem.Pos {
	e := ours.object.Entry
	x, err := explain.Component(q.State, explain.Target{Hub: q.Hub, Cluster: e.Cluster, Group: e.Group, Component: e.Component}, nil)
	if err != nil {
		return func([]string) problem.Pos { return ours.pos }
	}
	at := func(s *explain.Setting) problem.Pos {
		if s == nil || s.Position.IsZero() {
			return ours.pos
		}
		return s.Position
	}
	list, _ := ours.Spec["sources"].([]any)
	main := strconv.Itoa(slices.IndexFunc(list, func(s any) bool { return manifest.Text(s, "chart") != "" || manifest.Text(s, "path") != "" }))
	return func(path []string) problem.Pos {
		rest := path
		if len(path) > 3 && path[1] == "sources" {
			if path[2] != main { // the ApplicationSet has it, the catalog only the main source
				return ours.pos
			}
			rest = path[3:]
		}
		switch strings.Join(rest[:min(len(rest), 2)], ".") {
		case "repoURL":
			return at(x.Chart.RepoURL)
		case "chart":
			return at(x.Chart.Name)
		case "path":
			return at(x.Chart.Path)
		case "targetRevision":
			return at(x.Chart.Version)
		case "helm.releaseName":
			return at(x.ReleaseName)
		case "spec.destination":
			return at(x.Namespace)
		case "helm.values":
			name := hierarchy.FormatPath(rest[2:])
			for _, value := range x.Values {
				if value.Path == name || strings.HasPrefix(name, value.Path+".") || strings.HasPrefix(value.Path, name+".") {
					return value.Position
				}
			}
		}
		return ours.pos
	}
}

// match pairs the Applications of both sides: by the names given, by their own names, and then by
// cluster and chart, where that gives only one pair.
func match(ours, live []side, names map[string]string) (_ [][2]side, alone []side, _ error) {
	var out [][2]side
	left := map[string]side{}
	for _, o := range ours {
		left[o.Name] = o
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if _, ok := left[names[name]]; !ok {
			return nil, nil, fmt.Errorf("names: Argosy makes no Application %q, which %q is said to be", names[name], name)
		}
	}
	var unmatched []side
	for _, l := range live {
		o, ok := left[cmp.Or(names[l.Name], l.Name)]
		if !ok {
			unmatched = append(unmatched, l)
			continue
		}
		delete(left, o.Name)
		out = append(out, [2]side{o, l})
	}
	for _, key := range []func(side) string{sameChart, sameRelease} {
		a, b := map[string][]side{}, map[string][]side{}
		for _, o := range left {
			a[key(o)] = append(a[key(o)], o)
		}
		for _, l := range unmatched {
			b[key(l)] = append(b[key(l)], l)
		}
		unmatched = slices.DeleteFunc(unmatched, func(l side) bool {
			k := key(l)
			if len(a[k]) != 1 || len(b[k]) != 1 {
				return false
			}
			delete(left, a[k][0].Name)
			out = append(out, [2]side{a[k][0], l})
			return true
		})
	}
	return out, unmatched, nil
}

// sameChart returns a key that is equal for Applications of one chart or folder on one cluster.
func sameChart(s side) string {
	list, _ := s.Spec["sources"].([]any)
	for _, item := range list {
		if chart, path := manifest.Text(item, "chart"), manifest.Text(item, "path"); chart != "" || path != "" {
			return strings.Join([]string{s.Cluster, manifest.Text(item, "repoURL"), chart, path}, "\n")
		}
	}
	return s.Cluster
}

// sameRelease returns a key that is equal for Applications of one chart on one cluster with the
// same release and namespace.
func sameRelease(s side) string {
	list, _ := s.Spec["sources"].([]any)
	release := ""
	for _, item := range list {
		release += "\n" + manifest.Text(item, "helm", "releaseName")
	}
	return sameChart(s) + "\n" + manifest.Text(s.Spec, "destination", "namespace") + release
}
