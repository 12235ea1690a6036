package fleet

import "github.com/argosy-hub/argosy/internal/base/problem"

// FindMember finds a member by its name. An empty hub means the only hub with such a member.
func (f *Fleet) FindMember(hub, name string) (*Member, *problem.QueryError) {
	var found []*Member
	for _, h := range f.Hubs() {
		if m := f.Member(h, name); m != nil && (hub == "" || h == hub) {
			found = append(found, m)
		}
	}
	switch names := f.MemberNames(hub); {
	case hub != "" && names == nil:
		return nil, problem.BadRequest("hub %q has no member files%s", hub, problem.Hint(hub, f.Hubs()))
	case len(found) == 0:
		return nil, problem.BadRequest("no member is called %q%s", name, problem.Hint(name, names))
	case len(found) > 1:
		return nil, problem.BadRequest("cluster %q is a member of hubs %s and %s: name the hub", name, found[0].Hub, found[1].Hub)
	}
	return found[0], nil
}

// MemberNames returns the names of a hub's members, or with an empty hub of all.
func (f *Fleet) MemberNames(hub string) (out []string) {
	for _, h := range f.Hubs() {
		for _, m := range f.Members(h) {
			if hub == "" || h == hub {
				out = append(out, m.Name)
			}
		}
	}
	return out
}
