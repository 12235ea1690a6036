// Package e2e proves what a fleet's users rely on, with real components: each flow pushes commits
// to Git and watches the clusters. Run it with `make e2e`; ARGOCD=2.14 and 3.5 run the
// same flows against those releases of Argo CD.
package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

func TestMain(m *testing.M) {
	process.Init()
	if err := hubs.open(); err != nil {
		panic(err)
	}
	code := m.Run()
	for _, text := range late.all() {
		fmt.Println(text) // once more at the end, which is what is read first
	}
	os.Exit(code)
}

// TestFlows runs the flows one after another on one hub: each begins with what the one before left,
// and leaves all Applications synced. `-run TestFlows/removal` runs what every flow needs,
// bootstrap and registration, and those that match.
func TestFlows(t *testing.T) {
	hubs.beside(t, 900)
	e := start(t, hub.Options{})
	t.Cleanup(func() { t.Logf("\n%s", e.table()) })
	bootstrap(t, e)
	for _, flow := range []struct {
		name string
		run  func(*testing.T, *environment)
	}{
		{"provisioning", provisioning}, // before registration: it has the control plane of the spare cluster
		{"registration", registration},
		{"centralized", centralized},
		{"pages", pagesFlow},
		{"override", override},
		{"identity", identity},
		{"release", releaseFlow},
		{"rollout", rollout},
		{"rings", rings},
		{"removal", removal},
		{"tenancy", tenancy},
		{"teams", teams},
		{"faults", faults},
		{"guard", removalBudget}, // the last of the fleet: what it leaves when it fails is few members
		{"beside", beside},
		{"workloads", workloads}, // which leaves a team on all clusters
	} {
		ok := t.Run(flow.name, func(t *testing.T) {
			hubs.inTime(t, 60)
			if flow.name != "registration" && flow.name != "provisioning" && e.ledger.get(hub.Name, "Secret", hub.Spare) == nil {
				registration(t, e) // the others need all four spokes
			}
			flow.run(t, e)
		})
		if !ok {
			t.Logf("the flows after %s find what it left", flow.name)
		}
		e.settle(t)
	}
}
