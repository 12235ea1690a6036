package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/externalsecrets"
	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// hubOwner is what the service calls the hub's own engine.
const hubOwner = "hub"

// TestFluxHub proves a hub whose own engine is Flux: one artifact that registers the hub's members,
// and has the HelmReleases of the hub itself and of the members that it deploys to, which it
// reaches with the kubeconfigs of their registration. There is no Argo CD.
func TestFluxHub(t *testing.T) {
	hubs.beside(t, 700)
	m := startFlux(t, hubOwner, []string{fluxHub, neighbour}, []string{neighbour}, "external-secrets", "sealed-secrets", "crossplane", "crossplane-function")
	t.Cleanup(func() { t.Logf("\n%s", m.table()) })
	fluxHubDeploys(t, m)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *fluxEngine)
	}{
		{"override", fluxHubOverride},
		{"manifests", fluxHubManifests},
		{"chain", fluxHubChain},
		{"spoke away", fluxHubSpokeAway},
		{"sealed secrets", fluxHubSealed},
		{"least rights", fluxHubLeastRights},
		{"identity", fluxHubIdentity},
		{"connection", fluxHubConnection},
		{"workloads", fluxHubWorkloads},
		{"agent", fluxHubAgent},
		{"crossplane", fluxHubCrossplane},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(t, m) }) {
			return
		}
	}
}

// fluxHubDeploys brings up the hub as docs/how-to/flux-agents.md says, and waits for all components
// of both clusters, with the values that are answered for them.
func fluxHubDeploys(t *testing.T, m *fluxEngine) {
	const facts = "fleet-facts"
	m.store(t)
	path, text, err := m.fleet.MemberFile(fluxHub)
	must(t, err)
	must(t, m.fleet.Write(path, text+"remote_engine: flux\n"))
	m.push(t, "The hub's engine is Flux")
	began := time.Now()
	known, err := os.ReadFile(m.facts())
	must(t, err)
	must(t, m.Client.Apply(t.Context(), flux.Namespace, fmt.Appendf(nil,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {facts.yaml: %q}}\n", facts, known)))
	m.deliver(t, map[string]any{
		"hub": fluxHub, "owner": hubOwner, "facts": map[string]any{"from": "file", "configMap": facts},
		"source": map[string]any{"git": map[string]any{"url": m.git.URL("fleet")}},
	})
	m.startService(t)
	m.timed("charts/agent-flux applied, to the service serving", began)
	answered := m.answered(t)
	clusters := map[string]int{}
	for _, c := range answered {
		clusters[c.Name]++
	}
	if clusters[fluxHub] == 0 || clusters[neighbour] == 0 || len(clusters) != 2 {
		t.Fatalf("components by cluster are %v; expected some of %s and of %s, and of no others", clusters, fluxHub, neighbour)
	}
	m.registered(t)
	m.timed("charts/agent-flux applied, to the member's kubeconfig", began)
	m.allReady(t, answered)
	m.timed(fmt.Sprintf("charts/agent-flux applied, to all %d HelmReleases of components ready", len(answered)), began)
	m.hasValues(t, answered)
	m.onlyTheirs(t, answered)
	if got := m.value(t, neighbour, "aws-load-balancer-controller", "vpcId"); got == nil || got == "" {
		t.Errorf("vpcId is %v; expected the fact that is known of the spoke", got)
	}
	m.watch(t)
	for _, kind := range []string{"StorageClass", "NodePool"} {
		if len(m.ledger.all(neighbour, kind)) == 0 {
			t.Errorf("the spoke has no %s: expected it of a chart in Git", kind)
		}
	}
}

// store starts External Secrets on the hub, with what Terraform would have written of the spoke,
// and the credentials that its member file names.
func (m *fluxEngine) store(t *testing.T) {
	t.Helper()
	operator, err := externalsecrets.Start(t.Context(), externalsecrets.Options{Binaries: m.Binaries, Group: m.Group, Cluster: m.Cluster.Cluster})
	must(t, err)
	m.secrets = operator
	must(t, operator.Put(t.Context(), "github/payments/app-creds", `{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "of the test"}`))
	for _, c := range m.others {
		m.record(t, c)
	}
}

// record writes what Terraform would have written of a cluster.
func (m *fluxEngine) record(t *testing.T, c *testcluster.Cluster) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"cluster_name": c.Name, "server": c.URL, "config": json.RawMessage(c.ArgoConfig())})
	must(t, err)
	must(t, m.secrets.Put(t.Context(), m.fleet.SecretKeys()[c.Name], string(text)))
}

// registered waits for the kubeconfig of each member, which its registration brings: an External
// Secret that the hub's own Flux has deployed.
func (m *fluxEngine) registered(t *testing.T) {
	t.Helper()
	var members []struct{ Name, ApplicationName string }
	m.params(t, &members, "--view", "members")
	if len(members) != len(m.others) {
		t.Fatalf("the view members has %d members; expected %d", len(members), len(m.others))
	}
	for _, member := range members {
		m.eventually(t, "the registration of "+member.Name, func() string {
			if state := fluxReady(m.get(t, flux.HelmReleases, member.ApplicationName)); state != "" {
				return member.ApplicationName + ": " + state
			}
			if fluxText(m.get(t, kube.Secrets, member.Name+"-kubeconfig"), "data", "value") == "" {
				return "it has brought no kubeconfig"
			}
			return ""
		})
	}
}

// onlyTheirs fails where a cluster has what the answer has for the other.
func (m *fluxEngine) onlyTheirs(t *testing.T, components map[string]set) {
	t.Helper()
	for _, cluster := range []string{fluxHub, neighbour} {
		wanted := map[string]bool{fluxService: cluster == m.Name}
		for _, c := range components {
			if c.Name == cluster {
				wanted[c.ReleaseName] = true
			}
		}
		deployments, err := m.client(t, cluster).List(t.Context(), kube.Deployments, "", "app.kubernetes.io/instance")
		must(t, err)
		for name := range deployments {
			if !wanted[name] {
				t.Errorf("%s runs %s, which is not answered for it", cluster, name)
			}
		}
	}
}

// fluxHubOverride sets a value at one cluster's own level: its HelmRelease changes, which Helm
// upgrades by one revision, and what that deploys, and nothing else on either cluster (H1).
func fluxHubOverride(t *testing.T, m *fluxEngine) {
	const component = "metrics-server"
	m.settle(t)
	revision := func() int64 {
		history, _, _ := unstructured.NestedSlice(m.get(t, flux.HelmReleases, component+"-"+neighbour).Object, "status", "history")
		if len(history) == 0 {
			t.Fatal("Helm has no release")
		}
		newest, _ := history[0].(map[string]any)
		version, _ := newest["version"].(int64)
		return version
	}
	mark, before, was := m.ledger.mark(), m.uids(), revision()
	must(t, m.fleet.Write("addons/tenants/payments/clusters/"+neighbour+"/addons/"+component+"/values.yaml", "podLabels: {level: cluster}\n"))
	began := m.push(t, "A label for "+component+" of "+neighbour)
	m.eventually(t, "the value on the spoke", func() string {
		if m.value(t, neighbour, component, "podLabels", "level") != "cluster" {
			return "it is not there"
		}
		return ""
	})
	m.timed("push to the value on the spoke", began)
	answered := m.answered(t)
	m.allReady(t, answered)
	m.settle(t)
	m.hasValues(t, answered)
	if is := revision(); is != was+1 || was == 0 {
		t.Errorf("revision %d of the Helm release has become %d", was, is)
	}
	m.only(t, mark, func(c change) bool {
		return c.what == "changed" && (c.cluster == m.Name && c.kind == "HelmRelease" && c.name == component+"-"+neighbour ||
			c.cluster == neighbour && c.kind == "ConfigMap" && c.name == component+"-values")
	})
	if seen := m.ledger.since(mark); len(seen) != 2 {
		t.Errorf("%d changes were seen; expected those of the HelmRelease and of what it deploys:\n%s", len(seen), lines(seen))
	}
	m.notRecreated(t, before)
}

// fluxHubSpokeAway ends the spoke's API server. The hub's own components take a change meanwhile;
// the spoke takes it when it is back.
func fluxHubSpokeAway(t *testing.T, m *fluxEngine) {
	const component = "metrics-server"
	m.settle(t)
	mark, before := m.ledger.mark(), m.uids()
	must(t, m.others[0].APIServer.Kill())
	must(t, m.fleet.Replace("addons/defaults/addons/"+component+"/values.yaml", "--kubelet-request-timeout=20s", "--kubelet-request-timeout=30s"))
	began := m.push(t, "Another argument of "+component+" of all")
	m.eventually(t, "the value on the hub itself", func() string {
		if args, _ := m.value(t, m.Name, component, "args").([]any); !slices.Contains(args, any("--kubelet-request-timeout=30s")) {
			return fmt.Sprintf("it has %v", args)
		}
		return ""
	})
	m.timed("spoke away: push to the value on the hub itself", began)
	began = time.Now()
	must(t, m.others[0].APIServer.Restart(t.Context()))
	answered := m.answered(t)
	m.allReady(t, answered)
	m.timed("spoke back, to all HelmReleases ready", began)
	m.settle(t)
	m.hasValues(t, answered)
	m.only(t, mark, func(c change) bool {
		return c.what == "changed" && (c.name == component+"-"+neighbour || c.name == component+"-"+fluxHub || c.name == component+"-values")
	})
	m.notRecreated(t, before)
}
