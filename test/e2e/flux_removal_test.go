package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plancheck"
)

var (
	helmCharts   = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "helmcharts"}
	roleBindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
)

const (
	// fluxOff is the component that fluxSwitchedOff switches off.
	fluxOff = "kyverno"
	// fluxMoved is the group that moves to the hub and back.
	fluxMoved = "resources"
)

// fluxNotPermitted takes the service's permission to see HelmReleases away, and switches a
// component off: it leaves the artifact at once, and stays on the cluster (D1). It ends with the
// component switched off and there. (Helm would give the permission back with the next commit,
// which is a new version of the service's chart.)
func fluxNotPermitted(t *testing.T, m *fluxEngine) {
	binding := m.get(t, roleBindings, fluxService+"-flux")
	if binding.GetName() == "" {
		t.Fatal("charts/generator-plugin has bound no Role in Flux's namespace")
	}
	m.suspend(t, fluxService, true)
	must(t, m.Client.Delete(t.Context(), roleBindings, flux.Namespace, binding.GetName(), metav1.DeletePropagationBackground))
	must(t, m.plugin.Process.Kill()) // its watch would go on
	must(t, m.plugin.Process.Restart(t.Context()))
	fluxSwitchedOff(t, m)
}

// fluxRemoved lets the service see HelmReleases: what has been switched off is marked, its
// HelmRelease deleted and its release uninstalled (D3), and all else stays as it is. Switched on
// again, it is installed anew.
func fluxRemoved(t *testing.T, m *fluxEngine) {
	mark := m.ledger.mark()
	m.suspend(t, fluxService, false)
	began := time.Now()
	m.eventually(t, "nothing of "+fluxOff+" is left", func() string { return m.left(t, fluxOff) })
	m.eventually(t, "what it ran is gone", func() string {
		if m.ledger.get(fluxMember, "Deployment", "kyverno") != nil {
			return "there is its Deployment still"
		}
		releases, err := m.Client.List(t.Context(), kube.Secrets, "", "owner=helm,name="+fluxOff)
		must(t, err)
		if len(releases) > 0 {
			return fmt.Sprintf("Helm knows %d versions of the release", len(releases))
		}
		return ""
	})
	m.timed("the permission given back, to a component uninstalled", began)
	m.settle(t)
	m.only(t, mark, func(c change) bool { return strings.HasPrefix(c.name, fluxOff) })

	path, text, err := m.fleet.MemberFile(fluxMember) // as it was before
	must(t, err)
	must(t, m.fleet.Write(path, text))
	began = m.push(t, "Switch "+fluxOff+" on again")
	m.served(t)
	answered := m.answered(t)
	if _, is := answered[fluxOff+"-"+fluxMember]; !is {
		t.Fatalf("%s is not answered", fluxOff)
	}
	m.allReady(t, answered)
	m.timed("push to the component installed again", began)
	m.hasValues(t, answered)
}

// fluxMovedAway moves a group to the hub: its HelmReleases are suspended and then deleted, with all
// that belongs to them, and what they ran stays as it was, for another to take over (D4). Then it
// moves back, and Flux takes it over.
func fluxMovedAway(t *testing.T, m *fluxEngine) {
	m.settle(t)
	mark, before := m.ledger.mark(), m.uids()
	path, text, err := m.fleet.MemberFile(fluxMember)
	must(t, err)
	flag := "enable_remote_" + fluxMoved + ": \"true\"\n"
	if !strings.Contains(text, flag) {
		t.Fatalf("%s does not have %s", path, flag)
	}
	var moved []string
	for name, c := range m.answered(t) {
		if c.Group == fluxMoved && c.Kind == "" {
			moved = append(moved, strings.TrimSuffix(name, "-"+fluxMember))
		}
	}
	must(t, m.fleet.Write(path, strings.Replace(text, flag, "", 1)))
	began := m.push(t, "Move "+fluxMoved+" to the hub")
	notice, _ := m.notice(t, fluxMember, "first")
	for _, component := range append([]string{fluxNotices}, moved...) {
		m.eventually(t, "nothing of "+component+" is left", func() string { return m.left(t, component) })
	}
	m.timed(fmt.Sprintf("push to %d HelmReleases let go", len(moved)), began)
	// The cluster's labels, which say who owns a group, are the hub's to bring, which is not there.
	m.settleExcept(t, plancheck.Exceptions{Unknown: []string{"ConfigMap cluster-info"}})
	m.only(t, mark, func(c change) bool {
		return c.kind == "HelmRelease" && slices.ContainsFunc(moved, func(component string) bool { return c.name == component+"-"+fluxMember })
	})
	runs := map[string]map[string]types.UID{fluxMember: maps.Clone(before[fluxMember])}
	maps.DeleteFunc(runs[fluxMember], func(key string, _ types.UID) bool {
		return slices.ContainsFunc(moved, func(component string) bool {
			return key == "HelmRelease/"+flux.Namespace+"/"+component+"-"+fluxMember
		})
	})
	if len(moved) == 0 || len(runs[fluxMember]) != len(before[fluxMember])-len(moved) {
		t.Fatalf("of %v, %v are HelmReleases to move", before, moved)
	}
	m.notRecreated(t, runs)
	for kind, name := range map[string]string{"StorageClass": "io2-spill", "NodePool": "batch"} {
		if m.ledger.get(fluxMember, kind, name) == nil {
			t.Errorf("%s %s has gone with its HelmRelease", kind, name)
		}
	}

	if now, _ := m.notice(t, fluxMember, "first"); now != notice || now == "" {
		t.Errorf("the notice was %q, and is %q: its Kustomization has taken it along", notice, now)
	}

	must(t, m.fleet.Write(path, text))
	began = m.push(t, "Move "+fluxMoved+" back")
	m.served(t)
	m.allReady(t, m.answered(t))
	m.timed("push to the group taken over again", began)
	m.settle(t)
	if now, _ := m.notice(t, fluxMember, "first"); now != notice {
		t.Errorf("the notice was %q, and is %q", notice, now)
	}
	m.notRecreated(t, runs)
}

// fluxRetired retires the member with all that runs on it: every release is uninstalled, a team's
// application too, and the service, which the hub has brought, is left.
func fluxRetired(t *testing.T, m *fluxEngine) {
	m.calm(t)
	if len(m.ledger.uids(fluxMember)) == 0 {
		t.Fatal("there is nothing to retire")
	}
	path, _, err := m.fleet.MemberFile(fluxMember)
	must(t, err)
	text, err := m.fleet.Read(path)
	must(t, err)
	must(t, m.fleet.Write(path, text+"lifecycle: retired\ndeletion: cascade\n"))
	began := m.push(t, "Retire "+fluxMember)
	m.eventually(t, "everything is uninstalled", func() string {
		left := m.ledger.uids(fluxMember)
		return strings.Join(slices.Sorted(maps.Keys(left)), "\n")
	})
	m.timed("push to a retired member's last release uninstalled", began)
	m.says(t, fluxMember, "first", "")
	w := &fluxTeamRepository{fluxEngine: m, team: fluxAgentTeam, cluster: fluxMember, app: fluxAgentApp + "-" + fluxMember}
	m.eventually(t, "nothing of the team's application is left", func() string { return w.gone(t) })
	m.eventually(t, "nothing of the manifests is left", func() string { return m.leftOf(t, fluxNotices+"-"+fluxMember) })
	releases, err := m.Client.List(t.Context(), flux.HelmReleases, flux.Namespace, "")
	must(t, err)
	if len(releases) != 1 || releases[fluxService] == nil {
		t.Errorf("HelmReleases: %v; expected %s alone", slices.Sorted(maps.Keys(releases)), fluxService)
	}
}

// suspend has helm-controller leave a HelmRelease alone, or look after it at once.
func (m *fluxEngine) suspend(t *testing.T, name string, suspended bool) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspended)
	_, err := m.Client.Dynamic.Resource(flux.HelmReleases).Namespace(flux.Namespace).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	must(t, err)
}

// left is what Flux still has of a component.
func (m *fluxEngine) left(t *testing.T, component string) string {
	t.Helper()
	return m.leftOf(t, component+"-"+fluxMember)
}

// leftOf is what Flux still has of an Application's name.
func (m *fluxEngine) leftOf(t *testing.T, name string) string {
	t.Helper()
	var out []string
	for what, r := range map[string]schema.GroupVersionResource{
		"HelmRelease": flux.HelmReleases, "Kustomization": flux.Kustomizations, "ConfigMap": kube.ConfigMaps, "OCIRepository": flux.OCIRepositories, "GitRepository": flux.GitRepositories,
	} {
		if o := m.get(t, r, name); o.GetName() != "" {
			out = append(out, what+" "+o.GetAnnotations()["argosy.dev/deletion"]+": "+fluxReady(o))
		}
	}
	if m.get(t, helmCharts, flux.Namespace+"-"+name).GetName() != "" {
		out = append(out, "HelmChart")
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
