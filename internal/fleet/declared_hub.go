package fleet

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/labels"
)

// The layout may declare a hub that has no member file, with the keys of a member file. The result
// is the member that a file with fleet_member: hub-cluster would make.

// hubs reads the declared hubs, by name. The layout's other keys must have been read.
func (p layoutParser) hubs(l *Layout) map[string]*Member {
	out := map[string]*Member{}
	hubs := p.at.In("hubs")
	for _, f := range hubs.Node.Fields() {
		subject := fmt.Sprintf("hub %q", f.Key)
		switch {
		case !labels.IsName(f.Key):
			hubs.AddAt(problem.InvalidLayout, hubs.Pos(f.Key), subject, "is not a DNS-1123 label", "lower case letters, digits and inner hyphens")
		case l.Hub != "" && f.Key != l.Hub:
			hubs.AddAt(problem.InvalidLayout, hubs.Pos(f.Key), subject, "is not the hub that all members have", fmt.Sprintf("%q, as the key \"hub\" says", l.Hub))
		default:
			out[f.Key] = readDeclaredHub(l, f)
		}
	}
	return out
}

// readDeclaredHub reads one declared hub. The member keeps its problems, as a file's member does.
func readDeclaredHub(l *Layout, declared yamldoc.Field) *Member {
	hub, n := declared.Key, declared.Value
	out := newMember(hub, hub, problem.Pos{File: n.Doc.File, Line: int(declared.Line), Column: int(declared.Column)})
	if n.IsMap() || n.IsNull() {
		fields := slices.Clone(n.Fields())
		for _, implied := range []struct{ key, value string }{{keyClusterName, hub}, {keyFleetMember, HubCluster}} {
			if said := n.Get(implied.key); !said.IsNull() {
				continue
			}
			fields = slices.DeleteFunc(fields, func(f yamldoc.Field) bool { return f.Key == implied.key })
			value := yamldoc.ScalarAt(&yamldoc.Node{Doc: n.Doc, Line: declared.Line, Column: declared.Column}, yamldoc.String, implied.value)
			fields = append(fields, yamldoc.Field{Key: implied.key, Line: declared.Line, Column: declared.Column, Value: value})
		}
		n = yamldoc.MapAt(n, fields)
	}
	if name := n.Get(keyClusterName); name != nil && name.Text() != "" {
		out.Name = name.Text()
	}
	out.read(l, n, yamldoc.NewReader(n.Doc), fmt.Sprintf("hub %q", hub))
	if !out.IsHub {
		out.Problems = append(out.Problems, problem.Problem{
			Reason: problem.InvalidMember, Severity: problem.Error, Pos: n.Get(keyFleetMember).Pos(), Subject: fmt.Sprintf("key %q", keyFleetMember),
			Found: "a spoke among the hubs", Expected: HubCluster + ", or no such key",
		})
	}
	return out.concerns()
}

// addDeclaredHubs adds the hubs that the layout declares, before the hubs of files.
func (f *Fleet) addDeclaredHubs() {
	for name, m := range f.Layout.Hubs {
		f.hubs[name] = &hub{self: m, members: []*Member{m}}
	}
}

// takenByLayout reports whether the layout declares the hub as a member of the same name. Unless
// the layout had the name first, the problem is the hub's: it is not known which one is right.
func (f *Fleet) takenByLayout(m *Member, previous *Fleet) bool {
	declared := f.Layout.Hubs[m.Hub]
	if declared == nil || declared.Name != m.Name {
		return false
	}
	wrong := problem.Problem{
		Reason: problem.DuplicateMember, Severity: problem.Error, Pos: m.Pos, Subject: fmt.Sprintf("member %q of hub %q", m.Name, m.Hub),
		Found: "declared by a file and by the layout", Expected: "one of the two", Related: []problem.Pos{declared.Pos}, Hub: m.Hub,
	}
	if previous.had(declared, m) {
		wrong.Cluster, f.Late[m.Pos.File] = m.Name, m.Hub
	}
	f.ofHubs = append(f.ofHubs, wrong)
	return true
}

// secondHub reports a member file that claims a hub which the layout declares under another name.
// The layout is the platform's, so the file is wrong.
func secondHub(l *Layout, m *Member) []problem.Problem {
	declared := l.Hubs[m.Hub]
	if declared == nil || !m.IsHub {
		return nil
	}
	return []problem.Problem{{
		Reason: problem.DuplicateMember, Severity: problem.Error, Pos: m.KeyPos(keyFleetMember), Subject: fmt.Sprintf("hub %q", m.Hub),
		Found: "a member file with fleet_member: hub-cluster, of a hub that the layout declares", Expected: "one of the two", Related: []problem.Pos{declared.Pos},
	}}
}
