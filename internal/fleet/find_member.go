package fleet

import "github.com/argosy-hub/argosy/internal/base/problem"

// FindMember finds a member by its name. An empty hub means the only hub with such a member.
func (f *Fleet) FindMember(hub, name string) (*Member, *problem.QueryError) {
	var found []*Member
	var names []string
	for _, h := range f.Hubs() {
		if hub != "" && h != hub {
			continue
		}
		for _, m := range f.Members(h) {
			names = append(names, m.Name)
			if m.Name == name {
				found = append(found, m)
			}
		}
	}
	switch {
	case hub != "" && names == nil:
		return nil, problem.BadRequest("hub %q has no member files%s", hub, problem.Hint(hub, f.Hubs()))
	case len(found) == 0:
		return nil, problem.BadRequest("no member is called %q%s", name, problem.Hint(name, names))
	case len(found) > 1:
		return nil, problem.BadRequest("cluster %q is a member of hubs %s and %s: name the hub", name, found[0].Hub, found[1].Hub)
	}
	return found[0], nil
}
