package facts

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Application is one component on one cluster as the requesting engine has it: an Application of
// Argo CD, or a HelmRelease or Kustomization of Flux with the same name. Fields without a label are
// empty.
type Application struct {
	Name string `json:"name" expect:"its name"`
	// Kind is Kustomization for a folder of manifests that Flux applies; empty for everything else.
	Kind      string `json:"kind,omitempty" is:"internal"`
	Cluster   string `json:"cluster,omitempty"`   // label argosy.dev/cluster
	Group     string `json:"group,omitempty"`     // label argosy.dev/group
	Component string `json:"component,omitempty"` // label argosy.dev/component
	Release   string `json:"release,omitempty"`   // label argosy.dev/release
	// Owner is the owner of the artifact that brought a HelmRelease, by OwnerOf. It is empty for an
	// Application of Argo CD, which has a Controller.
	Owner string `json:"owner,omitempty"`
	// Cascade reports that deleting it deletes its workloads: the Application carries Argo CD's
	// cascading finalizer, resources-finalizer.argocd.argoproj.io or a form of it (/foreground,
	// /background); the HelmRelease may be pruned, and is annotated for deletion
	// (DeletionAnnotation).
	Cascade bool `json:"cascade,omitempty"`
	// Suspended reports that deleting a HelmRelease leaves its workloads: it may be pruned, and is
	// annotated so that Flux has given up its workloads (DeletionAnnotation). An Application
	// without Cascade needs no annotation.
	Suspended bool `json:"suspended,omitempty"`
	// Controller is the ApplicationSet that controls the Application by its ownerReference; empty
	// when none does. While one does, no other can take the Application over.
	Controller string `json:"controller,omitempty"`
	// Grant reports that it has no component, but delivers the ownership grant of Group to Cluster.
	Grant bool `json:"grant,omitempty"`
	// Digest is the digest of the parameter set that made the Application (DigestAnnotation); empty
	// where its template does not write it.
	Digest string `json:"digest,omitempty"`
	// Healthy reports that the engine shows the Application as synced and healthy, and has looked
	// at it since the digest was written.
	Healthy bool `json:"healthy,omitempty"`
	// Degraded reports that the engine shows the Application as degraded, and has looked at it
	// since the digest was written.
	Degraded bool `json:"degraded,omitempty" is:"internal"`
	// Broken is when the engine was last seen to show it otherwise than healthy, in milliseconds
	// since 1970; 0 if it never was. Healthy says how it is now, Broken whether it was otherwise
	// before.
	Broken int64 `json:"broken,omitempty" is:"internal"`
	// Report is what the member's service reports on the components of a grant's group, by
	// FormatReport; empty for nothing.
	Report string `json:"report,omitempty" is:"internal"`
	// Unheard is why the report does not count, and since when; empty while it does.
	Unheard string `json:"unheard,omitempty" is:"internal"`
}

// DigestAnnotation has the digest of an Application's parameter set.
const DigestAnnotation = "argosy.dev/digest"

// applications are sorted by cluster, then name.
type applications struct {
	sorted    []Application
	byName    map[string]int32    // by key
	ofCluster map[string][2]int32 // from, to

	controlling  sync.Once
	controlledBy map[string][]int32
}

// WithApplications returns the set with all Applications. An empty list is not the same as unknown
// Applications. Of several with one name the last counts.
func (s Set) WithApplications(apps ...Application) Set {
	s.applications = newApplications(apps)
	return s
}

// WithHealth returns the set as one that knows which of its Applications are healthy.
func (s Set) WithHealth() Set {
	s.health = true
	return s
}

// KnowsHealth reports whether it is known which Applications are healthy: that none is healthy can
// be known, too.
func (s Set) KnowsHealth() bool { return s.health && s.applications != nil }

// newApplications sorts Applications; of several of one kind with one name the last counts.
func newApplications(apps []Application) *applications {
	byName := make(map[string]int32, len(apps))
	for i, a := range apps {
		byName[a.key()] = int32(i) //nolint:gosec // far fewer fit into a cluster
	}
	k := &applications{sorted: make([]Application, 0, len(byName)), byName: byName, ofCluster: map[string][2]int32{}}
	for i, a := range apps {
		if byName[a.key()] == int32(i) { //nolint:gosec // as above
			k.sorted = append(k.sorted, a)
		}
	}
	slices.SortFunc(k.sorted, Application.compare)
	for i, a := range k.sorted {
		at := int32(i) //nolint:gosec // as above
		byName[a.key()] = at
		r, ok := k.ofCluster[a.Cluster]
		if !ok {
			r[0] = at
		}
		r[1] = at + 1
		k.ofCluster[a.Cluster] = r
	}
	return k
}

// Applications returns all Applications, sorted by cluster, then name, and whether they are known
// at all. They must not be changed.
func (s Set) Applications() (apps []Application, known bool) {
	return s.applications.all()
}

func (k *applications) all() ([]Application, bool) {
	if k == nil {
		return nil, false
	}
	return k.sorted, true
}

// Application returns an Application by name; false when there is none, or when Applications are
// unknown.
func (s Set) Application(name string) (Application, bool) {
	return s.applications.find(Application{Name: name})
}

// find returns the object of a kind and name.
func (k *applications) find(like Application) (Application, bool) {
	if k == nil {
		return Application{}, false
	}
	i, ok := k.byName[like.key()]
	if !ok {
		return Application{}, false
	}
	return k.sorted[i], true
}

// ApplicationsOf returns the Applications labelled with a cluster, sorted by name. They must not be
// changed.
func (s Set) ApplicationsOf(cluster string) []Application {
	if s.applications == nil {
		return nil
	}
	r := s.applications.ofCluster[cluster]
	return s.applications.sorted[r[0]:r[1]:r[1]]
}

// ControlledBy returns the Applications that an ApplicationSet controls, sorted by cluster, then
// name.
func (s Set) ControlledBy(applicationSet string) []Application {
	k := s.applications
	if k == nil || applicationSet == "" {
		return nil
	}
	k.controlling.Do(func() {
		k.controlledBy = map[string][]int32{}
		for i, a := range k.sorted {
			k.controlledBy[a.Controller] = append(k.controlledBy[a.Controller], int32(i)) //nolint:gosec // far fewer fit into a cluster
		}
	})
	out := make([]Application, 0, len(k.controlledBy[applicationSet]))
	for _, i := range k.controlledBy[applicationSet] {
		out = append(out, k.sorted[i])
	}
	return out
}

// ApplicationsDiffer calls f for every Application that is in only one of two sets; for a changed
// one, twice: as it was and as it is. Unknown Applications count as none. Reports do not count:
// no parameter set depends on them.
func ApplicationsDiffer(s, t Set, f func(Application)) {
	if s.SharesApplications(t) {
		return
	}
	a, _ := s.Applications()
	b, _ := t.Applications()
	for len(a) > 0 && len(b) > 0 {
		switch c := a[0].compare(b[0]); {
		case c < 0:
			f(a[0])
			a = a[1:]
		case c > 0:
			f(b[0])
			b = b[1:]
		default:
			if a[0].withoutReport() != b[0].withoutReport() {
				f(a[0])
				f(b[0])
			}
			a, b = a[1:], b[1:]
		}
	}
	for _, left := range [][]Application{a, b} {
		for _, x := range left {
			f(x)
		}
	}
}

func (a Application) withoutReport() Application {
	a.Report, a.Unheard = "", ""
	return a
}

// compare orders Applications as Set.Applications does.
func (a Application) compare(b Application) int {
	return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
}

// key returns the name, with the kind before it unless the kind is empty: no name begins with a
// slash.
func (a Application) key() string {
	if a.Kind == "" {
		return a.Name
	}
	return "/" + a.Kind + "/" + a.Name
}

// SharesApplications reports whether two sets have the same Applications because one was made from
// the other. It takes no time.
func (s Set) SharesApplications(t Set) bool { return s.applications == t.applications }

func (k *applications) equal(l *applications) bool {
	if k == l || k == nil || l == nil {
		return k == l
	}
	return slices.Equal(k.sorted, l.sorted)
}
