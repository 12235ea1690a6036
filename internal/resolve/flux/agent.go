package flux

import (
	"path"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/placement"
	"github.com/argosy-hub/argosy/internal/registration"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// agents returns what a hub that runs Flux gives its members with a Flux of their own, as
// components of these members: charts/agent-flux, and charts/fleet-secret with their credentials.
// Both charts are beside the chart that registers the member, with the same version.
func agents(st *fleetstate.State, hub string, registrations []paramset.ComponentSet) ([]paramset.ComponentSet, *problem.QueryError) {
	var out []paramset.ComponentSet
	for _, r := range registrations {
		c := st.Cluster(hub, r.Name)
		if c == nil || !isFlux(c.Member) || !c.Registered {
			continue
		}
		s, problems := paramset.NewAgentSet(st, c)
		if s == nil {
			return nil, query.Unavailable(st, problems)
		}
		values, err := yamldoc.FromAny(nil, map[string]any{
			"plugin": map[string]any{"values": s.HelmValues, "chart": serviceChart(c, r.Chart)},
		}).YAML()
		if err != nil {
			return nil, &problem.QueryError{Kind: problem.KindUnavailable, Message: err.Error()}
		}
		out = append(out, paramset.ComponentSet{
			Common: s.Common, Component: fleetstate.Agent, Group: fleetstate.FleetGroup, Release: r.Release,
			Chart: beside(r.Chart, "agent-flux"), Namespace: registration.FluxNamespace, ReleaseName: "agent-flux", HelmValues: string(values), Deletion: s.Deletion,
			// Until Flux is there, Helm does not know the chart's kinds.
			DependsOn: []string{fleetstate.FleetGroup + "/" + placement.Engines[fleet.EngineFlux]},
			Companions: map[string]paramset.CompanionSet{
				"credentials": {Chart: r.Chart, ReleaseName: fleetstate.Registration, HelmValues: s.CredentialValues},
			},
		})
	}
	return out, nil
}

// beside returns the chart of another name beside a chart.
func beside(chart catalog.Chart, name string) catalog.Chart {
	for _, at := range []*string{&chart.Path, &chart.Name} {
		if *at != "" {
			*at = path.Join(path.Dir(*at), name)
		}
	}
	return chart
}

// serviceChart returns where a member's Flux finds the chart of its service, as charts/agent-flux
// takes it (plugin.chart).
func serviceChart(c *fleetstate.Cluster, registers catalog.Chart) map[string]any {
	chart := beside(registers, "generator-plugin")
	if chart.Path == "" {
		url := chart.RepoURL
		if _, scheme := gitURL(url); !scheme {
			url = "oci://" + url
		}
		return map[string]any{"url": url, "path": chart.Name, "version": chart.Version}
	}
	url, _ := gitURL(chart.RepoURL)
	out := map[string]any{"url": url, "ref": gitRef(chart.Version), "path": chart.Path}
	if secret, found := registration.GitSecretFor(registration.GitSecrets(c), chart.RepoURL); found && secret.Type == "http" {
		out["secretName"] = secret.Name
	}
	return out
}
