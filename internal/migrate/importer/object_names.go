package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argosy-hub/argosy/internal/fleet/catalog"
)

// defaultNamespace is Argo CD's namespace, unless the ApplicationSets are elsewhere.
const defaultNamespace = "argocd"

// findNamespace finds the namespace of most ApplicationSets, where the fleet's will be.
func (m *importer) findNamespace(sets []applicationSet) {
	count := map[string]int{}
	for _, s := range sets {
		if s.namespace != "" {
			count[s.namespace]++
		}
	}
	m.namespace = defaultNamespace
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if count[name] > count[m.namespace] {
			m.namespace = name
		}
	}
}

// possible returns the Applications that Argo CD can create under their names. Others are reported
// and left out. An Application that the fleet creates in another namespace is reported.
func (m *importer) possible(apps []*application) []*application {
	var out []*application
	first := map[string]*application{}
	elsewhere := map[*applicationSet]bool{}
	for _, a := range apps {
		subject := fmt.Sprintf("Application %q", a.Name)
		namespace := cmp.Or(a.set.namespace, m.namespace) // Argo CD creates them beside their ApplicationSet
		key := namespace + "/" + a.Name
		other := first[key]
		switch {
		case len(validation.IsDNS1123Subdomain(a.Name)) > 0:
			m.report(a.set.pos, subject, "no object can have this name: Argo CD cannot make it")
			continue
		case other != nil && other.set == a.set:
			m.report(a.set.pos, subject, fmt.Sprintf("is made twice, for clusters %q and %q: Argo CD makes the first", other.Cluster, a.Cluster))
			continue
		case other != nil:
			m.report(a.set.pos, subject, fmt.Sprintf("is made by %s, too (%s): one Application has one owner, and this one is left out", other.set.subject(), other.set.pos))
			continue
		}
		if namespace != m.namespace && !elsewhere[a.set] {
			elsewhere[a.set] = true
			m.report(a.set.pos, a.set.subject(), fmt.Sprintf("its Applications are in namespace %q, and the fleet's in %q", namespace, m.namespace))
		}
		first[key] = a
		out = append(out, a)
	}
	return out
}

// checkNames ends an import whose components and members give one name to two Applications.
func (m *importer) checkNames(components map[string][]*application) error {
	taken := map[string]*application{}
	for _, component := range slices.Sorted(maps.Keys(components)) {
		for _, a := range components[component] {
			name := catalog.ApplicationName(component, m.members[a.Cluster].Name)
			other := taken[name]
			if other == nil {
				taken[name] = a
				continue
			}
			return m.fail(a.set.pos, fmt.Sprintf("Application %q", a.Name), fmt.Sprintf("would be called %q, as Application %q of %s: component %q on cluster %q, and %q on %q",
				name, other.Name, other.set.pos, component, a.Cluster, other.component, other.Cluster), "give one of the ApplicationSets, or of the clusters, another name")
		}
	}
	return nil
}
