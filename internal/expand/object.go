package expand

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Tree is an object as encoding/json decodes it.
type Tree = map[string]any

// Object is what expansion found. Objects are shared and must not be changed.
type Object struct {
	// Engine is whose engine runs it: fleet.OwnerHub, or a member's name.
	Engine string
	Tree   Tree
	// Parent is the object that it came from, nil for a root.
	Parent *Object
	// Pos is where its text stands: a document of a file, or a chart's template.
	Pos problem.Pos
	// Parameters is the name that the parameter set has, of an Application that an ApplicationSet made: the
	// cluster's name, mostly.
	Parameters string

	digest string
	sum    func() string // the digest, of what shares its tree with other objects
	doc    *yamldoc.Doc  // of an object that is written as it is
	of     entry
	// flux is what it deploys, if it is Flux's, and siblings are those that came with it.
	flux     *deployed
	siblings siblings

	template Tree // what the template says, where Argo CD makes something else of it
}

// Key tells an object from all others of a hub's expansion.
type Key struct{ Engine, Kind, Namespace, Name string }

// String is the object's name for people.
func (k Key) String() string { return k.Kind + " " + k.Name }

// Key is the object's. The kind has its group where the group is not that of Kubernetes itself.
func (o *Object) Key() Key {
	return Key{Engine: o.Engine, Kind: o.Kind(), Namespace: text(o.Tree, "metadata", "namespace"), Name: o.Name()}
}

// Kind is the object's.
func (o *Object) Kind() string { return text(o.Tree, "kind") }

// APIVersion is the object's.
func (o *Object) APIVersion() string { return text(o.Tree, "apiVersion") }

// Name is the object's.
func (o *Object) Name() string { return text(o.Tree, "metadata", "name") }

// Label is one of the object's labels.
func (o *Object) Label(name string) string { return text(o.Tree, "metadata", "labels", name) }

// Digest is the same for objects that say the same.
func (o *Object) Digest() string {
	if o.digest == "" {
		if o.sum != nil {
			o.digest = o.sum()
		} else {
			o.digest = digestOf(o.Tree)
		}
	}
	return o.digest
}

// is reports whether an object is of a kind, in any version of its group.
func (o *Object) is(group, kind string) bool {
	return o.Kind() == kind && strings.HasPrefix(text(o.Tree, "apiVersion"), group+"/")
}

// ApplicationSet reports whether it is one.
func (o *Object) ApplicationSet() bool { return o.is("argoproj.io", "ApplicationSet") }

// IsSet is ApplicationSet, and false for no object.
func (o *Object) IsSet() bool { return o != nil && o.ApplicationSet() }

// Application reports whether it is one.
func (o *Object) Application() bool { return o.is("argoproj.io", "Application") }

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// digestOf is the same for values that are the same JSON.
func digestOf(parts ...any) string {
	sum := sha256.New()
	for _, p := range parts {
		sum.Write(canonical(p))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// canonical is a value as JSON; maps are sorted by their keys.
func canonical(v any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(err.Error()) // what came from YAML or JSON is JSON
	}
	return out.Bytes()
}

// At is the value at a path, nil if there is none.
func At(v any, path ...string) any {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// text is the text at a path, empty if there is none.
func text(v any, path ...string) string {
	s, _ := At(v, path...).(string)
	return s
}
