package e2e

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-hub/argosy/test/accidents"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

var (
	accidentCount = flag.Int("accidents", 20, "accidents of TestChaos")
	accidentSeed  = flag.Uint64("seed", 42, "what they come from")
	accidentsEnd  = flag.Duration("within", 24*time.Hour, "begin no further accidents after so long, and say how many there were")
)

// unguarded is the seed of the accidents without the removal budget, and unguardedMost how many are
// tried until one deletes.
const unguarded, unguardedMost = 4, 30

// TestChaos lets accidents happen to the fleet's repository (package accidents) while a real Argo
// CD follows it, and the service and Argo CD's controller are killed among them: no Application is
// lost that should exist. Without the removal budget the same accidents delete, which is seen: so
// the first part can fail.
func TestChaos(t *testing.T) {
	hubs.beside(t, 210)
	h := chaos(t)
	deployed := map[string]map[string]types.UID{}
	for _, name := range h.e.spokes() {
		deployed[name] = h.e.ledger.uids(name)
	}
	t.Run("guarded", func(t *testing.T) {
		report := h.campaign(t, 0, *accidentSeed, *accidentCount, nil)
		if n := len(report.Wrong); n > 0 {
			t.Errorf("%d wrong deletions; expected 0", n) // each has been reported
		}
		must(t, h.e.ArgoCD.Controller.Restart(t.Context()))
		h.e.within(t, 4*patience, "what is reached is synced and healthy again", func() string { return h.e.unsettled(h.reached) })
		for name, before := range deployed {
			h.e.notRecreated(t, name, before)
			t.Logf("%s: %d deployed objects are those that were there before", name, len(before))
		}
		must(t, h.e.ArgoCD.Controller.Kill())
	})
	t.Run("unguarded", func(t *testing.T) {
		report := h.campaign(t, 1000, unguarded, unguardedMost, func(r accidents.Report) bool { return len(r.Wrong) > 0 })
		if len(report.Wrong) == 0 {
			t.Error("without the removal budget no accident deleted anything: the campaign cannot fail")
		}
	})
}

// chaos brings up a hub whose Applications are all there, and stops Argo CD's application
// controller (chaosHub, rule 3).
func chaos(t *testing.T) *chaosHub {
	t.Helper()
	e := start(t, hub.Options{
		Members: []string{"retail-dev-eu-1", "retail-prod-eu-1"},
		Absent:  []string{"analytics-dev-eu-1", "analytics-prod-eu-1", "payments-dev-eu-1", "retail-staging-eu-1"},
	})
	h := &chaosHub{ctx: t.Context(), e: e, witness: witnesses(t, e.Plugin.URL), dice: rand.New(rand.NewPCG(*accidentSeed, 1))}
	_, err := e.Kube.Dynamic.Resource(kube.ConfigMaps).Namespace(hub.Namespace).Patch(t.Context(), "generator-plugin", types.MergePatchType,
		fmt.Appendf(nil, `{"data":{"baseUrl":%q}}`, h.witness.url), metav1.PatchOptions{})
	must(t, err)
	began := time.Now()
	must(t, e.Bootstrap(t.Context()))
	for _, name := range slices.Concat(e.Members(), e.Absent()) {
		e.within(t, patience, name+" is registered", func() string { return missing(e.ledger.get(hub.Name, "Secret", name)) })
	}
	e.within(t, 4*patience, "an Application for each parameter set", func() string { return e.absentApplications(t) })
	e.within(t, 4*patience, "what is reached is synced and healthy", func() string { return e.unsettled(h.reached) })
	must(t, e.ArgoCD.Controller.Kill())
	h.repo, err = accidents.Open(e.Fleet.Path())
	must(t, err)
	for name := range e.ledger.all(hub.Name, "ApplicationSet") {
		h.sets = append(h.sets, name)
	}
	slices.Sort(h.sets)
	t.Logf("%d Applications from %d ApplicationSets for %d members after %s", len(e.ledger.all(hub.Name, "Application")), len(h.sets),
		len(e.Members())+len(e.Absent()), time.Since(began).Round(time.Second))
	return h
}

// campaign runs accidents with a removal budget.
func (h *chaosHub) campaign(t *testing.T, maxRemovals int, seed uint64, n int, enough func(accidents.Report) bool) accidents.Report {
	t.Helper()
	good, err := h.repo.Budget(maxRemovals)
	must(t, err)
	must(t, h.Consider(good, false))
	h.should, h.commits, h.rounds, h.moved, h.midway, h.controllers = nil, 0, 0, 0, 0, 0
	_, err = h.Reconcile()
	must(t, err)
	c, err := accidents.New(seed, h.repo, h)
	must(t, err)
	h.should = map[string]bool{}
	for name := range h.apps {
		h.should[name] = true
	}
	began, reported, wrong := time.Now(), 0, 0
	asked, refused := h.witness.count()
	c.Enough = func(r accidents.Report) bool {
		for ; wrong < len(r.Wrong); wrong++ {
			t.Logf("wrong deletion: %s", r.Wrong[wrong])
		}
		if next := reported + 25; r.Accidents() >= next {
			t.Logf("%s, %s", r, time.Since(began).Round(time.Second))
			reported = next
		}
		return enough != nil && enough(r) || time.Since(began) > *accidentsEnd
	}
	must(t, c.Run(n))
	for _, u := range c.Unmended {
		t.Error(u)
	}
	total, errs := h.witness.count()
	t.Logf("Argo CD %s, %s; %d of the service's kills while it read a commit, %d kills of Argo CD's controller, %d requests of which %d were not answered, %d commits in %d rounds, %d Applications moved, %s",
		argoCD(), c.Report, h.midway, h.controllers, total-asked, errs-refused, h.commits, h.rounds, h.moved, time.Since(began).Round(time.Second))
	return c.Report
}

// reached tells the Applications whose cluster is there.
func (h *chaosHub) reached(name string) bool {
	app := h.e.app(name)
	if app == nil {
		return false
	}
	cluster, _, _ := unstructured.NestedString(app.Object, "spec", "destination", "name")
	return !slices.Contains(h.e.Absent(), cluster)
}

// absentApplications names those that the service asks for and that are not there.
func (e *environment) absentApplications(t *testing.T) string {
	t.Helper()
	ask := []map[string]any{{"view": "members"}, {"view": "agents"}}
	for _, group := range groups {
		ask = append(ask, map[string]any{"view": "releases", "group": group}, map[string]any{"view": "components", "group": group})
	}
	var out []string
	for _, parameters := range ask {
		parameters["hub"] = hub.Name
		for _, s := range e.answer(t, parameters) {
			if e.app(s.ApplicationName) == nil {
				out = append(out, s.ApplicationName)
			}
		}
	}
	return strings.Join(out, ", ")
}

// together does something for each of many at once, and gives all that went wrong.
func together(names []string, do func(name string) error) error {
	var wg sync.WaitGroup
	errs := make([]error, len(names))
	for i, name := range names {
		wg.Go(func() { errs[i] = do(name) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
