package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/source/git"
)

// complete lets the shell complete a flag's value from a list that needs no repository.
func complete(cmd *cobra.Command, flag string, values func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
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

// clusters returns the members of a hub, or of all hubs if none is given, sorted and each once.
func clusters(st *fleetstate.State, hub string) []string {
	var out []string
	for _, h := range st.Fleet.Hubs() {
		if hub != "" && h != hub {
			continue
		}
		for _, m := range st.Fleet.Members(h) {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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
