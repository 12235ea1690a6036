package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
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
	case everyLabel:
		return "every " + s.Kind
	}
	return "every " + s.Kind + " with labels " + s.Labels
}

// everyLabel is how metav1.FormatLabelSelector writes an empty selector.
const everyLabel = "<none>"

// Kinds of stores.
const (
	namespacedStore = "SecretStore"
	clusterStore    = "ClusterSecretStore"
)

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
	// Roles lists the roles of the store, sorted; absent if it has none or is unknown.
	Roles []string `json:"roles,omitempty"`
	// Cluster and Namespace are the object's. A cluster-wide object has no namespace.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace,omitempty"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	// Position is where the access is written, or the chart's template, or what changes it.
	Position problem.Pos `json:"position,omitzero"`
}

// SecretReader decodes objects of External Secrets (internal/change/externalsecrets). The error is
// a *SecretFault.
type SecretReader interface {
	Read(tree map[string]any) (SecretObject, error)
}

// SecretObject is what an object of External Secrets uses.
type SecretObject struct {
	Uses   []SecretUse
	Faults []SecretFault
	// Store is set if the object is a store itself.
	Store *SecretStore
}

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

func (f *SecretFault) Error() string { return f.Found }

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

// storeKey is a store of a cluster. A ClusterSecretStore has no namespace.
type storeKey struct {
	cluster, namespace string
	store              SecretStore
}

func (k secretKey) storeKey() storeKey {
	out := storeKey{cluster: k.cluster, store: k.store}
	if k.store.Kind == namespacedStore {
		out.namespace = k.namespace
	}
	return out
}

// accesses returns the keys that only one side has, grouped by the objects that have them.
func accesses(action Action, sites, others map[secretKey]secretSite, roles map[storeKey][]string) []SecretAccess {
	groups := map[accessGroup]*SecretAccess{}
	for k, site := range sites {
		if _, both := others[k]; both {
			continue
		}
		g := accessGroup{k.verb, k.store, k.cluster, k.namespace, site.kind, site.name}
		a := groups[g]
		if a == nil {
			a = &SecretAccess{
				Action: action, Verb: k.verb, Store: k.store, Cluster: k.cluster, Namespace: k.namespace, Kind: site.kind, Name: site.name, Position: site.pos,
			}
			if k.verb != AssumeRole {
				a.Roles = roles[k.storeKey()]
			}
			groups[g] = a
		}
		a.Names = append(a.Names, k.name)
		if site.pos.Compare(a.Position) < 0 {
			a.Position = site.pos
		}
	}
	out := make([]SecretAccess, 0, len(groups))
	for _, a := range groups {
		slices.Sort(a.Names)
		out = append(out, *a)
	}
	return out
}

// accessGroup holds what the names of one SecretAccess have in common.
type accessGroup struct {
	verb               SecretVerb
	store              SecretStore
	cluster, namespace string
	kind, name         string
}

func compareAccesses(a, b SecretAccess) int {
	return cmp.Or(
		cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Action, b.Action), cmp.Compare(a.Verb, b.Verb),
		cmp.Compare(a.Store.String(), b.Store.String()), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
	)
}
