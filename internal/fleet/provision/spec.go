package provision

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/hierarchy"
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

// Level is the name of the layer that a member file gives its class.
const Level = "member file"

// Spec is what a member file says of its own cluster. It is nil for a cluster made elsewhere.
type Spec struct {
	Class string `json:"class" is:"name" expect:"the name of a class"`
	// Version is the control plane's version, Nodes the nodes' version: equal unless the file says
	// so.
	Version Version `json:"version" is:"quoted" expect:"a minor version or a release of it, such as \"1.33\" or \"1.33.2\""`
	Pool    struct {
		Version Version `json:"version,omitempty" is:"quoted" expect:"a minor version or a release of it, such as \"1.33\" or \"1.33.2\""`
	} `json:"nodes,omitempty"`
	// Account and Region are empty where the file leaves them to the class.
	Account string                   `json:"account,omitempty" is:"quoted"`
	Region  string                   `json:"region,omitempty" is:"quoted"`
	Inputs  map[string]*yamldoc.Node `json:"inputs,omitempty"`

	Nodes Version
	// Deletes says that the cluster itself is deleted when its member retires.
	Deletes bool

	node *yamldoc.Node
}

// Read reads the keys of a member file; it returns nil for a file without them. Deletes is the
// value of KeyInfrastructure. Problems go to the reader, also for a hub, and for a layout without
// the group.
func Read(at yamldoc.At, deletes, isHub, hasGroup bool) *Spec {
	wrong := func(key, found, expected string) {
		at.Add(problem.InvalidProvision, at.Node.Get(key), fmt.Sprintf("key %q", key), found, expected)
	}
	if key := "enable_remote_" + Group; at.Flag(key) {
		wrong(key, "true: the cluster's engine cannot make its own cluster", "no such key")
	}
	switch {
	case !at.Has(Key):
		if deletes {
			wrong(KeyInfrastructure, "delete, of a cluster that is not provisioned here", "keep, or the key "+Key)
		}
		return nil
	case isHub:
		wrong(Key, "for a hub", "no such key: a hub is there before its members are")
	case !hasGroup:
		wrong(Key, "the layout has no group "+Group, "the group, with a catalog of classes")
	}
	s := &Spec{Deletes: deletes}
	at.Below(Key, problem.InvalidProvision, s)
	return s
}

// Check checks that the nodes' version is not ahead, and not too far behind.
func (s *Spec) Check(at yamldoc.At) {
	s.node = at.Node
	if s.Nodes = s.Pool.Version; s.Nodes.IsZero() {
		s.Nodes = s.Version
	}
	if s.Version.IsZero() {
		return
	}
	switch behind := s.Nodes.minorsBehind(s.Version); {
	case s.Nodes.compare(s.Version) > 0:
		at.Wrong("nodes.version", fmt.Sprintf("%s is ahead of the control plane", s.Nodes.Text), "at most "+s.Version.Text)
	case behind > maxSkew:
		at.Wrong("nodes.version", fmt.Sprintf("%s is %d minor versions behind the control plane, %s", s.Nodes.Text, behind, s.Version.Text), fmt.Sprintf("at most %d behind", maxSkew))
	}
}

// at returns the place of a key, or of the whole spec.
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

// Selects reports whether a component belongs to the member's class.
func (s *Spec) Selects(component string) bool {
	return s != nil && (component == s.Class || component == s.Class+NodesSuffix)
}

// Values returns the layer of values that the member file gives a component of its class, the most
// specific layer. If nodes have a component of their own, the class does not see their version, so
// that changing it does not change the control plane.
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
