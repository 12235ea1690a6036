package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/ociregistry"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

const (
	// neighbour is a member that the hub deploys to.
	neighbour = "payments-dev-eu-1"
	// agent is the member with an Argo CD of its own: it owns addons and resources, the hub
	// monitoring and fleet.
	agent = "payments-prod-eu-1"
	// engine is what the ledger calls that Argo CD's own objects: on the same API server as what it
	// deploys, but these come and go with a group, which that must not.
	engine = agent + "'s Argo CD"
)

// agents is the environment with two members that deploy for themselves, one with each engine.
type agents struct {
	*environment
	agent *hub.Agent // with Argo CD
	flux  *hub.Agent
	ecr   *ociregistry.ECR
	// clashes are what rule M3 forbids.
	clashes clashes
}

// TestAgents proves the agent model, with an Argo CD agent, a Flux agent and a member without an
// engine of its own beside each other on one hub: what the hub delivers makes a member's own engine
// deploy the groups that it owns, and no others (M1, M2); they go on without the hub; and a group
// changes hands with nothing on the cluster recreated (D4), and with no two engines having it at
// any moment, whichever service knows of it (M3).
func TestAgents(t *testing.T) {
	hubs.beside(t, 750)
	ecr, err := ociregistry.StartECR(t.Context(), t.TempDir())
	must(t, err)
	a := &agents{ecr: ecr, environment: start(t, hub.Options{Members: []string{neighbour}, Spares: []string{agent, fluxMember}, Flux: true, Env: ecr.Env})}
	t.Cleanup(func() { t.Logf("\n%s", a.table()) })
	a.ledger.always(a.clashes.look)
	// A minute's interval is what six changes of hands would mostly wait for.
	a.replace(t, "fleet/bootstrap/"+hub.Name+"/agents-flux.yaml", "\n              plugin:\n", "\n              artifact: {interval: 10s}\n              plugin:\n")
	a.push(t, "Ask for artifacts more often")
	must(t, a.Bootstrap(t.Context()))
	// While the rest comes up, as there is a lot to wait for in both; at the end all of it is
	// looked at.
	a.eventually(t, "the first member's cluster Secret", func() string { return missing(a.ledger.get(hub.Name, "Secret", neighbour)) })
	a.onboard(t)
	a.watchCredentials(t)
	t.Run("credentials", a.credentials)
	t.Run("flux credentials", a.fluxCredentials)
	t.Run("flags", a.flags)
	t.Run("second repository", a.secondRepository)
	t.Run("registry", a.registry)
	t.Run("outage", a.outage)
	t.Run("rings", a.rings)
	t.Run("pages", a.onPages)
	t.Run("flip", a.flip)
	t.Run("flux flip", a.fluxFlip)
	a.exclusive(t)
	t.Run("no agent", a.noAgent)
}

// onboard pushes the members' files, starts what the hub delivers there, and waits for the members
// to run.
func (a *agents) onboard(t *testing.T) {
	mark := a.ledger.mark()
	must(t, a.AddAgent(fluxMember))
	fluxBegan := a.push(t, "Add "+fluxMember)
	other := make(chan joined, 1)
	go func() { other <- a.join(t.Context(), fluxMember, fluxBegan) }()
	must(t, a.AddAgent(agent))
	began := a.push(t, "Add "+agent)
	first, second := a.join(t.Context(), agent, began), <-other
	a.timings = slices.Concat(a.timings, first.timings, second.timings)
	if err := errors.Join(first.err, second.err); err != nil {
		a.failed(t, err)
	}
	a.agent, a.flux = first.agent, second.agent
	everything := func(*unstructured.Unstructured) bool { return true }
	a.ledger.watch(t.Context(), t, engine, a.agent.Kube, everything, kube.Applications, kube.ApplicationSets)
	a.ledger.watch(t.Context(), t, agent, a.agent.Kube, everything, storageClasses)
	a.ledger.watch(t.Context(), t, fluxMember, a.flux.Kube, everything, flux.HelmReleases, storageClasses)
	// Its root ApplicationSets were there before the service could be asked: they do not wait for
	// Argo CD's next try.
	a.eventually(t, "its first Application", func() string { return missing(a.ledger.get(engine, "Application", "metrics-server-"+agent)) })
	a.timed("agents", "push to the first Application of its own", began)
	_, own := a.parts(t, fluxMember)
	a.fluxAllReady(t, own)
	a.fluxTimings(t, own, fluxBegan)
	a.owned(t, "addons", "resources")
	a.timed("agents", "push to everything synced by all engines", began)
	a.fluxOwned(t)
	a.registered(t, agent)
	a.registered(t, fluxMember)
	a.expected(t)
	a.undeleted(t, mark, func(change) bool { return false })
	a.planCheck.Engines = append(a.planCheck.Engines, a.argoCDOf(agent, engine, a.agent.Kube), fluxOf(fluxMember, a.flux.Kube))
	a.checkPlan(t)
}

// joined is a member that deploys for itself, from its file to its service, and how long that took.
type joined struct {
	agent   *hub.Agent
	timings []timing
	err     error
}

// join waits for what the hub does for a member whose file was pushed, and starts what it delivers
// there.
func (a *agents) join(ctx context.Context, name string, began time.Time) (j joined) {
	span := func(what string) {
		j.timings = append(j.timings, timing{"agents", name + ": push to " + what, time.Since(began)})
	}
	if j.err = a.await(ctx, patience, name+"'s cluster Secret", func() string { return missing(a.ledger.get(hub.Name, "Secret", name)) }); j.err != nil {
		return j
	}
	span("cluster Secret")
	if j.err = a.await(ctx, patience, "the Application that delivers its engine's part", func() string { return missing(a.app("agent-" + name)) }); j.err != nil {
		return j
	}
	span("Application agent-" + name)
	if j.agent, j.err = a.StartAgent(ctx, name); j.err != nil {
		return j
	}
	span("the member's generator-plugin serving")
	return j
}

// parts are the answers for a member by Application's name: the hub's part and its own.
func (a *agents) parts(t *testing.T, member string) (hubs, own map[string]set) {
	t.Helper()
	hubs, own = map[string]set{}, map[string]set{}
	for _, group := range groups {
		for owner, sets := range map[string]map[string]set{hubOwner: hubs, member: own} {
			for _, s := range a.answer(t, map[string]any{"view": "components", "hub": hub.Name, "group": group, "owner": owner}) {
				if s.Name == member {
					sets[s.ApplicationName] = s
				}
			}
		}
	}
	return hubs, own
}

// of are the Applications of a member's components in one of the two Argo CDs.
func (a *agents) of(argoCD, member string) map[string]*unstructured.Unstructured {
	out := a.ledger.all(argoCD, "Application")
	maps.DeleteFunc(out, func(_ string, o *unstructured.Unstructured) bool {
		return o.GetLabels()["argosy.dev/cluster"] != member || o.GetLabels()["argosy.dev/component"] == ""
	})
	return out
}

// owned waits until each component of the member has exactly one Application, in its owner's Argo
// CD, where the member owns these groups and has root ApplicationSets of them alone; all
// Applications of both are synced and healthy, nothing happens any more, and what runs has the
// values that were computed (M1).
func (a *agents) owned(t *testing.T, remote ...string) {
	t.Helper()
	a.within(t, 4*patience, "one owner of each component, all synced, and nothing happening", func() string {
		hubs, own := a.parts(t, agent)
		for name, s := range own {
			if !slices.Contains(remote, s.Group) {
				return name + " is still the member's"
			}
		}
		for name, s := range hubs {
			if slices.Contains(remote, s.Group) {
				return name + " is still the hub's"
			}
		}
		if differ := different(hub.Name, hubs, a.of(hub.Name, agent)) + different(engine, own, a.of(engine, agent)); differ != "" {
			return differ
		}
		for _, group := range groups {
			if has, want := a.ledger.get(engine, "ApplicationSet", group) != nil, slices.Contains(remote, group); has != want {
				return fmt.Sprintf("%s has the root ApplicationSet %s: %t", engine, group, has)
			}
		}
		if pending := a.unsettled(func(string) bool { return true }); pending != "" {
			return "hub: " + pending
		}
		for name, app := range a.ledger.all(engine, "Application") {
			if s := state(app); s != good {
				return fmt.Sprintf("%s: %s is %s", engine, name, s)
			}
		}
		if since := time.Since(a.ledger.last()); since < quiet {
			return fmt.Sprintf("the last change was %s ago", since.Round(time.Millisecond))
		}
		return ""
	})
	hubs, own := a.parts(t, agent)
	if len(hubs) == 0 || len(own) == 0 {
		t.Errorf("%d components of the hub and %d of the member; expected some of each", len(hubs), len(own))
	}
	a.sameAnswers(t, own)
	for name, s := range hubs {
		if _, ok := own[name]; ok {
			t.Errorf("%s has two owners", name)
		}
		a.runsWell(t, s)
	}
	for _, s := range own {
		a.runsWell(t, s)
	}
}

// runsWell is runs, for charts that have a stand-in.
func (a *agents) runsWell(t *testing.T, s set) {
	t.Helper()
	if s.Chart.Path == "" { // the charts of this repository make objects of their own
		a.runs(t, s)
	}
}

// different tells which names are in one of the two alone.
func different(where string, want map[string]set, have map[string]*unstructured.Unstructured) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] == nil {
			fmt.Fprintf(&out, "%s has no %s; ", where, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := want[name]; !ok {
			fmt.Fprintf(&out, "%s has %s; ", where, name)
		}
	}
	return out.String()
}

// sameAnswers fails where the member's service answers otherwise than the hub's does for it: both
// have the same facts.
func (a *agents) sameAnswers(t *testing.T, own map[string]set) {
	t.Helper()
	answered := map[string]set{}
	for _, group := range groups {
		for _, s := range a.answerOf(t, a.agent.Plugin, map[string]any{"view": "components", "hub": hub.Name, "group": group, "owner": agent}) {
			answered[s.ApplicationName] = s
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if s, ok := answered[name]; !ok || s.HelmValues != own[name].HelmValues || s.Chart != own[name].Chart {
			t.Errorf("%s: the member's service answers %+v, the hub's %+v", name, s, own[name])
		}
	}
	if len(answered) != len(own) {
		t.Errorf("the member's service has %d components, the hub's has %d for it", len(answered), len(own))
	}
}

// onPages fails unless the hub's matrix has the version and the health of everything that the
// agents' own engines run, by what their services report.
func (a *agents) onPages(t *testing.T) {
	p := startPages(t, a.environment)
	a.within(t, 4*patience, "the matrix has what the agents run", func() string {
		shown := map[string]pageCell{}
		for _, c := range p.cells(t) {
			shown[c.application()] = c
		}
		for _, member := range []string{agent, fluxMember} {
			_, own := a.parts(t, member)
			for name, s := range own {
				if c := shown[name]; !c.isGreen() || c.Running.Version == "" || !strings.HasPrefix(s.Chart.Version, c.Running.Version) {
					return fmt.Sprintf("%s is to run %s; shown: %+v", name, s.Chart.Version, c.Running)
				}
			}
		}
		return ""
	})
}

// credentials: of each Git repository that the member's engine reads there is a credential on the
// member, with what its own secret store holds.
func (a *agents) credentials(t *testing.T) {
	secrets, err := a.agent.Kube.List(t.Context(), kube.Secrets, hub.Namespace, "argocd.argoproj.io/secret-type in (repository, repo-creds)")
	must(t, err)
	found := map[string]map[string]string{} // by URL
	for name, s := range secrets {
		data, _, err := unstructured.NestedStringMap(s.Object, "data")
		must(t, err)
		decoded := map[string]string{}
		for k, v := range data {
			text, err := base64.StdEncoding.DecodeString(v)
			must(t, err)
			decoded[k] = string(text)
		}
		t.Logf("%s is for %s", name, decoded["url"])
		found[decoded["url"]] = decoded
	}
	fleet := a.Git.URL(hub.Repository)
	if c := found[fleet]; c["username"] != "reader" || c["password"] == "" {
		t.Errorf("the member has no credential of %s", fleet)
	}
	if c := found["https://github.com/example-payments"]; c["githubAppID"] != "1" || c["githubAppPrivateKey"] == "" {
		t.Error("the member has no credential of its tenant's repositories (githubSecret)")
	}
	for name, app := range a.ledger.all(engine, "Application") {
		for _, source := range sources(app) {
			if url, _ := source["repoURL"].(string); source["chart"] == nil && found[url] == nil {
				t.Errorf("%s: %s reads %s without a credential", engine, name, url)
			}
		}
	}
}

// sources are an Application's.
func sources(app *unstructured.Unstructured) []map[string]any {
	all, _, _ := unstructured.NestedSlice(app.Object, "spec", "sources")
	if one, ok, _ := unstructured.NestedMap(app.Object, "spec", "source"); ok {
		all = append(all, one)
	}
	var out []map[string]any
	for _, s := range all {
		if m, ok := s.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// outage ends the hub's Argo CD and its service. What is pushed reaches the members with an engine
// of their own all the same.
func (a *agents) outage(t *testing.T) {
	_, own := a.parts(t, fluxMember)
	processes := []*process.Process{a.ArgoCD.Redis, a.ArgoCD.RepoServer, a.ArgoCD.Controller, a.ArgoCD.ApplicationSets, a.Plugin.Process}
	for _, p := range slices.Backward(processes) {
		must(t, p.Kill())
	}
	mark, uids, fluxUIDs := a.ledger.mark(), a.ledger.uids(agent), a.ledger.uids(fluxMember)
	a.write(t, "addons/tenants/payments/clusters/"+agent+"/addons/metrics-server/values.yaml", "podLabels:\n  hub: away\n")
	a.write(t, fluxLevel+"metrics-server/values.yaml", "podLabels:\n  hub: away\n")
	began := a.push(t, "Label metrics-server while the hub is away")
	for member, limit := range map[string]time.Duration{agent: patience, fluxMember: 2 * patience} {
		a.within(t, limit, "the value on the spoke", func() string {
			if v := a.value(member, "metrics-server", "podLabels", "hub"); v != "away" {
				return fmt.Sprintf("on %s it is %v", member, v)
			}
			return ""
		})
	}
	for _, member := range []string{agent, fluxMember} {
		a.timings = append(a.timings, timing{"agents", "hub away: push to the value on " + member, a.changed(t, mark, member, "metrics-server-values").Sub(began)})
	}
	a.fluxAllReady(t, own)
	inGit := func(c change) bool { // each commit is a version of the chart of the member's service, which is in a label of it
		return c.cluster == fluxMember && c.kind == "Deployment" && c.name == fluxService && c.what == "changed"
	}
	ofFlux := func(c change) bool {
		return c.cluster == fluxMember && c.what == "changed" && (c.kind == "HelmRelease" && c.name == "metrics-server-"+fluxMember || c.kind == "ConfigMap" && c.name == "metrics-server-values") || inGit(c)
	}
	a.only(t, mark, func(c change) bool {
		return (c.cluster == agent || c.cluster == engine) && c.what == "changed" && strings.HasPrefix(c.name, "metrics-server") ||
			c.cluster == engine && c.what == "changed" || // the sets' answers hold the revision
			ofFlux(c)
	})
	for _, p := range processes {
		must(t, p.Restart(t.Context()))
	}
	a.owned(t, "addons", "resources")
	a.timed("agents", "hub away: push to the hub back and everything synced", began)
	a.fluxOwned(t)
	a.notRecreated(t, agent, uids)
	a.notRecreated(t, fluxMember, fluxUIDs)
	a.only(t, mark, func(c change) bool {
		return c.what == "changed" && c.cluster != neighbour && (c.cluster != fluxMember || ofFlux(c))
	})
	a.expected(t)
	a.checkPlan(t)
}

// changed is when an object of a cluster was changed first after a mark.
func (a *agents) changed(t *testing.T, mark int, cluster, name string) time.Time {
	t.Helper()
	for _, c := range a.ledger.since(mark) {
		if c.cluster == cluster && c.name == name && c.what == "changed" {
			return c.at
		}
	}
	t.Fatalf("%s on %s has not changed", name, cluster)
	return time.Time{}
}

// undeleted fails for everything that was deleted since a mark, but for what is allowed.
func (a *agents) undeleted(t *testing.T, mark int, allowed func(change) bool) {
	t.Helper()
	a.only(t, mark, func(c change) bool { return c.what != "deleted" || allowed(c) })
}

// handover notes for how long, at the most, an Application was in both Argo CDs or in none.
func (a *agents) handover(t *testing.T, mark int, turn, from, to string, moving map[string]*unstructured.Unstructured) {
	t.Helper()
	if len(moving) == 0 {
		t.Error("no Application has changed hands")
	}
	var both, none time.Duration
	for name := range moving {
		var left, came time.Time
		for _, c := range a.ledger.since(mark) {
			switch {
			case c.kind != "Application" || c.name != name:
			case c.cluster == from && c.what == "deleted":
				left = c.at
			case c.cluster == to && c.what == "added":
				came = c.at
			}
		}
		both, none = max(both, left.Sub(came)), max(none, came.Sub(left))
	}
	t.Logf("%d Applications went %s: at most %s in both Argo CDs, %s in none", len(moving), turn, both.Round(time.Millisecond), none.Round(time.Millisecond))
	a.timings = append(a.timings,
		timing{"agents", "flip " + turn + ": longest with two owners", both},
		timing{"agents", "flip " + turn + ": longest with none", none})
}
