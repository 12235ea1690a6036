package expand

import (
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// Addresses returns the addresses of the remote repositories and value files that the hub's
// Applications name: a change of the fleet may keep reading them.
func (h *Hub) Addresses() map[string]bool {
	out := map[string]bool{}
	h.Walk(false, func(o *object.Object) bool {
		if !o.Deploys() {
			return true
		}
		for _, p := range h.parts(o) {
			named := map[any]func(){}
			h.fetches(p, named)
			for name := range named {
				switch name := name.(type) {
				case source.Reference:
					out[name.RepoURL] = true
				case source.Place:
					out[name.RepoURL] = true
				case string:
					out[name] = true
				}
			}
		}
		return true
	})
	return out
}
