package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/source/git"
)

// complete lets the shell complete a flag's value from a list that needs no repository.
func complete(cmd *cobra.Command, flag string, values []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completeRevisions lets the shell complete a flag's value from the branches and tags of the clone.
func (o *options) completeRevisions(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			names, _ := git.Names(cmd.Context(), o.repo.Location)
			return startingWith(prefix, append(names, "HEAD")), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// completeFleet lets the shell complete a flag's value from the repository. If it cannot be read,
// there are no completions: completion never prints an error.
func (o *options) completeFleet(cmd *cobra.Command, flag string, values func(*fleetstate.State) []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		st, err := o.state(cmd.Context(), nil)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return values(st), cobra.ShellCompDirectiveNoFileComp
	})
}

func hubs(st *fleetstate.State) []string   { return st.Fleet.Hubs() }
func groups(st *fleetstate.State) []string { return st.Fleet.Layout.GroupNames() }

// clusters returns the members of a hub, or of all hubs if none is given.
func clusters(st *fleetstate.State, hub string) []string {
	return ofMembers(st, func(m *fleet.Member) string {
		if hub != "" && m.Hub != hub {
			return ""
		}
		return m.Name
	})
}

func tenants(st *fleetstate.State) []string {
	return ofMembers(st, func(m *fleet.Member) string { return m.Tenant })
}

func environments(st *fleetstate.State) []string {
	return ofMembers(st, func(m *fleet.Member) string { return m.Environment })
}

// ofMembers returns a text of each member, sorted and each once; empty texts are left out.
func ofMembers(st *fleetstate.State, text func(*fleet.Member) string) []string {
	all := map[string]bool{}
	for _, m := range membersOf(st) {
		all[text(m)] = true
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all))
}

func allClusters(st *fleetstate.State) []string { return clusters(st, "") }

// targets returns GROUP/COMPONENT for all components in a cluster's catalogs, with the registration
// chart.
func targets(st *fleetstate.State, hub, cluster string) []string {
	out := []string{"fleet/fleet-secret"}
	for _, group := range groups(st) {
		for _, component := range st.ComponentsOf(hub, cluster, group) {
			out = append(out, group+"/"+component)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// startingWith returns the values with a prefix.
func startingWith(prefix string, values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(v, prefix) })
}
