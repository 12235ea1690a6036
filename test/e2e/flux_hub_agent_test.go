package e2e

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/services"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// fluxHubAgent pushes the file of a member with a Flux of its own: the hub's Flux installs that
// Flux, its source and its credentials by the member's kubeconfig, and the member deploys its own
// groups. It goes on with the controllers and the service of the hub ended, and finds nothing
// changed when they are back.
func fluxHubAgent(t *testing.T, m *fluxEngine) {
	const component, key = "metrics-server", "github/analytics/fleet-read"
	cluster := m.Beside(t, fluxMember)
	m.record(t, cluster)
	must(t, m.secrets.Put(t.Context(), key, `{"username": "reader", "password": "pushed by the hub"}`))
	m.settle(t)
	must(t, m.fleet.AddMember(fluxMember))
	must(t, m.fleet.Write("fleet/registration/"+fluxMember+"/fleet/fleet-secret/values.yaml",
		"gitCredentials: {fleet: {type: http, kind: repository, url: '"+m.git.URL("fleet")+"', secretName: "+key+"}}\n"))
	m.others = append(m.others, cluster)
	began := m.push(t, "Add "+fluxMember)
	m.registered(t)
	m.timed("push of an agent, to its kubeconfig", began)

	a := m.ownEngine(t, cluster)
	m.timed("push of an agent, to its service serving", began)
	answered := a.answered(t)
	a.allReady(t, answered)
	m.timed("push of an agent, to all its HelmReleases ready", began)
	a.hasValues(t, answered)
	m.eventually(t, "the agent is ready on the hub", func() string { return fluxReady(m.get(t, flux.HelmReleases, "agent-"+fluxMember)) })
	for name := range answered {
		if fluxReady(m.get(t, flux.HelmReleases, name)) != "there is none" {
			t.Errorf("the hub has %s, too", name)
		}
	}
	info, err := a.Client.Get(t.Context(), kube.ConfigMaps, flux.Namespace, "cluster-info")
	must(t, err)
	if got := fluxText(info, "data", "cluster"); got != fluxMember {
		t.Errorf("cluster-info on the member is of %q", got)
	}
	a.watch(t)
	m.settle(t)
	m.planCheck.Engines = append(m.planCheck.Engines, fluxOf(fluxMember, a.Client))
	m.settle(t)

	mark, before, ofHub := a.ledger.mark(), a.uids(), m.uids()
	processes := append(m.flux.Processes(), m.plugin.Process, m.secrets.Process)
	for _, p := range slices.Backward(processes) {
		must(t, p.Kill())
	}
	must(t, m.fleet.Write(fluxLevel+component+"/values.yaml", "podLabels: {hub: away}\n"))
	began = m.push(t, "Label "+component+" while the hub is away")
	a.served(t)
	a.reconcile(t)
	a.eventually(t, "the value on the member", func() string {
		if a.value(t, fluxMember, component, "podLabels", "hub") != "away" {
			return "it is not there"
		}
		return ""
	})
	m.timed("hub away: push to the value on the agent", began)
	a.allReady(t, answered)
	for _, p := range processes {
		must(t, p.Restart(t.Context()))
	}
	a.calm(t)
	m.settle(t)
	a.only(t, mark, func(c change) bool {
		return c.what == "changed" && (c.name == component+"-"+fluxMember || c.name == component+"-values")
	})
	a.notRecreated(t, before)
	m.notRecreated(t, ofHub)
}

// ownEngine waits until the hub has installed a member's own Flux, and starts that and its service.
func (m *fluxEngine) ownEngine(t *testing.T, cluster *testcluster.Cluster) *fluxEngine {
	t.Helper()
	own := *m
	own.Cluster, own.others, own.owner, own.ledger = cluster, nil, cluster.Name, newLedger()
	var err error
	own.services, err = services.Start(t.Context(), own.Client)
	must(t, err)
	t.Cleanup(func() { _ = own.services.Close() })
	m.eventually(t, "the hub installs the member's Flux", func() string {
		o, err := own.Client.Get(t.Context(), kube.Deployments, flux.Namespace, "flux2")
		must(t, err)
		if o == nil {
			return fluxReady(m.get(t, flux.HelmReleases, "flux2-"+cluster.Name))
		}
		return ""
	})
	own.flux, err = flux.Start(t.Context(), flux.Options{
		Binaries: own.Binaries, Group: own.Group, Cluster: own.Cluster.Cluster, Client: own.Client, Dir: filepath.Join(own.Dir, "flux-"+cluster.Name),
		Delivered: true, HTTPProxy: own.services.URL,
	})
	must(t, err)
	own.startService(t)
	return &own
}
