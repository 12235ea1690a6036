package e2e

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

const (
	// second is a component of both agents, whose chart is in a second Git repository.
	second         = "second"
	secondPassword = "of the agents"

	secondRepository = "platform/second"
)

// secondRepository gives both agents a chart in a second Git repository, which asks for
// credentials. Each engine reads it with what its cluster got: Argo CD with what the member's
// External Secrets pulls, hence not with a wrong password; Flux with what the hub pushes. What both
// deploy stays for the steps that follow.
func (a *agents) secondRepository(t *testing.T) {
	url := a.serveSecond(t)
	credentials := func(key string) string {
		return fmt.Sprintf("  %s: {type: http, kind: repository, url: %q, secretName: %s}\n", second, url, key)
	}
	right, wrong := `{"username": "reader", "password": "`+secondPassword+`"}`, `{"username": "reader", "password": "of somebody else"}`
	must(t, a.agent.Secrets.Put(t.Context(), "github/payments/"+second, wrong))
	must(t, a.Secrets.Put(t.Context(), "github/analytics/"+second, right))
	must(t, a.Secrets.Put(t.Context(), "github/payments/"+second, right)) // charts/fleet-secret brings it to the hub, too
	values := func(member string) string { return "fleet/registration/" + member + "/fleet/fleet-secret/values.yaml" }
	a.write(t, values(agent), a.read(t, values(agent))+"gitCredentials:\n"+credentials("github/payments/"+second))
	a.write(t, values(fluxMember), a.read(t, values(fluxMember))+credentials("github/analytics/"+second)) // below the fleet's
	// Of groups that do not change hands in the steps that follow. Argo CD has ApplicationSets of
	// what the group's catalog has.
	const catalog = "charts/application-sets/catalogs/resources.yaml"
	entry := fmt.Sprintf("chart: {repoURL: %q, path: chart, version: %s}, namespace: default}\n", url, fleetrepo.Main)
	a.write(t, catalog, a.read(t, catalog)+"\n  "+second+": {enabled: false, "+entry)
	a.write(t, "resources/tenants/payments/clusters/"+agent+"/application-sets/resources.yaml", second+": {enabled: true}\n")
	a.write(t, "addons/tenants/analytics/clusters/"+fluxMember+"/application-sets/addons.yaml", second+": {enabled: true, "+entry)
	mark := a.ledger.mark()
	began := a.push(t, "A chart of a second repository for both agents")

	secret := agent + "-git-" + second
	a.password(t, a.agent.Kube, hub.Namespace, secret, "of somebody else")
	a.eventually(t, "Argo CD reads nothing with a wrong password", func() string {
		return lacks(a.ledger.get(engine, "Application", second+"-"+agent), "authentication required")
	})
	a.password(t, a.flux.Kube, flux.Namespace, fluxMember+"-git-"+second, secondPassword)
	a.within(t, 2*patience, "Flux has read it", func() string {
		o := a.ledger.get(fluxMember, "HelmRelease", second+"-"+fluxMember)
		if o == nil {
			return "it has no HelmRelease"
		}
		return a.secondNote(t, a.flux.Kube) + fluxReady(o)
	})
	a.timed("agents", "push to a chart of a private repository on "+fluxMember, began)
	if a.secondNote(t, a.agent.Kube) == "" {
		t.Errorf("%s has the chart with a wrong password", agent)
	}
	must(t, a.agent.Secrets.Put(t.Context(), "github/payments/"+second, right))
	must(t, a.agent.Secrets.Sync(t.Context(), hub.Namespace, secret))
	a.password(t, a.agent.Kube, hub.Namespace, secret, secondPassword)
	must(t, a.agent.ArgoCD.Refresh(t.Context(), second+"-"+agent, true))
	a.within(t, 2*patience, "Argo CD has read it", func() string {
		if s := state(a.ledger.get(engine, "Application", second+"-"+agent)); s != good {
			return s
		}
		return a.secondNote(t, a.agent.Kube)
	})
	a.timed("agents", "push to a chart of a private repository on "+agent+", by way of a wrong password", began)
	a.owned(t, "addons", "resources")
	a.fluxOwned(t)
	a.undeleted(t, mark, func(change) bool { return false })
}

// serveSecond serves the repository, which asks everybody for credentials, and returns its address
// without them.
func (a *agents) serveSecond(t *testing.T) string {
	t.Helper()
	const name = secondRepository
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	_, err = a.Git.Create(name)
	must(t, err)
	clone, err := a.Git.Private(name, "reader", secondPassword)
	must(t, err)
	repo, err := fleetrepo.NewTeam(t.Context(), checkout, "orders", clone, filepath.Join(t.TempDir(), second))
	must(t, err)
	must(t, repo.Write("chart/Chart.yaml", "{apiVersion: v2, name: second, version: 0.1.0}\n"))
	must(t, repo.Write("chart/templates/note.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: second-note}}\n"))
	_, err = repo.Commit(t.Context(), "A chart")
	must(t, err)
	return a.secondURL()
}

func (a *agents) secondURL() string { return strings.TrimSuffix(a.Git.URL(secondRepository), ".git") }

// secondNote says whether a cluster lacks what the chart of the second repository makes.
func (a *agents) secondNote(t *testing.T, cluster *kube.Client) string {
	t.Helper()
	note, err := cluster.Get(t.Context(), kube.ConfigMaps, "default", "second-note")
	must(t, err)
	if note == nil {
		return "it is not deployed; "
	}
	return ""
}

// password waits until a cluster's Secret has a password.
func (a *agents) password(t *testing.T, cluster *kube.Client, namespace, name, want string) {
	t.Helper()
	a.eventually(t, "Secret "+name, func() string {
		secret, err := cluster.Get(t.Context(), kube.Secrets, namespace, name)
		must(t, err)
		if secret == nil {
			return "it is not there"
		}
		encoded, _, _ := unstructured.NestedString(secret.Object, "data", "password")
		if got, err := base64.StdEncoding.DecodeString(encoded); err != nil || string(got) != want {
			return fmt.Sprintf("its password is %q (%v)", got, err)
		}
		return ""
	})
}
