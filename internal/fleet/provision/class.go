package provision

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Catalogs returns a member's catalogs of a group: of the group of classes, only the entries of its
// own class. Problems are of a class that no catalog offers to it.
func (s *Spec) Catalogs(group string, layers []hierarchy.Layer) ([]hierarchy.Layer, []problem.Problem) {
	if group != Group {
		return layers, nil
	}
	var out []hierarchy.Layer
	for _, l := range layers {
		entries := catalog.Entries(l.Root)
		own := slices.DeleteFunc(slices.Clone(entries.Fields()), func(f yamldoc.Field) bool { return !s.Selects(f.Key) })
		if len(own) == 0 {
			continue
		}
		with := l
		with.Root = yamldoc.MapAt(entries, own)
		out = append(out, with)
	}
	return out, s.unknown(layers)
}

// unknown returns the problem of a class that no catalog offers to the member.
func (s *Spec) unknown(layers []hierarchy.Layer) []problem.Problem {
	if s == nil || s.Class == "" { // reported
		return nil
	}
	known := Classes(layers)
	if slices.Contains(known, s.Class) {
		return nil
	}
	p := problem.Problem{
		Reason: problem.InvalidProvision, Severity: problem.Error, Pos: s.at(keyClass), Subject: fmt.Sprintf("class %q", s.Class),
		Found: "is not offered to this cluster", Expected: "one of " + strings.Join(known, ", "), Hints: problem.Nearest(s.Class, known),
	}
	if len(known) == 0 {
		p.Expected = "an entry in a catalog of the group " + Group + ", and enabled: true at a level of the cluster"
	}
	return []problem.Problem{p}
}

// Classes returns the names of the classes that catalogs switch on, sorted. Levels come after the
// layout's catalogs.
func Classes(layers []hierarchy.Layer) []string {
	on := map[string]bool{}
	for _, l := range layers {
		for _, f := range catalog.Entries(l.Root).Fields() {
			if enabled, said := f.Value.Get(catalog.KeyEnabled).Truth(); said {
				on[f.Key] = enabled
			}
		}
	}
	var out []string
	for name, enabled := range on {
		base, isNodes := strings.CutSuffix(name, NodesSuffix)
		if _, hasClass := on[base]; enabled && (!isNodes || !hasClass) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// IsForNodes reports whether a component is for the nodes of a class.
func IsForNodes(component string) bool { return strings.HasSuffix(component, NodesSuffix) }

// keyOffered has the versions that a class offers, among the merged values of its component.
const keyOffered = "versions"

// Unoffered returns the problems of versions that the class does not offer. A class that lists none
// offers all.
func (s *Spec) Unoffered(group string, values *hierarchy.Tree) []problem.Problem {
	if group != Group || s == nil {
		return nil
	}
	offered := values.At([]string{keyOffered})
	if offered.IsNull() || offered.Kind != yamldoc.List {
		return nil
	}
	var known []string
	for _, item := range offered.Items() {
		known = append(known, item.Text())
	}
	var out []problem.Problem
	for _, asked := range []struct {
		version Version
		at      problem.Pos
	}{{s.Version, s.at(keyVersion)}, {s.Nodes, s.at(keyNodes, keyVersion)}} {
		if asked.version.IsZero() || slices.Contains(known, asked.version.Text) || len(out) > 0 && asked.version == s.Version {
			continue
		}
		out = append(out, problem.Problem{
			Reason: problem.InvalidProvision, Severity: problem.Error, Pos: asked.at, Subject: fmt.Sprintf("version %q", asked.version.Text),
			Found: fmt.Sprintf("class %q does not offer it", s.Class), Expected: "one of " + strings.Join(known, ", "), Related: []problem.Pos{offered.Pos()},
		})
	}
	return out
}
