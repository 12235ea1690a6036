package fleetstate

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/mount"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// MountsOf reads what a fleet repository's layout joins, nil for nothing. What did not change since
// the previous state, which may be nil, is taken from it. The error is that of Build.
func MountsOf(previous *State, main *snapshot.Snapshot) (*mount.Table, error) {
	var before *Resolver
	var beforeFleet *fleet.Fleet
	documents := hierarchy.NewCache()
	if previous != nil {
		before = previous.resolver
		beforeFleet, documents = before.Fleet, before.Documents
	}
	layout, err := fleet.ReadLayout(main, documents, beforeFleet)
	if err != nil || len(layout.Mounts) == 0 {
		return nil, err
	}
	b, err := newResolver(before, main)
	if err != nil {
		return nil, err
	}
	if hidden := b.mounts.Hidden(main); len(hidden) > 0 {
		return nil, hidden
	}
	return b.mounts, nil
}

// changedMounts goes through the members that mounts concern, if other ones are unknown now.
func (st *State) changedMounts(previous *State, due func(*fleet.Member)) {
	unknown := func(b *Resolver) []snapshot.Part {
		return slices.DeleteFunc(slices.Clone(b.Snapshot.Parts()), func(p snapshot.Part) bool { return !p.Unknown })
	}
	if slices.EqualFunc(unknown(previous.resolver), unknown(st.resolver), func(a, b snapshot.Part) bool { return a.Path == b.Path }) {
		return
	}
	for m := range st.Clusters() {
		if len(st.resolver.mounts.Of(m, mount.Group)) > 0 {
			due(m)
		}
	}
}

// MountProblems are those of the layout's mounts.
func (st *State) MountProblems() []problem.Problem { return st.resolver.mounts.Problems() }
