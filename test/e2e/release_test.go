package e2e

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// releaseFlow bumps a release, whose catalog names a newer chart: only the clusters on that release
// change, and no name does (R6, N1). Then a cluster moves to another release by its label: another
// ApplicationSet owns its Applications from then on, and nothing on the spoke is recreated (D4).
func releaseFlow(t *testing.T, e *environment) {
	const component, next = "metrics-server", "99.1.0"
	must(t, e.Charts.Add(chartserver.Chart{Name: component, Version: next}))
	const catalog = "charts/application-sets/catalogs/addons.yaml"
	before := e.targetRevision(component + "-retail-dev-eu-1")
	if before == "" {
		t.Fatal("metrics-server of retail-dev-eu-1 has no version")
	}
	main := e.Fleet.Branch()
	must(t, e.Fleet.Fork(t.Context(), "release-2"))
	e.replace(t, catalog, "version: "+before, "version: "+next)
	e.push(t, "The next release of addons")
	must(t, e.Fleet.Switch(t.Context(), main))

	t.Run("bump", func(t *testing.T) {
		mark, uids := e.ledger.mark(), e.ledger.uids("retail-dev-eu-1")
		versions := e.read(t, "versions/applicationSets.yaml")
		bumped := strings.Replace(versions, "chartRepoRevision: release-next", "chartRepoRevision: release-2", 1) // the first is addons'
		e.write(t, "versions/applicationSets.yaml", bumped)
		began := e.push(t, "Bump the canary release of addons")
		e.eventually(t, "the new version on the canary", func() string {
			if v := e.targetRevision(component + "-retail-dev-eu-1"); v != next {
				return v
			}
			return ""
		})
		e.timed("release", "bump: push to Application", began)
		e.synced(t)
		e.timed("release", "bump: push to synced", began)
		e.settle(t)
		e.only(t, mark, func(c change) bool {
			return c.what == "changed" && (c.name == component+"-retail-dev-eu-1" || c.cluster == "retail-dev-eu-1" ||
				c.name == "application-sets-addons-canary" || strings.HasPrefix(c.name, "addons-canary-"))
		})
		e.notRecreated(t, "retail-dev-eu-1", uids)
		for _, cluster := range []string{hub.Spare, "retail-prod-eu-1", "payments-dev-eu-1"} {
			if v := e.targetRevision(component + "-" + cluster); v != before {
				t.Errorf("%s has version %s; expected %s still", cluster, v, before)
			}
		}
	})

	t.Run("move", func(t *testing.T) {
		const cluster = "retail-prod-eu-1"
		mark, uids := e.ledger.mark(), e.ledger.uids(cluster)
		e.replace(t, memberFile(cluster), "labels:\n", "labels:\n  addonsRelease: canary\n")
		began := e.push(t, "Move a cluster to the canary release")
		e.eventually(t, "the Application has another owner, and the new version", func() string {
			if owner := e.owner(component + "-" + cluster); owner != "addons-canary-"+component {
				return "owned by " + owner
			}
			if v := e.targetRevision(component + "-" + cluster); v != next {
				return v
			}
			return ""
		})
		e.timed("release", "move: push to Application", began)
		e.synced(t)
		e.timed("release", "move: push to synced", began)
		e.settle(t)
		e.expected(t)
		e.notRecreated(t, cluster, uids)
		for name, app := range e.ledger.all(hub.Name, "Application") {
			labels := app.GetLabels()
			if labels["argosy.dev/cluster"] == cluster && labels["argosy.dev/group"] == "addons" && labels["argosy.dev/release"] != "canary" {
				t.Errorf("%s is of release %q; expected canary", name, labels["argosy.dev/release"])
			}
		}
		e.only(t, mark, func(c change) bool {
			hubs := strings.HasSuffix(c.name, "-"+cluster) || c.name == cluster // Applications, ExternalSecret, cluster Secret
			spoke := c.cluster == cluster && c.what == "changed"
			release := strings.HasPrefix(c.name, "application-sets-addons-") || c.kind == "ApplicationSet" && c.what != "deleted"
			return c.cluster == hub.Name && (hubs || release) || spoke
		})
		// Back, for the flows that follow.
		e.replace(t, memberFile(cluster), "labels:\n  addonsRelease: canary\n", "labels:\n")
		e.push(t, "Move it back")
		e.eventually(t, "the Application has its owner back", func() string {
			if owner := e.owner(component + "-" + cluster); owner != "addons-default-"+component {
				return "owned by " + owner
			}
			return ""
		})
		e.settle(t)
		e.notRecreated(t, cluster, uids)
	})

	// Two ApplicationSets that each wait for the other to let go would wait for ever: Argo CD
	// deletes nothing of an ApplicationSet while one of its Applications belongs to another.
	t.Run("swap", func(t *testing.T) {
		owners := map[string]string{"retail-prod-eu-1": "addons-canary-" + component, "retail-dev-eu-1": "addons-default-" + component}
		swapped := func() string {
			for cluster, want := range owners {
				if owner := e.owner(component + "-" + cluster); owner != want {
					return cluster + " is owned by " + owner
				}
			}
			return ""
		}
		uids := map[string]map[string]types.UID{}
		for cluster := range owners {
			uids[cluster] = e.ledger.uids(cluster)
		}
		prod, dev := e.read(t, memberFile("retail-prod-eu-1")), e.read(t, memberFile("retail-dev-eu-1"))
		e.replace(t, memberFile("retail-prod-eu-1"), "labels:\n", "labels:\n  addonsRelease: canary\n")
		e.replace(t, memberFile("retail-dev-eu-1"), "labels:\n", "labels:\n  addonsRelease: default\n")
		began := e.push(t, "Two clusters change places")
		e.eventually(t, "each has the other's owner", swapped)
		e.synced(t)
		e.timed("release", "swap: push to synced", began)
		e.settle(t)
		e.expected(t)
		e.write(t, memberFile("retail-prod-eu-1"), prod)
		e.write(t, memberFile("retail-dev-eu-1"), dev)
		e.push(t, "And back")
		owners["retail-prod-eu-1"], owners["retail-dev-eu-1"] = owners["retail-dev-eu-1"], owners["retail-prod-eu-1"]
		e.eventually(t, "each has its own owner back", swapped)
		e.settle(t)
		for cluster := range owners {
			e.notRecreated(t, cluster, uids[cluster])
		}
	})
}

// targetRevision is the version of an Application's chart.
func (e *environment) targetRevision(app string) string {
	o := e.app(app)
	if o == nil {
		return ""
	}
	if v, ok, _ := unstructured.NestedString(o.Object, "spec", "source", "targetRevision"); ok {
		return v
	}
	sources, _, _ := unstructured.NestedSlice(o.Object, "spec", "sources")
	for _, s := range sources {
		if m, ok := s.(map[string]any); ok && m["chart"] != nil {
			return fmt.Sprint(m["targetRevision"])
		}
	}
	return ""
}

// owner is the ApplicationSet that controls an Application.
func (e *environment) owner(app string) string {
	o := e.app(app)
	if o == nil {
		return "nobody: it is absent"
	}
	return kube.Controller(o)
}
