package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plancheck"
)

// environment is the running hub, and what the flows ask of it.
type environment struct {
	*hub.Hub
	ledger    *ledger
	timings   []timing
	planCheck plancheck.Checker
}

// timing is a measured span.
type timing struct {
	flow, span string
	took       time.Duration
}

// argosy is the command line, as built.
var argosy = filepath.Join("..", "..", "bin", "argosy")

// argoCD is the version that the suite runs against: ARGOCD=3.6 (the default), 3.5 or 2.14.
func argoCD() string { return cmp.Or(os.Getenv("ARGOCD"), argocd.Newest) }

// start brings up a hub for the flows, with the members of o. Its logs are kept, and named, when a
// flow fails.
func start(t *testing.T, o hub.Options) *environment {
	t.Helper()
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	dir, err := os.MkdirTemp("", "argosy-e2e-") //nolint:usetesting // the logs outlive a test that fails
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs of all processes: %s", filepath.Join(dir, "log"))
			return
		}
		_ = os.RemoveAll(dir)
	})
	began := time.Now()
	o.Checkout, o.Dir, o.ArgoCD = checkout, dir, argoCD()
	o.Progress = func(line string) { t.Logf("%6.1fs  %s", time.Since(began).Seconds(), line) }
	h, err := hub.Start(t.Context(), o)
	must(t, err)
	t.Cleanup(func() {
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
	})
	e := &environment{Hub: h, ledger: newLedger()}
	everything := func(*unstructured.Unstructured) bool { return true }
	e.ledger.watch(t.Context(), t, hub.Name, h.Kube, everything, kube.Applications, kube.ApplicationSets, kube.ExternalSecrets)
	e.ledger.watch(t.Context(), t, hub.Name, h.Kube, isClusterSecret, kube.Secrets)
	for name, client := range h.Spoke {
		e.ledger.watch(t.Context(), t, name, client, isDeployed, kube.ConfigMaps, kube.Deployments)
	}
	e.planCheck = plancheck.Checker{
		Argosy: argosy, Repo: e.Fleet.Path(), Hub: hub.Name, Facts: e.facts, Engines: []plancheck.Engine{e.argoCDOf(hubOwner, hub.Name, e.Kube)},
	}
	e.timed("start", "components running", began)
	return e
}

func isClusterSecret(o *unstructured.Unstructured) bool {
	return o.GetLabels()["argocd.argoproj.io/secret-type"] == "cluster"
}

// isDeployed tells what a stand-in chart made from what Kubernetes did.
func isDeployed(o *unstructured.Unstructured) bool {
	return o.GetKind() != "ConfigMap" || strings.HasSuffix(o.GetName(), "-values")
}

// timed notes how long something took that began at a time.
func (e *environment) timed(flow, span string, began time.Time) {
	e.timings = append(e.timings, timing{flow, span, time.Since(began)})
}

// table is the measured times.
func (e *environment) table() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "flow\tspan\tseconds (Argo CD %s)\n", argoCD())
	for _, m := range e.timings {
		fmt.Fprintf(w, "%s\t%s\t%.1f\n", m.flow, m.span, m.took.Seconds())
	}
	_ = w.Flush()
	return out.String()
}

// patience is how long anything may take that follows from a push on two busy cores.
const patience = 3 * time.Minute

// eventually waits until pending has nothing to say any more; it is asked again whenever something
// changes.
func (e *environment) eventually(t *testing.T, what string, pending func() string) {
	t.Helper()
	e.within(t, patience, what, pending)
}

func (e *environment) within(t *testing.T, limit time.Duration, what string, pending func() string) {
	t.Helper()
	if err := e.await(t.Context(), limit, what, pending); err != nil {
		e.failed(t, err)
	}
}

// failed ends a test whose wait took too long.
func (e *environment) failed(t *testing.T, err error) {
	t.Helper()
	late.add(t.Name() + ": " + err.Error() + "\n" + e.diagnose(t))
	t.Fatal(err)
}

// await is within for what happens beside a test, which cannot end it.
func (e *environment) await(ctx context.Context, limit time.Duration, what string, pending func() string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(500 * time.Millisecond) // for what the ledger does not watch
	defer tick.Stop()
	for {
		next := e.ledger.next()
		missing := pending()
		if missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %s: %s", what, limit, missing)
		case <-next:
		case <-tick.C:
		}
	}
}

// push commits and pushes what edit changed in the fleet, and gives the moment before.
func (e *environment) push(t *testing.T, message string) time.Time {
	t.Helper()
	began := time.Now()
	if _, err := e.Fleet.Commit(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	return began
}

// write puts a file into the fleet's clone; push sends it.
func (e *environment) write(t *testing.T, path, text string) {
	t.Helper()
	must(t, e.Fleet.Write(path, text))
}

// replace changes a file of the fleet's clone.
func (e *environment) replace(t *testing.T, path, old, with string) {
	t.Helper()
	must(t, e.Fleet.Replace(path, old, with))
}

// read is a file of the fleet's clone.
func (e *environment) read(t *testing.T, path string) string {
	t.Helper()
	text, err := e.Fleet.Read(path)
	must(t, err)
	return text
}

// app is an Application of the hub, nil when there is none.
func (e *environment) app(name string) *unstructured.Unstructured {
	return e.ledger.get(hub.Name, "Application", name)
}

// state is an Application's sync and health status.
func state(app *unstructured.Unstructured) string {
	if app == nil {
		return "absent"
	}
	sync, _, _ := unstructured.NestedString(app.Object, "status", "sync", "status")
	health, _, _ := unstructured.NestedString(app.Object, "status", "health", "status")
	return cmp.Or(sync, "new") + "/" + cmp.Or(health, "new")
}

const good = "Synced/Healthy"

// unsettled tells which of the Applications that keep takes are not synced and healthy.
func (e *environment) unsettled(keep func(name string) bool) string {
	var out []string
	for name, app := range e.ledger.all(hub.Name, "Application") {
		if s := state(app); keep(name) && s != good {
			out = append(out, name+" "+s)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// synced waits until every Application is synced and healthy.
func (e *environment) synced(t *testing.T) {
	t.Helper()
	e.within(t, 4*patience, "all Applications synced and healthy", func() string {
		return e.unsettled(func(string) bool { return true })
	})
}

// quiet is how long nothing may happen before a flow takes it that nothing more will: longer than
// Argo CD and Kubernetes take from one thing to the next.
const quiet = 2 * time.Second

// settle is calm, and then compares with the plan.
func (e *environment) settle(t *testing.T) {
	t.Helper()
	e.calm(t)
	e.checkPlan(t)
}

// calm waits until every Application is synced and healthy and nothing changes for a while: late
// reactions had their time, and a flow then sees only its own changes.
func (e *environment) calm(t *testing.T) {
	t.Helper()
	e.within(t, 4*patience, "all Applications synced and healthy, and nothing happening", func() string {
		if pending := e.unsettled(func(string) bool { return true }); pending != "" {
			return pending
		}
		if since := time.Since(e.ledger.last()); since < quiet {
			return fmt.Sprintf("the last change was %s ago", since.Round(time.Millisecond))
		}
		return ""
	})
}

// values are what a component got on a spoke: the stand-in chart writes them into a ConfigMap.
func (e *environment) values(cluster, component string) map[string]any {
	o := e.ledger.get(cluster, "ConfigMap", component+"-values")
	if o == nil {
		return nil
	}
	written, _, _ := unstructured.NestedString(o.Object, "data", "values.yaml")
	var out map[string]any
	if yaml.Unmarshal([]byte(written), &out) != nil {
		return nil
	}
	return out
}

// value is one of them, by its path.
func (e *environment) value(cluster, component string, path ...string) any {
	out, _, _ := unstructured.NestedFieldNoCopy(e.values(cluster, component), path...)
	return out
}

// only fails for everything that happened since a mark and that allowed does not take.
func (e *environment) only(t *testing.T, mark int, allowed func(change) bool) {
	t.Helper()
	wrong := slices.DeleteFunc(e.ledger.since(mark), func(c change) bool { return allowed(c) || c.cluster == fluxMember && isUpgraded(c) })
	if len(wrong) > 0 {
		t.Errorf("these should not have happened:\n%s", lines(wrong))
	}
}

// spokes are the names of the spokes with a control plane, sorted.
func (e *environment) spokes() []string { return slices.Sorted(maps.Keys(e.Spokes)) }

// checkPlan fails when the live objects or their changes differ from the plan.
func (e *environment) checkPlan(t *testing.T) {
	t.Helper()
	began := time.Now()
	compared := e.planCheck.Check(t, e.patiently(t))
	e.timed("checkPlan", compared, began)
}

func (e *environment) patiently(t *testing.T) func(string, func() string) error {
	return func(what string, pending func() string) error { return e.await(t.Context(), patience, what, pending) }
}

// argoCDOf is an engine's, by where the ledger has what is there.
func (e *environment) argoCDOf(owner, where string, client *kube.Client) plancheck.Engine {
	kinds := []string{"Application", "ApplicationSet"}
	return plancheck.Engine{Owner: owner, Kube: client, Kinds: kinds, All: func(testing.TB) (out []*unstructured.Unstructured) {
		for _, kind := range kinds {
			out = slices.AppendSeq(out, maps.Values(e.ledger.all(where, kind)))
		}
		return out
	}}
}

// facts are what the hub knows of its clusters.
func (e *environment) facts(t testing.TB) []byte {
	t.Helper()
	facts, err := exec.CommandContext(t.Context(), argosy, "facts", "export", "--kubeconfig", e.Control.Kubeconfig).Output()
	must(t, err)
	return facts
}
