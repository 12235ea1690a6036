package provision

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Group is the group of the classes.
const Group = "provisioning"

// NodesSuffix is the end of the name of a class's component for nodes.
const NodesSuffix = "-nodes"

// The keys of a member file.
const (
	Key               = "provision"
	KeyInfrastructure = "infrastructure"

	keyClass   = "class"
	keyVersion = "version"
	keyNodes   = "nodes"
	keyAccount = "account"
	keyRegion  = "region"
	keyInputs  = "inputs"
)

// The values of KeyInfrastructure.
const (
	Keep   = "keep"
	Delete = "delete"
)

// Level is the name of the layer that a member file gives its class.
const Level = "member file"

// Spec is what a member file says of its own cluster. A nil Spec is that of a cluster that somebody
// else made.
type Spec struct {
	Class string
	// Version is the control plane's, Nodes that of the nodes: the same unless the file says so.
	Version, Nodes Version
	// Account and Region are empty where the file leaves them to the class.
	Account, Region string
	// Deletes says that the cluster itself is deleted when its member retires.
	Deletes bool

	node *yamldoc.Node
}

// Read reads the keys of a member file, nil for a file without them. The reader keeps the problems:
// also those of a hub, and of a layout without the group.
func Read(r *yamldoc.Reader, file *yamldoc.MapReader, isHub, hasGroup bool) *Spec {
	deletes := infrastructure(r, file)
	if key := "enable_remote_" + Group; file.Bool(key, false) {
		r.Add(problem.InvalidProvision, file.Node().Get(key), fmt.Sprintf("key %q", key), "true: the cluster's engine cannot make its own cluster", "no such key")
	}
	if !file.Has(Key) {
		return nil
	}
	m := file.Map(Key)
	m.Known(keyClass, keyVersion, keyNodes, keyAccount, keyRegion, keyInputs)
	switch {
	case isHub:
		r.Add(problem.InvalidProvision, m.Node(), fmt.Sprintf("key %q", Key), "for a hub", "no such key: a hub is there before its members are")
	case !hasGroup:
		r.Add(problem.InvalidProvision, m.Node(), fmt.Sprintf("key %q", Key), "the layout has no group "+Group, "the group, with a catalog of classes")
	}
	s := &Spec{node: m.Node(), Class: name(r, m, keyClass), Account: text(r, m, keyAccount), Region: text(r, m, keyRegion), Deletes: deletes}
	s.Version = version(r, m, keyVersion, "its control plane's version, such as \"1.33\"")
	m.Map(keyInputs)
	nodes := m.Map(keyNodes)
	nodes.Known(keyVersion)
	if s.Nodes = s.Version; nodes.Has(keyVersion) {
		s.Nodes = version(r, nodes, keyVersion, "the nodes' version")
		s.skew(r, nodes.Node().Get(keyVersion))
	}
	return s
}

// infrastructure reads whether the cluster itself is deleted when its member retires (C3).
func infrastructure(r *yamldoc.Reader, file *yamldoc.MapReader) (deletes bool) {
	wrong := func(found, expected string, hints ...string) {
		r.Add(problem.InvalidProvision, file.Node().Get(KeyInfrastructure), fmt.Sprintf("key %q", KeyInfrastructure), found, expected, hints...)
	}
	switch said := file.String(KeyInfrastructure); {
	case said == "" || said == Keep:
	case said != Delete:
		wrong(fmt.Sprintf("%q", said), Keep+" or "+Delete, problem.Nearest(said, []string{Keep, Delete})...)
	case !file.Has(Key):
		wrong("delete, of a cluster that is not provisioned here", Keep+", or the key "+Key)
	default:
		return true
	}
	return false
}

// skew reports nodes that are ahead, or too far behind (C2).
func (s *Spec) skew(r *yamldoc.Reader, at *yamldoc.Node) {
	if s.Version.IsZero() || s.Nodes.IsZero() {
		return
	}
	subject := fmt.Sprintf("key %q", Key+"."+keyNodes+"."+keyVersion)
	switch behind := s.Nodes.minorsBehind(s.Version); {
	case s.Nodes.compare(s.Version) > 0:
		r.Add(problem.InvalidProvision, at, subject, fmt.Sprintf("%s is ahead of the control plane", s.Nodes.Text), "at most "+s.Version.Text)
	case behind > maxSkew:
		r.Add(problem.InvalidProvision, at, subject, fmt.Sprintf("%s is %d minor versions behind the control plane, %s", s.Nodes.Text, behind, s.Version.Text), fmt.Sprintf("at most %d behind", maxSkew))
	}
}

// name reads a required DNS-1123 name.
func name(r *yamldoc.Reader, m *yamldoc.MapReader, key string) string {
	v := m.String(key)
	switch n := m.Node().Get(key); {
	case v == "":
		r.AddAt(problem.InvalidProvision, m.KeyPos(key), fmt.Sprintf("key %q", Key+"."+key), "missing or empty", "the name of a class")
	case !labels.IsName(v):
		r.Add(problem.InvalidProvision, n, fmt.Sprintf("key %q", Key+"."+key), fmt.Sprintf("%q is no DNS-1123 label", v), "the name of a class")
	}
	return v
}

// text reads a key that must not be a number: YAML reads an account's 0123 as another one.
func text(r *yamldoc.Reader, m *yamldoc.MapReader, key string) string {
	if n := m.Node().Get(key); n != nil && n.Kind == yamldoc.Number {
		r.Add(problem.InvalidProvision, n, fmt.Sprintf("key %q", Key+"."+key), "is a number", "text", "put it in quotes")
		return ""
	}
	return m.String(key)
}

// version reads a required version.
func version(r *yamldoc.Reader, m *yamldoc.MapReader, key, expected string) Version {
	n, subject := m.Node().Get(key), fmt.Sprintf("key %q of %q", key, Key)
	switch {
	case n.IsNull():
		r.AddAt(problem.InvalidProvision, m.KeyPos(key), subject, "missing or empty", expected)
		return Version{}
	case n.Kind == yamldoc.Number:
		r.Add(problem.InvalidProvision, n, subject, "is a number", "text", "put it in quotes: YAML reads 1.30 as 1.3")
		return Version{}
	}
	v, ok := ParseVersion(m.String(key))
	if !ok && n.Kind == yamldoc.String {
		r.Add(problem.InvalidProvision, n, subject, fmt.Sprintf("%q is no version", n.Text()), "a minor version or a release of it, such as \"1.33\" or \"1.33.2\"")
	}
	return v
}

// at is the place of a key, or that of the whole.
func (s *Spec) at(keys ...string) problem.Pos {
	n := s.node
	for _, key := range keys {
		if n.Get(key) == nil {
			break
		}
		n = n.Get(key)
	}
	return n.Pos()
}

// Selects reports whether a component is one of the member's class (rule 1).
func (s *Spec) Selects(component string) bool {
	return s != nil && (component == s.Class || component == s.Class+NodesSuffix)
}

// Values are the layer of values that the member file gives a component of its class. It is the
// most specific. A class with a component of its own for nodes does not see their version, so that
// a change of theirs changes nothing of the control plane's.
func (s *Spec) Values(group, cluster, component string, has func(component string) bool) []hierarchy.Layer {
	if group != Group || !s.Selects(component) {
		return nil
	}
	doc, place := s.node.Doc, s.node
	field := func(key string, value *yamldoc.Node) yamldoc.Field {
		at := s.node.Get(key)
		if at == nil {
			at = place
		}
		value.Line, value.Column = at.Line, at.Column
		return yamldoc.Field{Key: key, Value: value, Line: at.Line, Column: at.Column}
	}
	of := func(text string) *yamldoc.Node { return yamldoc.FromAny(doc, text) }
	fields := []yamldoc.Field{field("clusterName", of(cluster)), field(keyClass, of(s.Class)), field(keyVersion, of(s.Version.Text))}
	if component != s.Class || !has(s.Class+NodesSuffix) {
		fields = append(fields, field(keyNodes, yamldoc.NewMap(doc, field(keyVersion, of(s.Nodes.Text)))))
	}
	for _, key := range []string{keyAccount, keyRegion, keyInputs} {
		if n := s.node.Get(key); !n.IsNull() {
			fields = append(fields, yamldoc.Field{Key: key, Value: n, Line: n.Line, Column: n.Column})
		}
	}
	root := yamldoc.NewMap(doc, fields...)
	root.Line, root.Column = place.Line, place.Column
	nodes, _ := root.Size()
	return []hierarchy.Layer{{Level: Level, Path: s.at().File, Root: root, Nodes: nodes}}
}
