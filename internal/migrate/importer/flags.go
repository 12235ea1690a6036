package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/lint"
	"github.com/argosy-hub/argosy/internal/change/scaffold"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/placement"
)

const enableRemote = "enable_remote_"

// flagNames returns the names of the flags that the fleet has, in the order of withFlags.
func (m *importer) flagNames() []string {
	return append(slices.Clone(fleet.Flags), enableRemote+m.o.Group)
}

// withoutFlags returns a cluster's labels without those that become flags.
func (m *importer) withoutFlags(cluster string, of map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range of {
		switch group, isRemote := strings.CutPrefix(key, enableRemote); {
		case slices.Contains(m.flagNames(), key):
			m.hasFlags = true
		case isRemote && value != "false":
			m.note("label %s=%s of %s is not a flag: the fleet has no group %s", key, value, cluster, group)
			fallthrough
		default:
			out[key] = value
		}
	}
	return out
}

// withFlags adds each flag to the members that have it as a label, if the fleet then makes the same
// Applications on them, and lint has no other finding. It notes the others; their labels stay on
// the clusters' Secrets, where selectors read them. What is false by default is added only if an
// ApplicationSet reads it.
func (m *importer) withFlags(r *Result, before []problem.Problem, sets []applicationSet, components map[string][]*application, apps []*application) (*Result, error) {
	base := m.differs
	for _, name := range m.flagNames() {
		isRead := slices.ContainsFunc(sets, func(s applicationSet) bool { return strings.Contains(string(manifest.Canonical(s.tree)), name) })
		tried := map[*scaffold.Member]scaffold.Member{} // as they were
		for _, c := range m.known {
			member := m.members[m.nameOf(c)]
			byDefault := name == "use_external_secrets" && slices.Contains(member.Flags, placement.FlagRemote+"=true")
			if value, ok := c.Labels[name]; ok && (value != strconv.FormatBool(byDefault) || isRead && !byDefault) {
				tried[member] = *member
				m.setFlag(member, name, value)
			}
		}
		for len(tried) > 0 {
			next, err := m.made(before, components, apps)
			count := len(tried)
			for member, was := range tried {
				found := slices.DeleteFunc(m.differs[member.Name], func(text string) bool { return slices.Contains(base[member.Name], text) })
				if len(found) > 0 {
					m.note("left out label %s of %s; with the flag: %s", member.Flags[len(was.Flags)], member.Name, found[0])
					*member = was
					delete(tried, member)
				}
			}
			if len(tried) == count {
				if err != nil {
					return nil, err
				}
				r = next
				break
			}
		}
	}
	r.Notes = slices.Sorted(maps.Keys(m.notes))
	return r, nil
}

// setFlag sets a flag of a member. The engine of an agent is there, and not by the group fleet.
func (m *importer) setFlag(member *scaffold.Member, name, value string) {
	member.Flags = append(slices.Clip(member.Flags), name+"="+value)
	if value == "true" && name == placement.FlagRemote && m.o.Group != fleetstate.FleetGroup && !slices.Contains(member.Annotations, placement.ExternalEngine) {
		member.Annotations = slices.Concat(member.Annotations, []string{placement.ExternalEngine})
	}
	for _, pair := range member.Annotations {
		if secret, ok := strings.CutPrefix(pair, m.o.Group+"_repo_secret="); ok && value == "true" && name == "githubSecret" {
			member.Flags = append(member.Flags, "githubSecretName="+secret)
		}
	}
}

// findings records what lint reports of the members: without facts, in which the labels that may
// become flags have effects, too.
func (m *importer) findings(snap *snapshot.Snapshot) {
	st, err := fleetstate.Build(nil, snap, facts.Set{})
	if err != nil {
		return
	}
	for _, p := range lint.Run(st, m.o.Tools) {
		if p.Reason != problem.NoEffect {
			m.differs[p.Cluster] = append(m.differs[p.Cluster], p.Message())
		}
	}
}

// facts returns the facts in the clusters' Secrets, by member.
func (m *importer) facts() facts.Set {
	var clusters []facts.Cluster
	for _, c := range m.known {
		clusters = append(clusters, facts.Cluster{Name: m.members[m.nameOf(c)].Name, Labels: c.Labels, Annotations: c.Annotations})
	}
	return facts.NewSet(false, clusters...)
}

// noteReplaced notes where the fleet differs from the clusters' Secrets, except for releases, which
// withReleases notes.
func (m *importer) noteReplaced(st *fleetstate.State) {
	for _, c := range st.Clusters() {
		for _, r := range inventory.Replaced(c) {
			if r.Key != release.LabelOf(m.o.Group) && r.Key != release.FleetSecretsLabel {
				m.note("%s %q of %s: %s", r.Kind, r.Key, c.Member.Name, r)
			}
		}
	}
}

// note adds a note, once.
func (m *importer) note(format string, of ...any) { m.notes[fmt.Sprintf(format, of...)] = true }
