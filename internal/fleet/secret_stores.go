package fleet

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// secretStores are the ClusterSecretStores that exist on the clusters although no object of the
// fleet makes them.
func (p layoutParser) secretStores() []string {
	const key = "secretStores"
	n := p.root.Node().Get(key)
	if n.IsNull() {
		return nil
	}
	if n.Kind != yamldoc.List {
		p.r.Add(problem.InvalidLayout, n, fmt.Sprintf("key %q", key), "is no list", "names of ClusterSecretStores")
		return nil
	}
	var out []string
	for _, item := range n.Items() {
		name, ok := item.Any().(string)
		if !ok || len(validation.IsDNS1123Subdomain(name)) > 0 {
			p.r.Add(problem.InvalidLayout, item, fmt.Sprintf("key %q", key), fmt.Sprintf("%v is no name", item.Any()), "the name of a ClusterSecretStore")
			continue
		}
		out = append(out, name)
	}
	return out
}
