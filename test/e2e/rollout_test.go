package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
)

// rollout gives a component the strategy RollingSync over environments and changes a value of all
// clusters: dev gets it before staging, and staging before prod, unless Argo CD is too busy to
// notice in time, each time anew.
//
// Not on Argo CD 3.5 and 3.6: their controller takes an Application whose spec alone changes for
// healthy before it has compared the new one, and never syncs it (argoproj/argo-cd issue 27949,
// open). docs/reference/compatibility.md says so.
func rollout(t *testing.T, e *environment) {
	if argoCD() != "2.14" {
		t.Skip("Argo CD " + argoCD() + " syncs no Application in steps whose spec alone changes")
	}
	const (
		component = "cert-manager"
		catalog   = "charts/application-sets/catalogs/addons.yaml"
		owner     = "addons-default-" + component
		strategy  = `
    strategy:
      type: RollingSync
      rollingSync:
        steps:
          - matchExpressions: [{key: argosy.dev/environment, operator: In, values: [dev]}]
          - matchExpressions: [{key: argosy.dev/environment, operator: In, values: [staging]}]
          - matchExpressions: [{key: argosy.dev/environment, operator: In, values: [prod]}]
`
	)
	order := []string{"payments-dev-eu-1", hub.Spare, "retail-prod-eu-1"} // retail-dev-eu-1 is on another release
	plain := e.read(t, catalog)
	e.replace(t, catalog, "  cert-manager:\n", "  cert-manager:"+strategy)
	e.push(t, "Roll cert-manager out environment by environment")
	must(t, e.ArgoCD.Refresh(t.Context(), "application-sets-addons-default", false))
	e.eventually(t, "the ApplicationSet has the strategy", func() string {
		set := e.ledger.get(hub.Name, "ApplicationSet", owner)
		if set == nil {
			return "no " + owner
		}
		if kind, _, _ := unstructured.NestedString(set.Object, "spec", "strategy", "type"); kind != "RollingSync" {
			return "none yet"
		}
		return ""
	})
	e.settle(t)

	mark := e.ledger.mark()
	e.oldHealth(t, owner, component, order)
	e.replace(t, "addons/defaults/addons/cert-manager/values.yaml", "rollout: \"0\"", "rollout: \"1\"")
	for try := 1; ; try++ {
		wrong := e.roll(t, component, strconv.Itoa(try), order)
		if wrong == "" {
			break
		}
		// Argo CD takes an environment for done while it has not noticed yet that the commit is
		// about it too (applicationset_controller.go, updateApplicationSetApplicationStatus looks
		// at what the application controller has compared so far). It happens on a busy machine,
		// and does not happen each time.
		t.Logf("try %d: %s", try, wrong)
		e.settle(t)
		if try == rolloutTries {
			t.Errorf("in none of %d rollouts one environment came after the other", try)
			break
		}
		e.replace(t, "addons/defaults/addons/cert-manager/values.yaml", fmt.Sprintf("rollout: %q", strconv.Itoa(try)), fmt.Sprintf("rollout: %q", strconv.Itoa(try+1)))
	}
	e.settle(t)
	e.only(t, mark, func(c change) bool {
		return c.what == "changed" && (strings.HasPrefix(c.name, component+"-") || c.name == owner || c.name == "addons-canary-"+component)
	})

	e.write(t, catalog, plain)
	e.push(t, "All at once again")
	must(t, e.ArgoCD.Refresh(t.Context(), "application-sets-addons-default", false))
	e.eventually(t, "the ApplicationSet is without a strategy", func() string {
		_, found, _ := unstructured.NestedMap(e.ledger.get(hub.Name, "ApplicationSet", owner).Object, "spec", "strategy", "rollingSync")
		if found {
			return "RollingSync still"
		}
		return ""
	})
}

// oldHealth shows what RollingSync makes of health from before a change, which the rings of a
// rollout policy do not count (flow rings). While Argo CD's application controller stands still,
// all Applications have the change at once, and their ApplicationSet calls all of them healthy.
func (e *environment) oldHealth(t *testing.T, owner, component string, order []string) {
	t.Helper()
	before := map[string]string{}
	for _, cluster := range order {
		before[cluster] = e.digestOf(component, cluster)
	}
	e.standStill(t, func() {
		e.add(t, "addons/defaults/addons/cert-manager/values.yaml", "podLabels:\n  rollout: \"0\"\n")
		e.push(t, "A value of all clusters while nobody looks")
		e.eventually(t, "all Applications have it, and count as healthy", func() string {
			for _, cluster := range order {
				if e.digestOf(component, cluster) == before[cluster] {
					return cluster + " does not have it"
				}
			}
			set := e.ledger.get(hub.Name, "ApplicationSet", owner)
			statuses, _, _ := unstructured.NestedSlice(set.Object, "status", "applicationStatus")
			healthy := map[string]bool{}
			for _, s := range statuses {
				one, _ := s.(map[string]any)
				name, _ := one["application"].(string)
				healthy[name] = one["status"] == "Healthy"
			}
			for _, cluster := range order {
				if !healthy[component+"-"+cluster] {
					return fmt.Sprintf("%s does not call %s healthy: %v", owner, component+"-"+cluster, statuses)
				}
			}
			return ""
		})
	})
	e.settle(t)
}

// standStill stops Argo CD's application controller while something happens.
func (e *environment) standStill(t *testing.T, meanwhile func()) {
	t.Helper()
	controller := e.ArgoCD.Controller.Pid()
	goOn := func() { _ = syscall.Kill(controller, syscall.SIGCONT) }
	t.Cleanup(goOn)
	must(t, syscall.Kill(controller, syscall.SIGSTOP))
	meanwhile()
	goOn()
}

// rolloutTries are how often a value is rolled out until the environments follow one another.
const rolloutTries = 4

// roll pushes the value that is in the fleet's clone, waits until all clusters have it, and says
// which of them had it before one that comes first.
func (e *environment) roll(t *testing.T, component, value string, order []string) (wrong string) {
	t.Helper()
	mark := e.ledger.mark()
	began := e.push(t, "A value of all clusters")
	e.within(t, 3*patience, "the value on all clusters", func() string {
		for _, cluster := range order {
			if have := e.value(cluster, component, "podLabels", "rollout"); have != value {
				return fmt.Sprintf("%s has %v; its Application is %s", cluster, have, state(e.app(component+"-"+cluster)))
			}
		}
		return ""
	})
	e.timed("rollout", "push to synced on the last environment", began)
	var last time.Time
	for i, cluster := range order {
		at := e.changedAt(mark, cluster, component+"-values")
		if at.Before(last) {
			wrong = fmt.Sprintf("%s changed at %s, before %s, which comes first", cluster, at.Format(time.TimeOnly), order[i-1])
		}
		last = at
		e.timings = append(e.timings, timing{"rollout", "push to " + cluster, at.Sub(began)})
	}
	return wrong
}

// changedAt is when an object changed first after a mark.
func (e *environment) changedAt(mark int, cluster, name string) time.Time {
	for _, c := range e.ledger.since(mark) {
		if c.cluster == cluster && c.name == name {
			return c.at
		}
	}
	return time.Time{}
}
