package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Fleet is the layout, the versions and the members of one snapshot. It is immutable.
type Fleet struct {
	Layout       *Layout
	Versions     *release.Versions
	FleetSecrets *release.List
	// Problems concern the repository or a hub as a whole; members have their own.
	Problems []problem.Problem
	// Approvals are the approved removals, by file. ApprovalProblems are the problems of these
	// files, which stop nothing else.
	Approvals        []Approval
	ApprovalProblems []problem.Problem
	// Holds are the hold files, sorted by name. HoldProblems are the unknown names in them; their
	// errors are among Problems and make the repository as a whole unusable.
	Holds        []*Hold
	HoldProblems []problem.Problem
	// Rollouts are the rollout policies, sorted by name.
	Rollouts []*rollout.Policy
	// Late are the member files, with their hubs, that claim a name, a hub or a provisioned cluster
	// which another file had first. Only they have the error.
	Late map[string]string

	hubs   map[string]*hub
	byPath map[string]*Member
	ofHubs []problem.Problem // the part of Problems that comes with the members
	files  []*snapshot.File  // below the members' folder

	layoutDigest string
}

type hub struct {
	self    *Member
	file    string    // the member file of self, also while it cannot be read
	members []*Member // sorted by name, the hub itself included
	faulty  []*Member // with errors
}

// Load reads a snapshot. It reuses what did not change since the previous fleet, which may be nil.
// The error is a problem.List and means that the repository as a whole cannot be used.
func Load(s *snapshot.Snapshot, cache *hierarchy.Cache, previous *Fleet) (*Fleet, error) {
	f := &Fleet{hubs: map[string]*hub{}, byPath: map[string]*Member{}, Late: map[string]string{}}
	if err := f.loadLayout(s, cache, previous); err != nil {
		return nil, err
	}
	cache = cache.Lenient(f.Layout.DuplicateKeys == problem.Warning)
	f.loadVersions(s, cache)
	f.loadMembers(s, cache, previous)
	f.loadApprovals(s, cache)
	f.loadHolds(s, cache)
	if err := f.loadRollouts(s, cache); err != nil {
		return nil, err
	}
	if len(f.hubs) == 0 {
		f.Problems = append(f.Problems, noMembers(s, f.Layout))
	}
	if len(problem.Errors(f.ProblemsOf(""))) > 0 {
		errs := problem.Errors(f.Problems)
		for _, h := range f.hubs { // so that one report names everything to fix
			for _, m := range h.members {
				errs = append(errs, problem.Errors(m.Problems)...)
			}
		}
		return nil, problem.List(problem.Sorted(errs))
	}
	f.Problems = problem.Sorted(f.Problems)
	return f, nil
}

func noMembers(s *snapshot.Snapshot, l *Layout) problem.Problem {
	p := problem.Problem{
		Reason: problem.NoMembers, Severity: problem.Error, Pos: problem.Pos{File: l.Members.Folder()},
		Subject: "the fleet", Found: "no member file", Expected: "files named " + l.Members.String(),
	}
	if s.Len() == 0 {
		p.Found = "the repository is empty"
	}
	return p
}

// unreadMembers reports folders that cannot be read and may have member files. Otherwise a member
// whose file is not known would look like a removed one.
func unreadMembers(s *snapshot.Snapshot, l *Layout) (out []problem.Problem) {
	folders := slices.Concat(s.BrokenFolders(), s.ObstaclesUnder(l.Members.Folder()))
	if above := s.BrokenFolder(l.Members.Folder()); above != nil && !slices.Contains(folders, above) {
		folders = append(folders, above)
	}
	for _, folder := range folders {
		isNote := snapshot.IsPlain(folder) && strings.HasPrefix(folder.Path, l.Members.Folder()+"/")
		if folder.Folder && !isNote && l.Members.MayBeBelow(folder.Path) {
			out = append(out, problem.From(folder.Err, problem.LimitExceeded, problem.Pos{File: folder.Path})...)
		}
	}
	return out
}

func (f *Fleet) loadLayout(s *snapshot.Snapshot, cache *hierarchy.Cache, previous *Fleet) (err error) {
	file := s.File(LayoutFile)
	if f.layoutDigest = "absent"; file != nil {
		f.layoutDigest = file.Digest
	}
	if previous != nil && previous.layoutDigest == f.layoutDigest {
		f.Layout = previous.Layout
		return nil
	}
	var doc *yamldoc.Doc
	if file != nil {
		doc, err = cache.Lenient(false).Doc(file)
	}
	if err == nil {
		f.Layout, err = ParseLayout(doc)
	}
	if err != nil {
		return problem.List(problem.From(err, problem.InvalidLayout, problem.Pos{File: LayoutFile}))
	}
	return nil
}

// ReadLayout reads only the layout of a snapshot. It reuses the layout of the previous fleet, which
// may be nil, if the file is the same.
func ReadLayout(s *snapshot.Snapshot, cache *hierarchy.Cache, previous *Fleet) (*Layout, error) {
	f := &Fleet{}
	err := f.loadLayout(s, cache, previous)
	return f.Layout, err
}

func (f *Fleet) loadVersions(s *snapshot.Snapshot, cache *hierarchy.Cache) {
	f.Versions, f.FleetSecrets = &release.Versions{}, &release.List{Group: "fleetSecrets"}
	if doc := f.versionsFile(s, cache, f.Layout.ApplicationSets); doc != nil {
		v, problems := release.ParseApplicationSets(doc)
		f.Versions, f.Problems = &v, append(f.Problems, problems...)
		for _, g := range v.Groups() {
			if _, ok := f.Layout.Groups[g]; !ok {
				f.Problems = append(f.Problems, problem.Problem{
					Reason: problem.UnknownKey, Severity: problem.Warning, Pos: v.Of(g).Pos, Subject: fmt.Sprintf("group %q", g),
					Found: "not in the layout", Hints: problem.Nearest(g, f.Layout.GroupNames()),
				})
			}
		}
	}
	if doc := f.versionsFile(s, cache, f.Layout.FleetSecrets); doc != nil {
		l, problems := release.ParseFleetSecrets(doc)
		f.FleetSecrets, f.Problems = &l, append(f.Problems, problems...)
	}
}

// versionsFile reads a versions file; nil for none, or with a problem.
func (f *Fleet) versionsFile(s *snapshot.Snapshot, cache *hierarchy.Cache, path string) *yamldoc.Doc {
	if path == "" { // every cluster is on release "default"
		return nil
	}
	file := s.File(path)
	if file == nil {
		f.Problems = append(f.Problems, problem.Problem{
			Reason: problem.MissingFile, Severity: problem.Warning, Pos: problem.Pos{File: path},
			Subject: "versions file", Found: "not there", Expected: "a list of releases; without it every cluster is on release \"default\"",
		})
		return nil
	}
	doc, err := cache.Doc(file)
	f.Problems = append(f.Problems, problem.From(err, problem.InvalidVersions, problem.Pos{File: path})...)
	return doc
}

func (f *Fleet) loadMembers(s *snapshot.Snapshot, cache *hierarchy.Cache, previous *Fleet) {
	f.Problems = append(f.Problems, unreadMembers(s, f.Layout)...)
	f.files = s.EntriesUnder(f.Layout.Members.Folder())
	if previous.sameMembers(s, f.Layout) {
		f.hubs, f.byPath, f.ofHubs, f.Late = previous.hubs, previous.byPath, previous.ofHubs, previous.Late
	} else {
		f.readMembers(cache, previous)
	}
	f.Problems = append(f.Problems, f.ofHubs...)
}

// sameMembers reports whether a snapshot has exactly the member files of this fleet, which may be
// nil.
func (f *Fleet) sameMembers(s *snapshot.Snapshot, layout *Layout) bool {
	if f == nil || f.Layout != layout {
		return false
	}
	files := s.EntriesUnder(layout.Members.Folder())
	if slices.Equal(f.files, files) {
		return true
	}
	found := 0
	for _, file := range files {
		path := file.Path
		m := f.byPath[path]
		if m == nil {
			if _, _, ok := layout.Members.Match(path); ok {
				return false
			}
			continue
		}
		if m.digest != file.Digest {
			return false
		}
		found++
	}
	return found == len(f.byPath)
}

func (f *Fleet) readMembers(cache *hierarchy.Cache, previous *Fleet) {
	for _, file := range f.files {
		hubName, name, ok := f.Layout.Members.Match(file.Path)
		if !ok {
			continue
		}
		f.byPath[file.Path] = f.member(file, hubName, name, cache, previous)
	}
	f.addDeclaredHubs()
	for _, path := range slices.Sorted(maps.Keys(f.byPath)) {
		m := f.byPath[path]
		if f.takenByLayout(m, previous) {
			continue
		}
		m = f.secondHub(m, previous)
		h := f.hubs[m.Hub]
		if h == nil {
			h = &hub{}
			f.hubs[m.Hub] = h
		}
		h.members = append(h.members, m)
		switch {
		case m.IsHub && h.self == nil:
			h.self = m
		case m.IsHub && h.self == f.Layout.Hubs[m.Hub]: // the member has the problem
		case m.IsHub:
			f.ofHubs = append(f.ofHubs, secondSelf(m, h.self))
		}
	}
	defer f.lateTwins(previous)
	for _, name := range f.Hubs() {
		h := f.hubs[name]
		f.oneFileEach(name, h, previous)
		f.duplicates(name, h)
		if h.file = previous.hubFile(name); h.self != nil {
			h.file = h.self.Pos.File
		}
		for _, m := range h.members {
			if len(problem.Errors(m.Problems)) > 0 {
				h.faulty = append(h.faulty, m)
			}
		}
		if _, ofTenants := f.Layout.Members.Tenant(h.members[0].Pos.File); h.self == nil && !ofTenants { // else its members have the error
			f.ofHubs = append(f.ofHubs, problem.Problem{
				Reason: problem.MissingHubMember, Severity: problem.Warning, Pos: h.members[0].Pos, Subject: fmt.Sprintf("hub %q", name),
				Found: "no member file of the hub itself", Expected: "one with fleet_member: hub-cluster",
			})
		}
	}
}

func (f *Fleet) member(file *snapshot.File, hubName, name string, cache *hierarchy.Cache, previous *Fleet) *Member {
	if previous != nil && previous.Layout == f.Layout {
		if m := previous.byPath[file.Path]; m != nil && m.digest == file.Digest {
			return m
		}
	}
	doc, err := cache.Doc(file)
	return readMember(f.Layout, hubName, name, file, doc, err)
}

// ProblemsOf returns the problems of a hub as a whole, or of the repository for an empty name.
func (f *Fleet) ProblemsOf(hubName string) []problem.Problem {
	var out []problem.Problem
	for _, p := range f.Problems {
		if p.Hub == hubName && p.Cluster == "" {
			out = append(out, p)
		}
	}
	return out
}

// Hubs returns the names of all hubs, sorted.
func (f *Fleet) Hubs() []string { return slices.Sorted(maps.Keys(f.hubs)) }

// Members returns a hub's members, itself included, sorted by name; nil for an unknown hub.
func (f *Fleet) Members(hubName string) []*Member {
	if h := f.hubs[hubName]; h != nil {
		return h.members
	}
	return nil
}

// Faulty returns a hub's members whose files have errors.
func (f *Fleet) Faulty(hubName string) []*Member {
	if h := f.hubs[hubName]; h != nil {
		return h.faulty
	}
	return nil
}

// HubMember returns the hub's own member, from its file or the layout; nil when there is none.
func (f *Fleet) HubMember(hubName string) *Member {
	if h := f.hubs[hubName]; h != nil {
		return h.self
	}
	return nil
}

// Member returns a hub's member by name, or nil when there is none.
func (f *Fleet) Member(hubName, name string) *Member {
	i, found := f.Place(hubName, name)
	if !found {
		return nil
	}
	return f.Members(hubName)[i]
}

// Place returns the index of a hub's member in Members, and whether the hub has it.
func (f *Fleet) Place(hubName, name string) (int, bool) {
	return slices.BinarySearchFunc(f.Members(hubName), name, func(m *Member, name string) int { return strings.Compare(m.Name, name) })
}

// HasMembersOf reports whether both fleets have the same members, by the same files.
func (f *Fleet) HasMembersOf(other *Fleet) bool { return maps.Equal(f.hubs, other.hubs) }

// Root returns the folder that holds a group's levels for a member: the member's own choice, else
// the hub's, else the layout's.
func (f *Fleet) Root(m *Member, group string) string {
	if root := m.repositoryRoots[group]; root != "" {
		return root
	}
	if self := f.HubMember(m.Hub); self != nil && self.repositoryRoots[group] != "" {
		return self.repositoryRoots[group]
	}
	return f.Layout.Groups[group].Root
}
