package scaffold

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/labels"

	"github.com/argosy-hub/argosy/internal/fleet/team"
)

// Team describes a new team of a tenant.
type Team struct {
	Name, Tenant    string
	Owners, Viewers []string
	// Selector chooses members of the tenant by labels, in kubectl's form; empty selects all.
	Selector string
	// Namespaces are names, each with =PRESET; Preset is the preset of names without one.
	Namespaces   []string
	Preset       string
	Repositories []string
}

// NewTeam drafts the file of a team.
func NewTeam(ctx context.Context, r Repository, t Team) (*Draft, error) {
	if err := checkNames(named{"name", t.Name}, named{"tenant", t.Tenant}); err != nil {
		return nil, err
	}
	for _, address := range t.Repositories {
		if err := checkURL("repository", strings.TrimPrefix(address, "!")); err != nil {
			return nil, err
		}
	}
	d, st, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	if _, ok := d.layout.Groups[team.Group]; !ok {
		return nil, problem.Usage([]string{"groups: {teams: {catalog: fleet/catalogs/teams.yaml}}, and a copy of charts/application-sets/catalogs/teams.yaml there", nothingWritten}, "the layout has no group %s", team.Group)
	}
	var tenants []string
	for _, m := range st.Clusters() {
		if !m.Member.IsHub && !slices.Contains(tenants, m.Member.Tenant) {
			tenants = append(tenants, m.Member.Tenant)
		}
	}
	slices.Sort(tenants)
	if err := oneOf("--tenant", t.Tenant, "tenants", tenants); err != nil {
		return nil, err
	}
	selector, err := labels.SelectorFromText(t.Selector)
	if err != nil {
		return nil, refuse("--clusters: %v", err)
	}
	if len(t.Namespaces) == 0 {
		t.Namespaces = []string{t.Name}
	}
	file := path.Join(team.Folder, t.Name+".yaml")
	d.texts(map[string]any{"Team": t, "Clusters": selector["matchExpressions"], "Namespaces": t.namespaces()}, map[string]string{file: "team.yaml"})
	return d.ready(planned, commit("Add the team "+t.Name))
}

// namespaces returns the names with their presets.
func (t Team) namespaces() (out [][2]string) {
	for _, n := range t.Namespaces {
		name, preset, ok := strings.Cut(n, "=")
		if !ok {
			preset = t.Preset
		}
		out = append(out, [2]string{name, preset})
	}
	return out
}
