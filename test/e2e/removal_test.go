package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// removal proves D1-D3: what goes by accident leaves what runs untouched; what Git switches off is
// pruned there and nowhere else; a retired member keeps or loses what runs, as its file says.
func removal(t *testing.T, e *environment) {
	t.Run("ApplicationSet deleted by accident", func(t *testing.T) {
		const owner = "addons-default-metrics-server"
		mark := e.ledger.mark()
		must(t, e.Kube.Delete(t.Context(), kube.ApplicationSets, hub.Namespace, owner, metav1.DeletePropagationBackground))
		e.eventually(t, "it is gone", func() string { return e.not(mark, "ApplicationSet", owner, "deleted") })
		e.comesBack(t, mark, "ApplicationSet", owner)
		e.eventually(t, "its Applications are back", func() string { return missing(e.app("metrics-server-retail-prod-eu-1")) })
		e.settle(t)
		e.untouched(t, mark)
		e.expected(t)
	})

	t.Run("Application deleted by accident", func(t *testing.T) {
		const name = "external-dns-retail-prod-eu-1"
		mark := e.ledger.mark()
		must(t, e.Kube.Delete(t.Context(), kube.Applications, hub.Namespace, name, metav1.DeletePropagationBackground))
		e.eventually(t, "it is gone", func() string { return e.not(mark, "Application", name, "deleted") })
		e.comesBack(t, mark, "Application", name)
		e.settle(t)
		e.untouched(t, mark)
	})

	t.Run("component switched off for one cluster", func(t *testing.T) {
		const cluster, component = "retail-prod-eu-1", "kyverno"
		if e.values(cluster, component) == nil {
			t.Fatalf("%s does not run on %s to begin with", component, cluster)
		}
		mark := e.ledger.mark()
		file := "addons/tenants/retail/clusters/" + cluster + "/application-sets/addons.yaml"
		e.write(t, file, "components:\n  "+component+":\n    enabled: false\n")
		began := e.push(t, "Switch a component off")
		e.eventually(t, "it is pruned", func() string {
			if e.values(cluster, component) != nil {
				return "it still runs; its Application is " + state(e.app(component+"-"+cluster))
			}
			return ""
		})
		e.timed("removal", "component off: push to pruned on the spoke", began)
		e.eventually(t, "its Application is gone", func() string { return present(e, component+"-"+cluster) })
		e.timed("removal", "component off: push to Application gone", began)
		e.settle(t)
		e.only(t, mark, func(c change) bool {
			return c.name == component+"-"+cluster || c.cluster == cluster && (c.name == component || c.name == component+"-values")
		})
		e.expected(t)
		must(t, e.Fleet.Remove(file))
		e.push(t, "Switch it on again")
		e.eventually(t, "it runs again", func() string { return missing(e.ledger.get(cluster, "ConfigMap", component+"-values")) })
		e.settle(t)
	})

	t.Run("member retires and keeps what runs", func(t *testing.T) { e.retire(t, "payments-dev-eu-1", "") })
	t.Run("member retires and loses what runs", func(t *testing.T) { e.retire(t, hub.Spare, "deletion: cascade\n") })
}

// retire has a member leave, and come back.
func (e *environment) retire(t *testing.T, cluster, how string) {
	t.Helper()
	active := e.read(t, memberFile(cluster))
	mark, uids := e.ledger.mark(), e.ledger.uids(cluster)
	e.write(t, memberFile(cluster), active+"lifecycle: retired\n"+how)
	began := e.push(t, "Retire "+cluster)
	e.eventually(t, "its Applications are gone", func() string {
		var left []string
		for name, app := range e.ledger.all(hub.Name, "Application") {
			if app.GetLabels()["argosy.dev/cluster"] == cluster {
				left = append(left, name)
			}
		}
		return strings.Join(left, ", ")
	})
	e.timed("removal", cluster+" retires: push to all its Applications gone", began)
	e.eventually(t, "its cluster Secret is gone", func() string {
		if e.ledger.get(hub.Name, "Secret", cluster) != nil {
			return "it is there"
		}
		return ""
	})
	e.settle(t)
	e.expected(t)
	e.only(t, mark, func(c change) bool {
		own := c.cluster == hub.Name && (strings.HasSuffix(c.name, "-"+cluster) || strings.HasPrefix(c.name, cluster))
		// A release that nobody else is on goes with its last cluster.
		return own || strings.HasPrefix(c.name, "application-sets-") || c.kind == "ApplicationSet" && c.what == "changed" ||
			how != "" && c.cluster == cluster
	})
	if how == "" {
		e.notRecreated(t, cluster, uids)
	} else if left := e.ledger.uids(cluster); len(left) > 0 {
		t.Errorf("%s: %d objects still run, such as %v; expected none", cluster, len(left), left)
	}

	e.write(t, memberFile(cluster), active)
	e.push(t, cluster+" comes back")
	e.eventually(t, "it is registered again", func() string { return missing(e.ledger.get(hub.Name, "Secret", cluster)) })
	e.eventually(t, "its components are back", func() string { return missing(e.app("metrics-server-" + cluster)) })
	e.settle(t)
	e.expected(t)
	if how == "" {
		e.notRecreated(t, cluster, uids)
	}
}

// not says so where nothing of the kind has happened since a mark.
func (e *environment) not(mark int, kind, name, what string) string {
	for _, c := range e.ledger.since(mark) {
		if c.cluster == hub.Name && c.kind == kind && c.name == name && c.what == what {
			return ""
		}
	}
	return "not " + what
}

// comesBack waits until something that was deleted is there again.
func (e *environment) comesBack(t *testing.T, mark int, kind, name string) {
	t.Helper()
	e.eventually(t, kind+" "+name+" comes back", func() string {
		if e.not(mark, kind, name, "added") == "" && e.ledger.get(hub.Name, kind, name) != nil {
			return ""
		}
		return "not yet"
	})
}

// untouched fails where anything has happened on a spoke since a mark.
func (e *environment) untouched(t *testing.T, mark int) {
	t.Helper()
	e.only(t, mark, func(c change) bool { return c.cluster == hub.Name })
}

// present says so of an Application that is still there.
func present(e *environment, app string) string {
	if o := e.app(app); o != nil {
		return "it is " + state(o)
	}
	return ""
}
