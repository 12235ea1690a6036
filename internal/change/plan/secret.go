package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// SecretVerb is what an object of External Secrets does with a name.
type SecretVerb string

// The verbs.
const (
	ReadSecret  SecretVerb = "read"   // a remote secret
	WriteSecret SecretVerb = "write"  // a remote secret
	AssumeRole  SecretVerb = "assume" // of a store: who it is to its provider
)

// SecretStore names a SecretStore, a ClusterSecretStore or a generator of External Secrets, or all
// stores with some labels.
type SecretStore struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	// Labels is the label selector of a PushSecret, which writes to each store with these labels;
	// absent where a name chooses the store.
	Labels string `json:"labels,omitempty"`
}

// String returns the store's name for people.
func (s SecretStore) String() string {
	switch s.Labels {
	case "":
		return strings.TrimSpace(s.Kind + " " + s.Name)
	case "<none>": // how metav1.FormatLabelSelector writes an empty selector
		return "every " + s.Kind
	}
	return "every " + s.Kind + " with labels " + s.Labels
}

// SecretAccess is what one object of External Secrets newly reads, writes or assumes by a change,
// or no longer does. A remote name that another object of the same namespace took over is not
// listed.
type SecretAccess struct {
	// Action is create for a new access, and remove for an access that ends.
	Action Action      `json:"action" jsonschema:"enum=create,enum=remove"`
	Verb   SecretVerb  `json:"verb" jsonschema:"enum=read,enum=write,enum=assume"`
	Store  SecretStore `json:"store"`
	// Names are remote names, or with verb assume roles, sorted.
	Names []string `json:"names"`
	// Cluster and Namespace are the object's. A cluster-wide object has no namespace.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace,omitempty"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	// Position is where the access is written, or the chart's template, or what changes it.
	Position problem.Pos `json:"position,omitzero"`
}

// SecretReader reads an object of External Secrets (internal/change/externalsecrets). An object
// that the API server refuses has only faults.
type SecretReader func(tree map[string]any) ([]SecretUse, []SecretFault)

// SecretUse is one name that an object reads or writes, or one role of a store.
type SecretUse struct {
	Verb  SecretVerb
	Store SecretStore
	Name  string
	Path  []string // in the object
}

// SecretFault is a part of an object that External Secrets or the API server refuses.
type SecretFault struct {
	Path            []string
	Found, Expected string
}

// secrets collects what the compared objects of External Secrets use before and after a change.
type secrets struct {
	read          SecretReader // nil collects nothing
	x             *objects
	before, after map[secretKey]secretSite
}

// secretKey identifies an access before and after, whichever object has it.
type secretKey struct {
	verb               SecretVerb
	cluster, namespace string
	store              SecretStore
	name               string
}

// secretSite is the object that has an access.
type secretSite struct {
	kind, name string
	pos        problem.Pos
}

// pair reads both sides of a pair. An object that stays keeps reading, and so does the old object
// where the API server refuses the new one.
func (s *secrets) pair(p expand.Pair) {
	if s.read == nil || !p.Any().OfExternalSecrets() {
		return
	}
	if o := p.After; o != nil {
		uses, faults := s.read(o.Tree)
		for _, f := range faults {
			s.x.after.Report(problem.Problem{
				Reason: problem.InvalidSecret, Severity: problem.Error, Pos: s.place(o, f.Path), Subject: fmt.Sprintf("%s %q", o.Kind(), o.Name()),
				Found: f.Found, Expected: f.Expected, Cluster: s.cluster(o),
			})
		}
		if len(uses) == 0 && len(faults) > 0 {
			return
		}
		s.add(o, uses, s.after)
	}
	if p.Before != nil {
		uses, _ := s.read(p.Before.Tree) // a fault at the base is not the change's
		s.add(p.Before, uses, s.before)
		if p.Left {
			s.add(p.Before, uses, s.after)
		}
	}
}

func (s *secrets) add(o *object.Object, uses []SecretUse, to map[secretKey]secretSite) {
	cluster, namespace := s.cluster(o), namespaceOf(o)
	for _, u := range uses {
		k := secretKey{verb: u.Verb, cluster: cluster, namespace: namespace, store: u.Store, name: u.Name}
		if _, twin := to[k]; !twin {
			to[k] = secretSite{kind: o.Kind(), name: o.Name(), pos: s.place(o, u.Path)}
		}
	}
}

// accesses returns what the change newly reads and writes, and what it no longer does: the keys
// that only one side has, grouped by the objects that have them.
func (s *secrets) accesses() []SecretAccess {
	type group struct {
		key        secretKey // without the name
		kind, name string
	}
	var out []SecretAccess
	only := func(action Action, sites, others map[secretKey]secretSite) {
		groups := map[group]*SecretAccess{}
		for k, site := range sites {
			if _, both := others[k]; both {
				continue
			}
			g := group{k, site.kind, site.name}
			g.key.name = ""
			a := groups[g]
			if a == nil {
				a = &SecretAccess{Action: action, Verb: k.verb, Store: k.store, Cluster: k.cluster, Namespace: k.namespace, Kind: site.kind, Name: site.name, Position: site.pos}
				groups[g] = a
			}
			a.Names = append(a.Names, k.name)
			if site.pos.Compare(a.Position) < 0 {
				a.Position = site.pos
			}
		}
		for _, a := range groups {
			slices.Sort(a.Names)
			out = append(out, *a)
		}
	}
	only(Create, s.after, s.before)
	only(Remove, s.before, s.after)
	slices.SortFunc(out, func(a, b SecretAccess) int {
		return cmp.Or(
			cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Action, b.Action), cmp.Compare(a.Verb, b.Verb),
			cmp.Compare(a.Store.String(), b.Store.String()), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
		)
	})
	return out
}

// cluster returns where an object is deployed. An Application's objects go to its destination.
func (s *secrets) cluster(o *object.Object) string {
	if c := clusterOf(o); c != "" {
		return c
	}
	for above := o.Parent; above != nil; above = above.Parent {
		if name := manifest.Text(above.Tree, "spec", "destination", "name"); above.Application() && name != "" && name != "in-cluster" {
			return name
		}
	}
	return s.x.after.Name()
}

// namespaceOf returns an object's namespace, or the namespace to which it is deployed.
func namespaceOf(o *object.Object) string {
	switch {
	case strings.HasPrefix(o.Kind(), "Cluster"):
		return ""
	case o.Parent == nil:
		return o.Namespace()
	}
	return cmp.Or(o.Namespace(), o.Parent.TargetNamespace())
}

// place returns where a path of an object is written, or for a rendered object the place that
// changes it.
func (s *secrets) place(o *object.Object, path []string) problem.Pos {
	if o.Written() {
		return o.At(path...)
	}
	if pos := s.x.placeOfChange(o.Parent); !pos.IsZero() {
		return pos
	}
	return o.Pos
}
