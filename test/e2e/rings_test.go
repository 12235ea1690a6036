package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

const (
	ringsPolicy = "fleet/rollouts/e2e.yaml"
	ringsText   = `apiVersion: argosy.dev/v1alpha1
kind: Rollout
scope: {components: [addons/metrics-server]}
rings:
  - name: canary
    selector: {matchLabels: {environment: dev}}
    soak: 3s
    onFailure: back
  - name: prod
    selector: {matchExpressions: [{key: environment, operator: In, values: [staging, prod]}]}
`
	ringsComponent = "metrics-server"
	ringsValues    = "addons/defaults/addons/metrics-server/values.yaml"

	// ringsCreation is a policy of its own for the component that the canary lacks at first.
	ringsCreation = "fleet/rollouts/e2e-create.yaml"
	ringsCreated  = "kyverno"
	ringsCanary   = "payments-dev-eu-1"
	ringsProd     = "retail-prod-eu-1"

	// dead is another member of the first ring.
	ringsDead = "retail-dev-eu-1"

	// stale is how long everything is green from before while nobody looks: many soaks, and many
	// looks of the service.
	stale = 30 * time.Second
)

// ringStatus is what the service says of a ring.
type ringStatus struct {
	Name, Revision, Rejection, Text string
	Passed, Newest                  bool
}

// heldByHand holds a member of the first ring by a file: the rings go on, it keeps its value, and
// its Application names the reason. Without the file, it takes what its ring has. (HOLDS.md 10, 17)
func heldByHand(t *testing.T, e *environment) {
	const file = "fleet/holds/e2e.yaml"
	until := time.Now().AddDate(0, 0, 7).Format(time.DateOnly)
	e.write(t, file, "apiVersion: argosy.dev/v1alpha1\nkind: Hold\nclusters: ["+ringsDead+"]\ncomponents: [addons/"+ringsComponent+"]\nowner: e2e\nreason: a test\nuntil: "+until+"\n")
	e.replace(t, ringsValues, "ring: three", "ring: four")
	began := e.push(t, "Hold a component on a cluster, and change its value everywhere")
	e.arrives(t, ringsComponent, "four", ringsCanary, ringsProd, hub.Spare)
	e.timed("rings", "push to the last ring, one member held", began)
	e.eventually(t, "the reason on the Application", func() string {
		if reason := e.app(ringsComponent + "-" + ringsDead).GetAnnotations()["argosy.dev/hold"]; reason != "manual" {
			return fmt.Sprintf("argosy.dev/hold is %q", reason)
		}
		return ""
	})
	if have := e.value(ringsDead, ringsComponent, "podLabels", "ring"); have != "three" {
		t.Errorf("%s is held, and has %v", ringsDead, have)
	}
	must(t, e.Fleet.Remove(file))
	began = e.push(t, "No hold any more")
	e.arrives(t, ringsComponent, "four", ringsDead)
	e.timed("rings", "push without the hold to the value", began)
	e.eventually(t, "an Application without the reason", func() string {
		if reason, is := e.app(ringsComponent + "-" + ringsDead).GetAnnotations()["argosy.dev/hold"]; is {
			return "argosy.dev/hold is " + reason
		}
		return ""
	})
}

// rings sends changes through two rings of a policy: no ring advances on health from before the
// change, a member whose API server is dead blocks nobody within the budget, what is deleted in a
// ring that waits is healed, and the page's canary that fails goes back. (G7, G8)
func rings(t *testing.T, e *environment) {
	plain := e.read(t, ringsValues)
	off := "addons/tenants/payments/clusters/" + ringsCanary + "/application-sets/addons.yaml"
	createdOfProd := "addons/tenants/retail/environments/prod/addons/" + ringsCreated + "/values.yaml"
	e.write(t, off, "components:\n  kyverno:\n    enabled: false\n")
	e.write(t, ringsPolicy, ringsText)
	e.write(t, ringsCreation, strings.Replace(ringsText, ringsComponent, ringsCreated, 1))
	e.push(t, "Roll out in rings, and switch kyverno off on the canary")
	e.eventually(t, "it is gone", func() string { return present(e, "kyverno-"+ringsCanary) })
	e.haveNewest(t)

	t.Run("old health", func(t *testing.T) {
		e.behindItsBack(t, "A value of all clusters, a component of the canary, and a value of it in prod", func() {
			e.replace(t, ringsValues, "replicas: 1\n", "replicas: 1\npodLabels:\n  ring: one\n")
			must(t, e.Fleet.Remove(off))
			e.write(t, createdOfProd, "podLabels:\n  ring: one\n")
		}, func() string {
			return e.withoutDigestOf(t, ringsComponent, ringsCanary) + missing(e.app(ringsCreated+"-"+ringsCanary))
		})
		e.arrives(t, ringsComponent, "one", ringsCanary, ringsProd, hub.Spare)
		e.arrives(t, ringsCreated, "one", ringsProd)
	})
	must(t, e.Fleet.Remove(ringsCreation))
	must(t, e.Fleet.Remove(createdOfProd))

	t.Run("a member whose API server is dead", func(t *testing.T) {
		e.write(t, ringsPolicy, strings.Replace(ringsText, "soak: 3s", "soak: 3s\n    maxUnavailable: 1", 1))
		e.push(t, "One cluster may be unavailable")
		e.haveNewest(t)
		server := e.Spokes[ringsDead].APIServer.Pid()
		goOn := func() { _ = syscall.Kill(server, syscall.SIGCONT) }
		t.Cleanup(goOn)
		must(t, syscall.Kill(server, syscall.SIGSTOP))
		e.replace(t, ringsValues, "ring: one", "ring: three")
		began := e.push(t, "A value of all clusters while one is dead")
		e.arrives(t, ringsComponent, "three", ringsCanary, ringsProd, hub.Spare)
		e.timed("rings", "push to the last ring, one member dead", began)
		if have := e.value(ringsDead, ringsComponent, "podLabels", "ring"); have != "one" {
			t.Errorf("%s was to be dead, and has %v", ringsDead, have)
		}
		began = time.Now()
		goOn()
		// With server-side apply, Argo CD takes a comparison that the dead API server ended for one
		// without differences, until somebody asks for another (v3.6.1, controller/state.go:
		// useDiffCache).
		e.eventually(t, "the value", func() string {
			have := e.value(ringsDead, ringsComponent, "podLabels", "ring")
			if have == "three" {
				return ""
			}
			if err := e.ArgoCD.Refresh(t.Context(), ringsComponent+"-"+ringsDead, false); err != nil {
				return err.Error()
			}
			return fmt.Sprintf("%s has %v", ringsDead, have)
		})
		e.timed("rings", "API server back to up to date", began)
	})
	e.haveNewest(t)

	t.Run("a manual hold", func(t *testing.T) { heldByHand(t, e) })

	must(t, e.Fleet.Remove(ringsPolicy))
	e.write(t, ringsValues, plain)
	e.push(t, "No rings")
	e.settle(t)
	t.Run("page", func(t *testing.T) { ringsPage(t, e) })
}

// ringsPage goes through the page's commands on a hub without a policy: a change takes both rings
// in order, and a canary that does not become healthy goes back while the ring after it has seen
// nothing. (G7)
func ringsPage(t *testing.T, e *environment) {
	page := e.walkOf(t, "docs/how-to/roll-out-in-rings.md", "Try it on `make hub`",
		"FLEET="+e.Git.URL(hub.Repository), "SERVICE="+e.Plugin.URL, "TOKEN="+e.Plugin.TokenFile())
	page.next(t)
	e.follow(t)
	e.haveNewest(t)

	if printed, _ := page.next(t); !strings.Contains(printed, "tried goes in order: ring canary: ") || !strings.Contains(printed, "; then ring rest: ") {
		t.Errorf("the plan is\n%s", printed)
	}
	began, revision := e.follow(t), e.head(t)
	e.inRings(t, "the canary takes the change", func(ring int, is ringStatus) bool { return ring > 0 || is.Revision == revision })
	if printed, _ := page.next(t); !strings.Contains(printed, "waits for the ring before it") {
		t.Errorf("the status is\n%s", printed)
	}
	e.haveNewest(t)
	e.timed("rings", "push to both rings, with a soak of 10 s", began)
	for _, cluster := range []string{ringsCanary, ringsProd} {
		if have := e.value(cluster, ringsComponent, "podLabels", "tried"); have != "true" {
			t.Errorf("%s has the label %v", cluster, have)
		}
	}

	mark, versions, digest := e.ledger.mark(), e.versions(t), e.digestOf(ringsComponent, ringsCanary)
	page.next(t)
	e.follow(t)
	e.eventually(t, "the canary has no place for its pods", func() string {
		if e.digestOf(ringsComponent, ringsCanary) == digest {
			return "not yet"
		}
		return ""
	})
	e.heals(t)
	var noticed time.Time
	e.eventually(t, "the ring goes back", func() string {
		noticed = time.Now()
		if canary, _ := e.ringsNow(t); canary.Rejection == "" {
			return canary.Text
		}
		return ""
	})
	e.eventually(t, "the canary is on its last good revision", func() string {
		if have := e.digestOf(ringsComponent, ringsCanary); have != digest {
			return "it has " + have
		}
		return ""
	})
	if took := time.Since(noticed); took > 30*time.Second {
		t.Errorf("the canary is on its last good revision after %s; expected 30s", took)
	}
	e.timed("rings", "failure noticed to last good revision", noticed)
	if printed, _ := page.next(t); strings.Count(printed, revision[:10]) != 2 {
		t.Errorf("the status is\n%s\nexpected both rings on %s", printed, revision)
	}
	for name, version := range e.versions(t) {
		if before, there := versions[name]; there && before != version {
			t.Errorf("%s has changed in a ring that has not taken the commit", name)
		}
	}
	for _, c := range e.ledger.since(mark) {
		if c.cluster == hub.Name && (strings.HasSuffix(c.name, "-"+ringsProd) || strings.HasSuffix(c.name, "-"+hub.Spare)) {
			t.Errorf("%s", c)
		}
	}

	page.next(t)
	e.follow(t)
	e.haveNewest(t)
	page.next(t)
	e.follow(t)
	e.settle(t)
}

// ringsNow is what the service says of both rings of the first policy.
func (e *environment) ringsNow(t *testing.T) (canary, prod ringStatus) {
	t.Helper()
	all := e.rollouts(t)
	if len(all) == 0 || len(all[0]) != 2 {
		return ringStatus{Text: fmt.Sprintf("the rollouts are %v", all)}, ringStatus{}
	}
	return all[0][0], all[0][1]
}

// rollouts are the rings of all policies, by name of the policy; none of one with a problem.
func (e *environment) rollouts(t *testing.T) (out [][]ringStatus) {
	t.Helper()
	var status struct {
		Rollouts []struct {
			Problem string
			InForce *struct{ Text string }
			Rings   []ringStatus
		}
	}
	e.ask(t, e.Plugin, http.MethodGet, "/api/v1/rollouts", nil, &status)
	for _, x := range status.Rollouts {
		if x.Problem != "" {
			x.Rings = []ringStatus{{Text: x.Problem}}
		}
		if x.InForce != nil { // until then an earlier policy counts
			x.Rings = []ringStatus{{Text: x.InForce.Text}}
		}
		out = append(out, x.Rings)
	}
	return out
}

// inRings waits for all rings of all policies.
func (e *environment) inRings(t *testing.T, what string, ok func(ring int, is ringStatus) bool) {
	t.Helper()
	e.eventually(t, what, func() string {
		all := e.rollouts(t)
		for _, rings := range all {
			for i, is := range rings {
				if !ok(i, is) {
					return fmt.Sprintf("%+v", all)
				}
			}
		}
		if len(all) == 0 {
			return "there is no rollout"
		}
		return ""
	})
}

// digestOf is the digest that an Application carries.
func (e *environment) digestOf(component, cluster string) string {
	app := e.app(component + "-" + cluster)
	if app == nil {
		return ""
	}
	return app.GetAnnotations()["argosy.dev/digest"]
}

// withoutDigestOf says that an Application does not carry the digest of the service's response.
func (e *environment) withoutDigestOf(t *testing.T, component, cluster string) string {
	t.Helper()
	for _, s := range e.components(t, "addons") {
		if s.Component == component && s.Name == cluster && s.Digest != e.digestOf(component, cluster) {
			return s.ApplicationName + " has not taken its response"
		}
	}
	return ""
}

// behindItsBack pushes a change while Argo CD's application controller stands still. The canary's
// Applications have the change when taken says nothing more, and everything is green from before:
// prod must not get it, of any policy. Then the controller goes on, and the rings with it.
func (e *environment) behindItsBack(t *testing.T, what string, change func(), taken func() string) {
	t.Helper()
	before := e.rollouts(t)
	mark := e.ledger.mark()
	change()
	e.standStill(t, func() {
		e.push(t, what)
		began, revision := time.Now(), e.head(t)
		e.inRings(t, "the canary takes the change", func(ring int, is ringStatus) bool { return ring > 0 || is.Revision == revision })
		e.eventually(t, "the canary's Applications have it", taken)
		for time.Since(began) < stale {
			next := e.ledger.next()
			for i, rings := range e.rollouts(t) {
				if prod := rings[len(rings)-1]; prod.Revision != before[i][1].Revision {
					t.Fatalf("%s: prod advances on health from before: %+v", what, prod)
				}
			}
			select {
			case <-next:
			case <-time.After(time.Second): // as long as it is to be watched
			case <-t.Context().Done():
				t.Fatal(t.Context().Err())
			}
		}
		for _, c := range e.ledger.since(mark) {
			if strings.HasSuffix(c.name, "-"+ringsProd) || c.cluster == ringsProd {
				t.Errorf("while the canary waited: %s", c)
			}
		}
	})
	e.haveNewest(t)
}

// head is the newest commit of the fleet's clone.
func (e *environment) head(t *testing.T) string {
	t.Helper()
	head, err := exec.CommandContext(t.Context(), "git", "-C", e.Fleet.Path(), "rev-parse", "HEAD").Output()
	must(t, err)
	return strings.TrimSpace(string(head))
}

// haveNewest waits until all rings have the newest revision, and what they have is healthy.
func (e *environment) haveNewest(t *testing.T) {
	t.Helper()
	revision := e.head(t)
	e.inRings(t, "all rings have "+revision, func(_ int, is ringStatus) bool { return is.Revision == revision && is.Passed })
}

// arrives waits until a component has a value on clusters.
func (e *environment) arrives(t *testing.T, component, value string, clusters ...string) {
	t.Helper()
	e.eventually(t, "the value", func() string {
		for _, cluster := range clusters {
			if have := e.value(cluster, component, "podLabels", "ring"); have != value {
				return fmt.Sprintf("%s has %v", cluster, have)
			}
		}
		return ""
	})
}

// heals deletes two objects of a cluster in the last ring at once, one of a component that waits in
// a rollout, and one of a component that no policy covers. Argo CD restores the first as soon as
// the second: both within the same time from the same moment, as healing asks nothing of the rings.
func (e *environment) heals(t *testing.T) {
	t.Helper()
	began := time.Now()
	uids := map[string]types.UID{}
	for _, component := range []string{ringsComponent, "cert-manager"} {
		object := e.ledger.get(ringsProd, "ConfigMap", component+"-values")
		if object == nil {
			t.Fatalf("%s has no %s", ringsProd, component)
		}
		uids[component] = object.GetUID()
		must(t, e.Spoke[ringsProd].Delete(t.Context(), kube.ConfigMaps, object.GetNamespace(), object.GetName(), metav1.DeletePropagationBackground))
	}
	took := map[string]time.Duration{}
	e.eventually(t, "what was deleted is restored", func() string {
		for component, uid := range uids {
			now := e.ledger.get(ringsProd, "ConfigMap", component+"-values")
			switch {
			case now == nil || now.GetUID() == uid:
				return component + " is not restored"
			case took[component] == 0:
				took[component] = time.Since(began)
			}
		}
		return ""
	})
	e.timings = append(e.timings, timing{"rings", "object restored in a ring that waits", took[ringsComponent]},
		timing{"rings", "object restored without a rollout", took["cert-manager"]})
	if with, without := took[ringsComponent], took["cert-manager"]; with > 2*without+10*time.Second {
		t.Errorf("an object of a ring that waits is restored after %s, one without a rollout after %s", with, without)
	}
}

// versions are the resource versions of what runs in the last ring, but for what heals replaces.
func (e *environment) versions(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, cluster := range []string{ringsProd, hub.Spare} {
		for _, kind := range []string{"ConfigMap", "Deployment"} {
			for name, o := range e.ledger.all(cluster, kind) {
				if name != ringsComponent+"-values" && name != "cert-manager-values" {
					out[cluster+"/"+kind+"/"+name] = o.GetResourceVersion()
				}
			}
		}
	}
	return out
}
