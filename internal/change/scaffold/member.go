package scaffold

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
)

// Engines lists the engines that an agent may run.
var Engines = []string{fleet.EngineArgoCD, fleet.EngineFlux}

// Member describes a new member.
type Member struct {
	Hub, Name, Tenant, Environment string
	HubCluster                     bool
	Secret, Agent, GitHubSecret    string
	EnableRemote                   []string
	Flags, Labels, Annotations     []string // key=value
	// Class, if not empty, is the class of a cluster which the hub provisions.
	Class, Version, NodesVersion string
	Account, Region              string
	Inputs                       []string // key=value
}

// Check refuses a description that no repository could hold. Draft checks the names.
func (m Member) Check() error {
	if m.Agent != "" {
		if err := problem.CheckChoice("agent", m.Agent, Engines...); err != nil {
			return err
		}
	}
	if m.HubCluster && m.Agent != "" {
		return problem.Usage(nil, "--agent does not go with --hub-cluster: a hub deploys to itself")
	}
	if len(m.EnableRemote) > 0 && m.Agent == "" {
		return problem.Usage([]string{"add --agent argocd or --agent flux"}, "--enable-remote needs --agent: without an engine of its own, the hub owns every group")
	}
	for _, list := range []struct {
		flag  string
		pairs []string
	}{{"label", m.Labels}, {"annotation", m.Annotations}, {"input", m.Inputs}} {
		seen := map[string]bool{}
		for _, pair := range list.pairs {
			key, _, ok := strings.Cut(pair, "=")
			if !ok || key == "" {
				return problem.Usage(nil, "--%s: %q is not key=value", list.flag, pair)
			}
			if seen[key] {
				return problem.Usage(nil, "--%s: key %q is given twice", list.flag, key)
			}
			seen[key] = true
		}
	}
	return nil
}

// NewMember drafts the file of a member.
func NewMember(ctx context.Context, r Repository, m Member) (*Draft, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	d, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	for _, group := range m.EnableRemote {
		if err := oneOf("--enable-remote", group, "groups of the layout", d.layout.GroupNames()); err != nil {
			return nil, err
		}
	}
	path, err := m.path(d.layout)
	if err != nil {
		return nil, err
	}
	d.texts(m, map[string]string{path: "new-member.yaml"})
	st, err := d.try()
	if err != nil {
		return nil, err
	}
	d.Summary = components(st, m)
	return d, nil
}

// components names the components that the cluster would get.
func components(st *fleetstate.State, m Member) string {
	var b strings.Builder
	for _, group := range st.Fleet.Layout.GroupNames() {
		var names []string
		for _, component := range st.ComponentsOf(m.Hub, m.Name, group) {
			t := explain.Target{Hub: m.Hub, Cluster: m.Name, Group: group, Component: component}
			if e, err := explain.Component(st, t, nil); err == nil && e.IsSelected() {
				names = append(names, component)
			}
		}
		if len(names) == 0 {
			continue
		}
		owner := "the hub"
		if member := st.Fleet.Member(m.Hub, m.Name); member.Owner(group) != fleet.OwnerHub {
			owner = "its own engine"
		}
		fmt.Fprintf(&b, "%s (from %s): %s\n", group, owner, strings.Join(names, ", "))
	}
	if b.Len() == 0 {
		return "it would get no component yet: the hierarchy enables none for it\n"
	}
	return b.String()
}

// path returns the path of the file. It refuses an invalid name, which would be read as another
// name.
func (m Member) path(l *fleet.Layout) (string, error) {
	if l.Hub != "" && m.Hub != l.Hub {
		return "", problem.Usage([]string{"the key \"hub\" of the layout names the hub of all members"}, "hub %q is not the hub of the layout, %q", m.Hub, l.Hub)
	}
	path, err := l.Members.Path(m.Hub, m.Tenant, m.Name)
	if err != nil {
		return "", problem.Usage(nil, "%w", err)
	}
	if hub, name, ok := l.Members.Match(path); !ok || hub != m.Hub || name != m.Name || slices.Contains(strings.Split(path, "/"), "..") {
		return "", problem.Usage([]string{"names are lower case letters, digits and inner hyphens, at most 63"}, "hub %q and name %q give no member file's path", m.Hub, m.Name)
	}
	return path, nil
}

// Text returns the file, with comments where its keys do not explain themselves.
func (m Member) Text() (string, error) { return text("new-member.yaml", m) }

// RemoteGroups returns the groups of the cluster's own engine, each once.
func (m Member) RemoteGroups() []string {
	return slices.Compact(slices.Sorted(slices.Values(m.EnableRemote)))
}

// pair is a key with its value.
type pair struct{ Key, Value string }

// pairsOf returns key=value pairs by key.
func pairsOf(list []string) (out []pair) {
	for _, text := range slices.Sorted(slices.Values(list)) {
		key, value, _ := strings.Cut(text, "=")
		out = append(out, pair{key, value})
	}
	return out
}

// Input returns the value of an input: numbers and booleans keep their type, anything else is text.
func (p pair) Input() string {
	if n, err := strconv.Atoi(p.Value); err == nil && strconv.Itoa(n) == p.Value || p.Value == "true" || p.Value == "false" {
		return p.Value
	}
	return yamldoc.Scalar(p.Value)
}
