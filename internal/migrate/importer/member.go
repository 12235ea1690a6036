package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/scaffold"
	"github.com/argosy-hub/argosy/internal/migrate/factor"
)

// environmentKeys and tenantKeys are labels and parameters that name them, the likelier first.
var (
	environmentKeys = []string{"environment", "env", "stage", "cluster.environment", "cluster.env", "metadata.labels.environment", "metadata.labels.env"}
	tenantKeys      = []string{"tenant", "team", "metadata.labels.tenant"}
)

// unnamed is the tenant and the environment of clusters without one.
const unnamed = "default"

// named returns the value of the first of the keys that a label has, else the value that all
// parameter sets of a cluster have for the first key that they have.
func named(labels map[string]string, apps []*application, keys []string) string {
	for _, key := range keys {
		if v := nameOf(labels[key]); v != "" {
			return v
		}
	}
	for _, key := range keys {
		seen := map[string]bool{}
		for _, a := range apps {
			if v := nameOf(parameter(a.parameters, key)); v != "" {
				seen[v] = true
			}
		}
		if len(seen) == 1 {
			return slices.Collect(maps.Keys(seen))[0]
		}
	}
	return ""
}

// makeMembers creates the members of all clusters: the known clusters, and the clusters that
// Applications are deployed to.
func (m *importer) makeMembers(apps []*application) error {
	byCluster := map[string][]*application{}
	for _, a := range apps {
		byCluster[a.Cluster] = append(byCluster[a.Cluster], a)
	}
	known := map[string]expand.Cluster{m.o.Hub: {}}
	for _, c := range m.known {
		known[m.nameOf(c)] = c
	}
	for cluster := range byCluster {
		if _, ok := known[cluster]; !ok {
			known[cluster] = expand.Cluster{Name: cluster}
		}
	}
	taken := map[string]string{}
	for _, cluster := range slices.Sorted(maps.Keys(known)) {
		c := known[cluster]
		member := &scaffold.Member{Hub: m.o.Hub, Name: nameOf(cluster), HubCluster: cluster == m.o.Hub}
		if member.Name == "" {
			return fmt.Errorf("cluster %q: no name of a member can be made of it", cluster)
		}
		if other, dup := taken[member.Name]; dup {
			return fmt.Errorf("clusters %q and %q both give the member %q: rename one of them", other, cluster, member.Name)
		}
		taken[member.Name] = cluster
		if c.Name != "" && c.Name != member.Name {
			m.note("name of %[1]s: %[1]q replaces %[2]q of the cluster Secret", member.Name, c.Name)
		}
		member.Environment, member.Tenant = named(c.Labels, byCluster[cluster], environmentKeys), named(c.Labels, byCluster[cluster], tenantKeys)
		for _, key := range []*string{&member.Tenant, &member.Environment} {
			if *key == "" || *key == "defaults" {
				*key = unnamed
			}
		}
		m.environments[member.Environment] = true
		member.Labels = pairs(m.withReleases(member.Name, m.withoutFlags(member.Name, c.Labels)))
		member.Annotations = pairs(withoutSecrets(c.Annotations))
		m.members[cluster] = member
		m.phrases[cluster] = factor.Facts{Name: member.Name, Environment: member.Environment, Tenant: member.Tenant}
	}
	return nil
}

// pairs returns the labels or annotations that a member file keeps, without the keys that Argosy,
// Argo CD and Kubernetes set by themselves.
func pairs(of map[string]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		switch {
		case slices.Contains([]string{"tenant", "environment", "fleet_member"}, key),
			strings.Contains(key, "argocd.argoproj.io/"), strings.Contains(key, "kubernetes.io/"), strings.Contains(key, "external-secrets.io/"):
		default:
			out = append(out, key+"="+of[key])
		}
	}
	return out
}

// places returns the folders of all members' levels, in order of their names.
func (m *importer) places() []factor.Place {
	var out []factor.Place
	for _, cluster := range slices.Sorted(maps.Keys(m.members)) {
		c := m.members[cluster]
		if m.kept != nil {
			folders, seen := []string{m.base()}, map[string]bool{}
			for _, l := range m.kept.levels {
				folder := l.folders[cluster]
				if seen[folder] {
					folder = ""
				}
				folders, seen[folder] = append(folders, folder), true
			}
			out = append(out, factor.Place{Cluster: cluster, Folders: folders})
			continue
		}
		root := m.o.Group
		folders := []string{
			m.base(), root + "/environments/" + c.Environment,
			root + "/tenants/" + c.Tenant + "/defaults", root + "/tenants/" + c.Tenant + "/environments/" + c.Environment,
			root + "/tenants/" + c.Tenant + "/clusters/" + c.Name,
		}
		if !m.severalTenants() {
			folders[1], folders[2] = "", ""
		}
		if c.HubCluster {
			folders = []string{folders[0], "", "", root + "/control-plane/environments/" + c.Environment, root + "/control-plane/clusters/" + c.Name}
		}
		out = append(out, factor.Place{Cluster: cluster, Folders: folders})
	}
	return out
}

// base returns the folder of the least specific level, which the catalog replaces.
func (m *importer) base() string {
	if m.kept != nil {
		return "application-sets" // beside all levels
	}
	return m.o.Group + "/defaults"
}

// severalTenants reports whether the spokes have more than one tenant. Then environments have a
// level of their own for all tenants.
func (m *importer) severalTenants() bool {
	seen := map[string]bool{}
	for _, c := range m.members {
		if !c.HubCluster {
			seen[c.Tenant] = true
		}
	}
	return len(seen) > 1
}

// report adds a finding.
func (m *importer) report(pos problem.Pos, subject, found string, hints ...string) {
	m.problems = append(m.problems, problemAt(pos, subject, found, hints...))
}
