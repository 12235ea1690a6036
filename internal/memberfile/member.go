package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

var engines = []string{fleet.EngineArgoCD, fleet.EngineFlux}

// member is what the flags say of a new member.
type member struct {
	hub, name, tenant, environment string
	hubCluster                     bool
	secret, agent, githubSecret    string
	enableRemote                   []string
	labels, annotations            []string
}

// check refuses what cannot be a member whatever the repository holds. Names are checked with the fleet.
func (m member) check() error {
	if m.agent != "" {
		if err := checkChoice("agent", m.agent, engines...); err != nil {
			return err
		}
	}
	if m.hubCluster && m.agent != "" {
		return usageError(nil, "--agent does not go with --hub-cluster: a hub deploys to itself")
	}
	if len(m.enableRemote) > 0 && m.agent == "" {
		return usageError([]string{"add --agent argocd or --agent flux"}, "--enable-remote needs --agent: without an engine of its own, the hub owns every group")
	}
	for _, list := range []struct {
		flag  string
		pairs []string
	}{{"label", m.labels}, {"annotation", m.annotations}} {
		seen := map[string]bool{}
		for _, pair := range list.pairs {
			key, _, ok := strings.Cut(pair, "=")
			if !ok || key == "" {
				return usageError(nil, "--%s: %q is no key=value", list.flag, pair)
			}
			if seen[key] {
				return usageError(nil, "--%s: key %q is given twice", list.flag, key)
			}
			seen[key] = true
		}
	}
	return nil
}

func (m member) checkGroups(l *fleet.Layout) error {
	known := l.GroupNames()
	for _, g := range m.enableRemote {
		if !slices.Contains(known, g) {
			hints := problem.Nearest(g, known)
			if len(hints) == 0 {
				hints = []string{"the layout's groups are " + strings.Join(known, ", ")}
			}
			return usageError(hints, "--enable-remote: group %q is not in the layout", g)
		}
	}
	return nil
}

// path is the file's place. A name that is none would give another path than it reads, so it is refused here.
func (m member) path(l *fleet.Layout) (string, error) {
	path, err := l.Members.Path(m.hub, m.tenant, m.name)
	if err != nil {
		return "", usageError(nil, "%w", err)
	}
	if hub, name, ok := l.Members.Match(path); !ok || hub != m.hub || name != m.name || slices.Contains(strings.Split(path, "/"), "..") {
		return "", usageError([]string{"names are lower case letters, digits and inner hyphens, at most 63"}, "hub %q and name %q give no member file's path", m.hub, m.name)
	}
	return path, nil
}

// text is the file, with a comment on what is not plain from its keys.
func (m member) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Registers this cluster with %s.", m.hub)
	line("clusterName: %s", scalar(m.name))
	line("tenant: %s", scalar(m.tenant))
	line("environment: %s", scalar(m.environment))
	switch {
	case m.hubCluster:
		line("# The hub itself: its own levels of the hierarchy apply, and it deploys to itself.")
		line("fleet_member: %s", fleet.HubCluster)
	case m.secret != "":
		line("# The cluster's credential in the secret store.")
	default:
		line("# Required unless the hub provisions the cluster: the name or ARN of its credential in the secret store.")
		line("# secretManagerSecretName: %s", scalar(m.hub+"/"+m.name))
	}
	if m.secret != "" {
		line("secretManagerSecretName: %s", scalar(m.secret))
	}
	m.writeAgent(line)
	if m.githubSecret != "" {
		line("")
		line("# Credentials for the repositories that the cluster's Applications come from.")
		line("githubSecret: %q", "true")
		line("githubSecretName: %s", scalar(m.githubSecret))
	}
	for _, list := range []struct {
		key   string
		pairs []string
	}{{"labels", m.labels}, {"annotations", m.annotations}} {
		if len(list.pairs) == 0 {
			continue
		}
		line("")
		line("%s:", list.key)
		for _, pair := range slices.Sorted(slices.Values(list.pairs)) {
			key, value, _ := strings.Cut(pair, "=")
			line("  %s: %s", scalar(key), scalar(value))
		}
	}
	return b.String()
}

func (m member) writeAgent(line func(string, ...any)) {
	if m.agent == "" {
		return
	}
	line("")
	line("# The cluster has an engine of its own, which deploys the groups named here; the hub deploys the others.")
	line("use_remote_argo: %q", "true")
	line("remote_engine: %s", m.agent)
	groups := slices.Clone(m.enableRemote)
	slices.Sort(groups)
	for _, g := range slices.Compact(groups) {
		line("enable_remote_%s: %q", g, "true")
	}
}

// scalar is a text as YAML, in quotes where it would be read as something else.
func scalar(text string) string {
	node := yamldoc.FromAny(nil, map[string]any{"k": text})
	out, err := node.YAML()
	if err != nil || strings.Contains(text, "\n") {
		return fmt.Sprintf("%q", text)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(out), "k: "), "\n")
}
