package fleetstate

import (
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/mount"
)

// MountsOf reads what a fleet repository's layout joins, nil for nothing. What did not change since
// the previous state, which may be nil, and members that cannot be read are taken from it. The
// error is that of Build.
func MountsOf(previous *State, main *snapshot.Snapshot) (*mount.Table, error) {
	var before *Resolver
	var was *fleet.Fleet
	if previous != nil {
		before, was = previous.resolver, previous.Fleet
	}
	if are, err := mount.AreDeclared(main, was); !are {
		return nil, err
	}
	b, err := newResolver(before, nil, main, servedBy(previous, nil))
	if err != nil {
		return nil, err
	}
	return b.Mounts, nil
}

// Bounds are what the repository says that bounds mounts, and the changes of a team.
func (b *Resolver) Bounds() mount.Bounds {
	return mount.Bounds{Fleet: b.Fleet, Catalogs: b.Catalogs, Teams: b.teams, Apps: b.apps, Documents: b.Documents, Folder: b.folders.Of}
}

// WithParts is a resolver of the same fleet repository with other parts of mounts.
func (b *Resolver) WithParts(parts []snapshot.Part) (*Resolver, error) {
	return newResolver(b, nil, b.Snapshot.Main().Join(parts), nil)
}

// changedMounts goes through the members that mounts concern, if other ones are unknown now.
func (st *State) changedMounts(previous *State, due func(*fleet.Member)) {
	if mount.SameUnknown(previous.resolver.Snapshot, st.resolver.Snapshot) {
		return
	}
	for m := range st.Clusters() {
		if len(st.resolver.Mounts.Of(m, mount.Group)) > 0 {
			due(m)
		}
	}
}
