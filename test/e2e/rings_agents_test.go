package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
)

// ringsOfEngines has a member of the hub's Argo CD, a Flux agent and an Argo CD agent in one order.
const ringsOfEngines = `apiVersion: argosy.dev/v1alpha1
kind: Rollout
scope: {components: [addons/metrics-server]}
agents: true
rings:
  - {name: hub, selector: {matchLabels: {cluster: ` + neighbour + `}}, soak: 1s}
  - {name: flux, selector: {matchLabels: {cluster: ` + fluxMember + `}}, soak: 1s}
  - {name: argocd, selector: {matchLabels: {cluster: ` + agent + `}}}
`

// staleFlux is how long Flux has a change that it does not carry out, while its objects are ready
// from before: several soaks, and several looks of both services.
const staleFlux = 12 * time.Second

// rings sends a change through one policy over a member that the hub deploys to, an agent with Flux
// and an agent with Argo CD: in that order, and past Flux only on what Flux has carried out of the
// change, whatever it called ready before. (G7, G8)
func (a *agents) rings(t *testing.T) {
	plain := a.read(t, ringsValues)
	a.write(t, ringsPolicy, ringsOfEngines)
	began := a.push(t, "Roll out in rings over all engines")
	a.haveNewest(t)
	a.timed("agents", "rings: push of the policy to all rings passed", began)

	mark := a.ledger.mark()
	has := func(member string) string {
		if v := a.value(member, ringsComponent, "podLabels", "ring"); v != "one" {
			return fmt.Sprintf("on %s it is %v", member, v)
		}
		return ""
	}
	helm := a.flux.Flux.Helm.Pid()
	goOn := func() { _ = syscall.Kill(helm, syscall.SIGCONT) }
	t.Cleanup(goOn)
	must(t, syscall.Kill(helm, syscall.SIGSTOP))
	a.replace(t, ringsValues, "replicas: 1\n", "replicas: 1\npodLabels:\n  ring: one\n")
	began = a.push(t, "A value of all members while Flux's helm-controller stands still")
	before := a.digestOfRelease()
	a.eventually(t, "the member of the hub has it", func() string { return has(neighbour) })
	a.within(t, 2*patience, "the HelmRelease of the Flux agent has it", func() string {
		if a.digestOfRelease() == before {
			return "not yet"
		}
		return ""
	})
	written := time.Now()
	if ready := fluxCondition(a.ledger.get(fluxMember, "HelmRelease", ringsComponent+"-"+fluxMember), "Ready"); ready["status"] != "True" {
		t.Errorf("the HelmRelease is %v; expected it to be ready, from before", ready)
	}
	for time.Since(written) < staleFlux {
		next := a.ledger.next()
		if rings := a.rollouts(t)[0]; rings[1].Passed && rings[1].Revision == a.head(t) || rings[2].Revision == a.head(t) {
			t.Fatalf("the agent with Argo CD is next on health from before: %+v", rings)
		}
		select {
		case <-next:
		case <-time.After(time.Second): // as long as it is to be watched
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
	goOn()
	resumed := time.Now()
	a.within(t, 2*patience, "the value on all members", func() string {
		return strings.Join(slices.DeleteFunc([]string{has(fluxMember), has(agent)}, func(s string) bool { return s == "" }), ", ")
	})
	a.timed("agents", "rings: Flux goes on, to the last ring", resumed)
	var last time.Time
	for _, member := range []string{neighbour, fluxMember, agent} {
		at := a.changed(t, mark, member, ringsComponent+"-values")
		if at.Before(last) {
			t.Errorf("%s changed at %s, before the ring before it", member, at.Format(time.TimeOnly))
		}
		last = at
		a.timings = append(a.timings, timing{"agents", "rings: push to " + member, at.Sub(began)})
	}
	a.haveNewest(t)
	a.only(t, mark, func(c change) bool {
		return c.what == "changed" && (strings.HasPrefix(c.name, ringsComponent) || strings.HasPrefix(c.name, "grant-addons-") ||
			c.cluster == engine || c.cluster == hub.Name && c.kind == "ApplicationSet" || c.cluster == fluxMember && c.name == fluxService)
	})

	must(t, a.Fleet.Remove(ringsPolicy))
	a.write(t, ringsValues, plain)
	a.push(t, "No rings")
	a.within(t, 2*patience, "all members without the value", func() string {
		for _, member := range []string{neighbour, fluxMember, agent} {
			if v := a.value(member, ringsComponent, "podLabels", "ring"); v != nil {
				return fmt.Sprintf("on %s it is %v", member, v)
			}
		}
		return ""
	})
	a.owned(t, "addons", "resources")
	a.fluxOwned(t)
	a.expected(t)
}

// digestOfRelease is the digest that the Flux agent's HelmRelease carries.
func (a *agents) digestOfRelease() string {
	o := a.ledger.get(fluxMember, "HelmRelease", ringsComponent+"-"+fluxMember)
	if o == nil {
		return ""
	}
	return o.GetAnnotations()["argosy.dev/digest"]
}
