package scaffold

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/explain"

	"github.com/argosy-hub/argosy/internal/fleet/provision"
)

// Engines lists the engines that an agent may run.
var Engines = []string{fleet.EngineArgoCD, fleet.EngineFlux}

// Member describes a new member. Labels and Annotations are key=value.
type Member struct {
	Hub, Name, Tenant, Environment string
	HubCluster                     bool
	Secret, Agent, GitHubSecret    string
	EnableRemote                   []string
	Labels, Annotations            []string
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
				return problem.Usage(nil, "--%s: %q is no key=value", list.flag, pair)
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
	before, layout, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.checkGroups(layout); err != nil {
		return nil, err
	}
	path, err := m.path(layout)
	if err != nil {
		return nil, err
	}
	d := &Draft{Files: map[string]string{path: m.Text()}}
	st, err := r.try(before, d)
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

func (m Member) checkGroups(l *fleet.Layout) error {
	known := l.GroupNames()
	for _, g := range m.EnableRemote {
		if !slices.Contains(known, g) {
			hints := problem.Nearest(g, known)
			if len(hints) == 0 {
				hints = []string{"the layout's groups are " + strings.Join(known, ", ")}
			}
			return problem.Usage(hints, "--enable-remote: group %q is not in the layout", g)
		}
	}
	return nil
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
func (m Member) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Registers this cluster with %s.", m.Hub)
	line("clusterName: %s", scalar(m.Name))
	line("tenant: %s", scalar(m.Tenant))
	if m.Environment != "" {
		line("environment: %s", scalar(m.Environment))
	}
	switch {
	case m.HubCluster:
		line("# The hub itself: its own levels of the hierarchy apply, and it deploys to itself.")
		line("fleet_member: %s", fleet.HubCluster)
	case m.Class != "":
		m.writeProvision(line)
	case m.Secret != "":
		line("# The cluster's credential in the secret store.")
	default:
		line("# Required where the hub registers clusters from a secret store, unless it provisions this one: the name or ARN of its credential.")
		line("# secretManagerSecretName: %s", scalar(m.Hub+"/"+m.Name))
	}
	if m.Secret != "" {
		line("secretManagerSecretName: %s", scalar(m.Secret))
	}
	m.writeAgent(line)
	if m.GitHubSecret != "" {
		line("")
		line("# Credentials for the repositories that the cluster's Applications come from.")
		line("githubSecret: %q", "true")
		line("githubSecretName: %s", scalar(m.GitHubSecret))
	}
	for _, list := range []struct {
		key   string
		pairs []string
	}{{"labels", m.Labels}, {"annotations", m.Annotations}} {
		if len(list.pairs) == 0 {
			continue
		}
		line("")
		line("%s:", list.key)
		writePairs(line, "  ", list.pairs, scalar)
	}
	return b.String()
}

// writeProvision writes the description of a cluster that the hub creates.
func (m Member) writeProvision(line func(string, ...any)) {
	line("")
	line("# The hub makes this cluster. The version goes one minor version at a time; the nodes follow.")
	line("%s:", provision.Key)
	line("  class: %s", scalar(m.Class))
	line("  version: %q", m.Version)
	if m.NodesVersion != "" {
		line("  nodes:")
		line("    version: %q", m.NodesVersion)
	}
	for _, f := range []struct{ key, value string }{{"account", m.Account}, {"region", m.Region}} {
		if f.value != "" {
			line("  %s: %q", f.key, f.value)
		}
	}
	if len(m.Inputs) > 0 {
		line("  inputs:")
		writePairs(line, "    ", m.Inputs, input)
	}
}

// input formats the value of an input: numbers and booleans keep their type, anything else is text.
func input(value string) string {
	if n, err := strconv.Atoi(value); err == nil && strconv.Itoa(n) == value || value == "true" || value == "false" {
		return value
	}
	return scalar(value)
}

// writePairs writes key=value pairs as a map.
func writePairs(line func(string, ...any), indent string, pairs []string, write func(string) string) {
	for _, pair := range slices.Sorted(slices.Values(pairs)) {
		key, value, _ := strings.Cut(pair, "=")
		line("%s%s: %s", indent, scalar(key), write(value))
	}
}

func (m Member) writeAgent(line func(string, ...any)) {
	if m.Agent == "" {
		return
	}
	line("")
	line("# The cluster has an engine of its own, which deploys the groups named here; the hub deploys the others.")
	line("use_remote_argo: %q", "true")
	line("remote_engine: %s", m.Agent)
	groups := slices.Clone(m.EnableRemote)
	slices.Sort(groups)
	for _, g := range slices.Compact(groups) {
		line("enable_remote_%s: %q", g, "true")
	}
}
