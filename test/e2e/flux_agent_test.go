package e2e

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plancheck"
)

// What the charts of this repository make.
var (
	storageClasses = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	nodePools      = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
)

const (
	// fluxMember is the member that runs Flux.
	fluxMember = "analytics-prod-eu-1"
	// fluxLevel is its own level of the hierarchy.
	fluxLevel = "addons/tenants/analytics/clusters/" + fluxMember + "/addons/"
)

// TestFluxAgent proves that a member with the engine flux deploys for itself: there is no hub at
// all, only what the hub would have put onto the member once (charts/agent-flux), and Git.
func TestFluxAgent(t *testing.T) {
	hubs.beside(t, 250)
	m := startFlux(t, fluxMember, []string{fluxMember}, []string{fluxMember})
	t.Cleanup(func() { t.Logf("\n%s", m.table()) })
	fluxDeploys(t, m) // no step of its own: what it watches is watched until the test ends
	for _, step := range []struct {
		name string
		run  func(*testing.T, *fluxEngine)
	}{
		{"change", fluxChange},
		{"manifests", fluxManifests},
		{"service away", fluxServiceAway},
		{"broken commit", fluxBrokenCommit},
		{"switched off, without the permission to see", fluxNotPermitted},
		{"switched off", fluxRemoved},
		{"moved to the hub and back", fluxMovedAway},
		{"workloads", fluxAgentWorkloads},
		{"retired", fluxRetired},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(t, m) }) {
			return // the steps go on from each other
		}
	}
}

// fluxDeploys brings up the member: all components of the groups that it owns, with the values that
// the hub answers for it, from Helm repositories and from Git.
func fluxDeploys(t *testing.T, m *fluxEngine) {
	began := time.Now()
	given, _ := m.agentSet(t)
	m.deliver(t, given)
	m.startService(t)
	m.timed("charts/agent-flux applied, to the service serving", began)
	answered := m.answered(t)
	groups := map[string]int{}
	for _, c := range answered {
		groups[c.Group]++
	}
	for _, group := range []string{"addons", "resources", "monitoring"} {
		if groups[group] == 0 {
			t.Errorf("no component of the group %s: %v", group, groups)
		}
	}
	m.allReady(t, answered)
	m.timed("charts/agent-flux applied, to all HelmReleases ready", began)
	m.hasValues(t, answered)
	if got := m.value(t, fluxMember, "aws-load-balancer-controller", "vpcId"); got != "vpc-4ee02f550984421a0" {
		t.Errorf("vpcId is %v; expected the fact that the hub knows by the cluster's annotation", got)
	}
	if receivers, ok := m.value(t, fluxMember, "opentelemetry-collector", "config", "receivers").(map[string]any); !ok {
		t.Error("opentelemetry-collector has no receivers")
	} else if v, ok := receivers["jaeger"]; !ok || v != nil {
		t.Errorf("the receiver jaeger is %v (%v); expected an explicit null", v, ok)
	}
	m.watch(t)
	for kind, name := range map[string]string{"StorageClass": "io2-spill", "NodePool": "batch"} {
		if m.ledger.get(fluxMember, kind, name) == nil {
			t.Errorf("there is no %s %s: expected it of a chart in Git", kind, name)
		}
	}
}

// fluxChange changes one component's values at the cluster's own level, and takes one away by a
// null that was not there.
func fluxChange(t *testing.T, m *fluxEngine) {
	const component = "metrics-server"
	m.settle(t)
	mark, before := m.ledger.mark(), m.uids()
	must(t, m.fleet.Write(fluxLevel+component+"/values.yaml", "podLabels: {level: cluster}\nargs: null\n"))
	began := m.push(t, "Other values for "+component)
	m.eventually(t, "the value on the cluster", func() string {
		if m.value(t, fluxMember, component, "podLabels", "level") != "cluster" {
			return "it is not there"
		}
		return ""
	})
	m.timed("push to the value on the cluster", began)
	answered := m.answered(t)
	m.allReady(t, answered)
	m.timed("push to HelmRelease ready", began)
	m.settle(t)
	m.hasValues(t, answered)
	m.only(t, mark, func(c change) bool {
		return c.what == "changed" && (c.name == component+"-"+fluxMember || c.name == component+"-values")
	})
	if seen := len(m.ledger.since(mark)); seen != 2 {
		t.Errorf("%d changes were seen; expected those of the HelmRelease and of what it deploys", seen)
	}
	m.notRecreated(t, before)
}

// fluxServiceAway kills the service. Flux says that it cannot pull, and leaves everything as it is.
// The service comes back while Git is away, with what it accepted last (G4).
func fluxServiceAway(t *testing.T, m *fluxEngine) {
	m.settle(t)
	mark, revision := m.ledger.mark(), m.pulled(t)
	began := time.Now()
	must(t, m.plugin.Process.Kill())
	m.eventually(t, "Flux notices", func() string {
		if ready := fluxReady(m.get(t, flux.OCIRepositories, "argosy")); ready != "" {
			m.timed("service killed, to OCIRepository failing: "+ready, began)
			return ""
		}
		return "OCIRepository argosy is ready"
	})
	if now := m.pulled(t); now != revision {
		t.Errorf("the artifact is %s; it was %s", now, revision)
	}
	m.allReady(t, m.answered(t))
	must(t, m.git.Down())
	began = time.Now()
	must(t, m.plugin.Process.Restart(t.Context()))
	m.eventually(t, "OCIRepository argosy is ready", func() string { return fluxReady(m.get(t, flux.OCIRepositories, "argosy")) })
	m.timed("service restarted without Git, to OCIRepository ready", began)
	must(t, m.git.Up())
	m.allReady(t, m.answered(t))
	if now := m.pulled(t); now != revision {
		t.Errorf("the artifact is %s; it was %s before the service went away, and nothing has changed", now, revision)
	}
	m.settle(t)
	m.only(t, mark, func(change) bool { return false })
}

// fluxBrokenCommit pushes a commit that breaks the member's file: the service keeps the member as
// it was, and Flux goes on with what it has (G2).
func fluxBrokenCommit(t *testing.T, m *fluxEngine) {
	m.settle(t)
	mark, revision, answered := m.ledger.mark(), m.pulled(t), m.answered(t)
	path, text, err := m.fleet.MemberFile(fluxMember)
	must(t, err)
	must(t, m.fleet.Write(path, "clusterName: [\n"))
	began := m.push(t, "Break "+path)
	m.keeps(t)
	m.timed("push of a broken commit, to the member kept as it was", began)
	m.reconcile(t)
	if now := m.pulled(t); now != revision {
		t.Errorf("the artifact is %s; expected %s, that of the commit before", now, revision)
	}
	m.allReady(t, answered)
	m.calm(t)
	m.planCheck.CheckBroken(t, now)
	m.only(t, mark, func(change) bool { return false })
	must(t, m.fleet.Write(path, text))
	m.push(t, "Mend "+path)
	m.served(t)
}

// fluxSwitchedOff switches a component off: it leaves the artifact, and stays on the cluster (D1).
func fluxSwitchedOff(t *testing.T, m *fluxEngine) {
	const component = "kyverno"
	m.settle(t)
	mark, before, revision := m.ledger.mark(), m.uids(), m.pulled(t)
	path, text, err := m.fleet.MemberFile(fluxMember)
	must(t, err)
	must(t, m.fleet.Write(path, strings.Replace(text, "labels:\n", "labels:\n  enable_kyverno: \"false\"\n", 1)))
	began := m.push(t, "Switch "+component+" off")
	m.served(t)
	if _, is := m.answered(t)[component+"-"+fluxMember]; is {
		t.Fatalf("%s is answered still: the label does not switch it off", component)
	}
	m.eventually(t, "the artifact without it is applied", func() string {
		applied := fluxText(m.get(t, flux.Kustomizations, "argosy"), "status", "lastAppliedRevision")
		if applied == revision || applied != m.pulled(t) {
			return "applied is " + applied
		}
		return ""
	})
	m.timed("push to the artifact without a component applied", began)
	m.settleExcept(t, plancheck.Exceptions{Stay: []string{component + "-" + fluxMember}}) // the plan assumes the permission
	m.only(t, mark, func(change) bool { return false })
	m.notRecreated(t, before)
	for _, o := range []string{"HelmRelease/" + flux.Namespace + "/" + component + "-" + fluxMember, "Deployment/kyverno/kyverno"} {
		if before[fluxMember][o] == "" {
			t.Errorf("there was no %s to stay", o)
		}
	}
	if values, err := m.Client.Get(t.Context(), kube.ConfigMaps, flux.Namespace, component+"-"+fluxMember); err != nil || values == nil {
		t.Errorf("its values have gone, which its HelmRelease reads: %v", err)
	}
}
