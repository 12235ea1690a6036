package tenancy

import "github.com/argosy-hub/argosy/internal/fleet"

// Moved returns the members of a fleet whose files are in another hub's folder in the next one,
// with that hub.
func Moved(before, now *fleet.Fleet) map[*fleet.Member]string {
	out := map[*fleet.Member]string{}
	if now.HasMembersOf(before) {
		return out
	}
	for _, old := range before.Hubs() {
		for _, m := range before.Members(old) {
			if now.Member(old, m.Name) != nil {
				continue
			}
			for _, hub := range now.Hubs() {
				if before.Member(hub, m.Name) == nil && now.Member(hub, m.Name) != nil {
					out[m] = hub
					break
				}
			}
		}
	}
	return out
}
