package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/externalsecrets"
	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plancheck"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
	"github.com/argosy-hub/argosy/test/e2e/internal/services"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

const (
	// fluxHub is the hub of the fleet that Flux's engines are of.
	fluxHub = "hub-eu"
	// fluxService is the release of charts/generator-plugin, and what its objects are called.
	fluxService = "generator-plugin"
	// fluxPatience is how long anything may take on two busy cores.
	fluxPatience = 3 * time.Minute
)

// fluxEngine is a cluster with Flux, the other clusters that it deploys to, and what it reads.
// There is no Argo CD.
type fluxEngine struct {
	*testcluster.Cluster
	others    []*testcluster.Cluster
	owner     string // whose engine it is, as the service calls it
	flux      *flux.Flux
	git       *gitserver.Server
	charts    *chartserver.Server
	fleet     *fleetrepo.Repo
	services  *services.Proxy
	secrets   *externalsecrets.Operator // of a hub
	plugin    *plugin.Plugin
	ledger    *ledger
	planCheck plancheck.Checker
	spans     []string
	checkout  string
}

// startFlux starts Git, charts, clusters of these names, and Flux on the first of them. The fleet
// has these members; more is built besides.
func startFlux(t *testing.T, owner string, clusters, members []string, more ...string) *fluxEngine {
	t.Helper()
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	began := time.Now()
	// Helm is built with Argo CD's component.
	all := testcluster.StartNamed(t, clusters, slices.Concat(flux.Components(), []string{"argocd-" + argoCD()}, more)...)
	m := &fluxEngine{Cluster: all[0], others: all[1:], owner: owner, ledger: newLedger(), checkout: checkout}
	charts, err := fleetrepo.Charts(t.Context(), checkout)
	must(t, err)
	m.charts, err = chartserver.Start(t.Context(), charts)
	must(t, err)
	must(t, m.charts.Define("flux2", flux.Definitions(m.Binaries)...)) // for members whose Flux the hub installs
	m.git, err = gitserver.Start(t.Context(), filepath.Join(m.Dir, "git"))
	must(t, err)
	_, err = m.git.Create("fleet")
	must(t, err)
	m.fleet, err = fleetrepo.New(t.Context(), fleetrepo.Options{
		Source: checkout, Remote: m.git.URL("fleet"), ChartRepo: m.charts.URL(), Hub: fluxHub, Members: members,
		Dir: filepath.Join(m.Dir, "fleet"),
	})
	must(t, err)
	m.services, err = services.Start(t.Context(), m.Client)
	must(t, err)
	t.Cleanup(func() { _ = m.services.Close() })
	m.flux, err = flux.Start(t.Context(), flux.Options{
		Binaries: m.Binaries, Group: m.Group, Cluster: m.Cluster.Cluster, Client: m.Client, Dir: filepath.Join(m.Dir, "flux"),
		HTTPProxy: m.services.URL,
	})
	must(t, err)
	m.planCheck = plancheck.Checker{Argosy: argosy, Repo: m.fleet.Path(), Hub: fluxHub, Engines: []plancheck.Engine{fluxOf(m.owner, m.Client)}, Facts: m.known}
	m.planCheck.Engines[0].Applied = m.applied
	m.timed("clusters, Flux, Git and charts running", began)
	return m
}

// params is the answer to a question, with the facts that Terraform writes onto cluster Secrets.
func (m *fluxEngine) params(t *testing.T, into any, question ...string) {
	t.Helper()
	text := m.command(t, filepath.Join(m.checkout, "bin", "argosy"), append([]string{
		"params", "--repo", m.fleet.Path(), "--hub", fluxHub, "--facts", m.facts(),
	}, question...)...)
	answer := struct {
		Output struct{ Parameters any }
	}{}
	answer.Output.Parameters = into
	must(t, json.Unmarshal(text, &answer))
}

// known are the facts of the clusters.
func (m *fluxEngine) known(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(m.facts())
	must(t, err)
	return text
}

func (m *fluxEngine) facts() string { return filepath.Join(m.checkout, "examples", "facts.yaml") }

// agentSet is the hub's answer for the member (view agents), as its Argo CD would have it.
func (m *fluxEngine) agentSet(t *testing.T) (helmValues string, components []set) {
	t.Helper()
	var answer []struct {
		Name, HelmValues string
		Components       []set
	}
	m.params(t, &answer, "--view", "agents")
	for _, s := range answer {
		if s.Name == m.owner {
			return s.HelmValues, s.Components
		}
	}
	t.Fatalf("the hub's answer has no %s", m.owner)
	return "", nil
}

// answered are the components that the engine runs, by the name of Application and HelmRelease: for
// a member, what the hub says of it.
func (m *fluxEngine) answered(t *testing.T) map[string]set {
	t.Helper()
	var components []set
	if m.owner == hubOwner {
		for _, group := range groups {
			var more []set
			m.params(t, &more, "--view", "components", "--group", group, "--owner", m.owner)
			components = append(components, more...)
		}
	} else {
		_, components = m.agentSet(t)
	}
	out := map[string]set{}
	for _, c := range components {
		out[c.ApplicationName] = c
	}
	return out
}

// deliver applies charts/agent-flux as the hub does (fleet/bootstrap/hub-eu/agents-flux.yaml), but
// that what would be asked for each minute is asked for every 5 seconds. given are the values of
// charts/generator-plugin.
func (m *fluxEngine) deliver(t *testing.T, given any) {
	t.Helper()
	values, err := yaml.Marshal(map[string]any{
		"plugin": map[string]any{
			"values":      given,
			"chart":       map[string]any{"url": m.git.URL("fleet"), "ref": map[string]any{"branch": fleetrepo.Main}},
			"extraValues": map[string]any{"replicas": 1, "drainDelay": "0s", "logFormat": "text", "source": map[string]any{"git": map[string]any{"interval": "5s"}}},
		},
		"artifact": map[string]any{"interval": "5s"},
	})
	must(t, err)
	file := filepath.Join(m.Dir, "agent-flux.yaml")
	must(t, os.WriteFile(file, values, 0o600))
	version, err := m.Client.Typed.Discovery().ServerVersion()
	must(t, err)
	manifests := m.command(t, m.Binaries.Path("helm"), "template", "agent-flux", filepath.Join(m.fleet.Path(), "charts", "agent-flux"),
		"--namespace", flux.Namespace, "--values", file, "--kube-version", version.GitVersion)
	must(t, m.Client.Apply(t.Context(), flux.Namespace, manifests))
}

// startService starts the program of the Deployment that Flux makes of charts/generator-plugin; its
// Service leads to it.
func (m *fluxEngine) startService(t *testing.T) {
	t.Helper()
	m.eventually(t, "HelmRelease "+fluxService+" ready", func() string { return fluxReady(m.get(t, flux.HelmReleases, fluxService)) })
	ctx, cancel := context.WithTimeout(t.Context(), fluxPatience)
	defer cancel()
	var err error
	m.plugin, err = plugin.Delivered(ctx, plugin.Options{
		Name: m.Name + "-" + fluxService, Binary: filepath.Join(m.checkout, "bin", fluxService), Group: m.Group,
		Cluster: m.Cluster.Cluster, Client: m.Client, Dir: filepath.Join(m.Dir, "service-"+m.owner), Namespace: flux.Namespace,
	})
	must(t, err)
	m.services.Serve(m.plugin.URL, m.plugin.Labels())
}

// watch has the ledger note what happens to HelmReleases and to what their charts made. But the
// service's own: as its chart is in the fleet's repository, each commit is a version of it, which
// is in a label.
func (m *fluxEngine) watch(t *testing.T) {
	t.Helper()
	counts := func(o *unstructured.Unstructured) bool { return isDeployed(o) && o.GetName() != fluxService }
	m.ledger.watch(t.Context(), t, m.Name, m.Client, counts, flux.HelmReleases)
	for _, c := range append([]*testcluster.Cluster{m.Cluster}, m.others...) {
		resources := []schema.GroupVersionResource{kube.ConfigMaps, kube.Deployments, storageClasses}
		if c != m.Cluster || len(m.others) == 0 { // a hub has no Karpenter
			resources = append(resources, nodePools)
		}
		m.ledger.watch(t.Context(), t, c.Name, c.Client, counts, resources...)
	}
}

// allReady waits until the HelmReleases of all components are ready. One whose chart needs
// another's definitions fails until those are there, and is tried again after half a minute: this
// has it tried again as soon as the others are ready.
func (m *fluxEngine) allReady(t *testing.T, components map[string]set) {
	t.Helper()
	asked := false
	m.eventually(t, "all HelmReleases ready", func() string {
		var pending, failed []string
		for name, c := range components {
			o := m.get(t, fluxKind(c), name)
			state := fluxReady(o)
			if state == "" {
				continue
			}
			pending = append(pending, name+": "+state)
			if strings.HasPrefix(state, "InstallFailed") {
				failed = append(failed, name)
			}
		}
		if !asked && len(failed) > 0 && len(failed) == len(pending) {
			asked = true
			t.Logf("tried again: %v", pending)
			for _, name := range failed {
				must(t, m.flux.Reconcile(t.Context(), flux.HelmReleases, flux.Namespace, name))
			}
		}
		slices.Sort(pending)
		return strings.Join(pending, "\n")
	})
}

// fluxKind is what Flux has of a component.
func fluxKind(c set) schema.GroupVersionResource {
	if c.Kind == "manifests" {
		return flux.Kustomizations
	}
	return flux.HelmReleases
}

// hasValues compares what the stand-in charts were given with the answers. Charts in Git are real
// and do not show their values.
func (m *fluxEngine) hasValues(t *testing.T, components map[string]set) {
	t.Helper()
	for name, c := range components {
		if c.Chart.Path != "" { // also a folder of manifests, which has none
			continue
		}
		if got, want := m.values(t, c.Name, c.ReleaseName), c.parsed(t); !sameTree(got, want) {
			t.Errorf("%s was given %v; expected %v", name, got, want)
		}
	}
}

// client is a cluster's, by its name.
func (m *fluxEngine) client(t *testing.T, cluster string) *kube.Client {
	t.Helper()
	for _, c := range append([]*testcluster.Cluster{m.Cluster}, m.others...) {
		if c.Name == cluster {
			return c.Client
		}
	}
	t.Fatalf("there is no cluster %s", cluster)
	return nil
}

// values are what a release's chart was given on a cluster; value is one of them.
func (m *fluxEngine) values(t *testing.T, cluster, release string) map[string]any {
	t.Helper()
	all, err := m.client(t, cluster).List(t.Context(), kube.ConfigMaps, "", "app.kubernetes.io/instance="+release)
	must(t, err)
	var out map[string]any
	must(t, yaml.Unmarshal([]byte(fluxText(all[release+"-values"], "data", "values.yaml")), &out))
	return out
}

func (m *fluxEngine) value(t *testing.T, cluster, release string, path ...string) any {
	t.Helper()
	out, _, _ := unstructured.NestedFieldNoCopy(m.values(t, cluster, release), path...)
	return out
}

// push commits what was changed in the fleet, and gives the moment before.
func (m *fluxEngine) push(t *testing.T, message string) time.Time {
	t.Helper()
	began := time.Now()
	_, err := m.fleet.Commit(t.Context(), message)
	must(t, err)
	return began
}

// pulled is the revision of the artifact that Flux has: its digest.
func (m *fluxEngine) pulled(t *testing.T) string {
	t.Helper()
	return fluxText(m.get(t, flux.OCIRepositories, "argosy"), "status", "artifact", "revision")
}

// reconcile has Flux ask the service now, and waits until it has.
func (m *fluxEngine) reconcile(t *testing.T) {
	t.Helper()
	must(t, m.flux.Reconcile(t.Context(), flux.OCIRepositories, flux.Namespace, "argosy"))
	m.eventually(t, "Flux has asked the service", func() string {
		o := m.get(t, flux.OCIRepositories, "argosy")
		if asked := o.GetAnnotations()["reconcile.fluxcd.io/requestedAt"]; fluxText(o, "status", "lastHandledReconcileAt") != asked {
			return "not since " + asked
		}
		return fluxReady(o)
	})
}

// served waits until the service answers from the last commit.
func (m *fluxEngine) served(t *testing.T) {
	t.Helper()
	head, err := m.fleet.Head(t.Context())
	must(t, err)
	m.eventually(t, "the service takes the last commit", func() string {
		answer := m.ask(t, fmt.Sprintf("/v2/flux/%s/%s/manifests/latest", fluxHub, m.owner))
		if now := answer.header.Get("X-Argosy-Revision"); now != head {
			return "it answers " + answer.text + " from " + now
		}
		return ""
	})
}

// keeps waits until the service answers from the last commit, but for the member, which it keeps as
// it was before.
func (m *fluxEngine) keeps(t *testing.T) {
	t.Helper()
	head, err := m.fleet.Head(t.Context())
	must(t, err)
	m.eventually(t, "the service keeps the member as it was before the last commit", func() string {
		text := m.ask(t, "/readyz").text
		var says struct {
			Ready       bool
			Revision    string
			Quarantined []struct{ Member, Standing, Revision string }
		}
		must(t, json.Unmarshal([]byte(text), &says))
		if says.Ready && says.Revision == head && len(says.Quarantined) == 1 {
			if q := says.Quarantined[0]; q.Member == m.owner && q.Standing == "kept" && q.Revision != head {
				return ""
			}
		}
		return text
	})
}

// fluxAnswer is the service's to a request.
type fluxAnswer struct {
	header http.Header
	text   string
}

func (m *fluxEngine) ask(t *testing.T, path string) fluxAnswer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.plugin.URL+path, http.NoBody)
	must(t, err)
	token, err := m.plugin.Token()
	must(t, err)
	request.SetBasicAuth("flux", token)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	must(t, err)
	return fluxAnswer{response.Header, string(body)}
}

// get is an object in Flux's namespace; an empty one when there is none.
func (m *fluxEngine) get(t *testing.T, r schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := m.Client.Get(t.Context(), r, flux.Namespace, name)
	must(t, err)
	if o == nil {
		o = &unstructured.Unstructured{Object: map[string]any{}}
	}
	return o
}

// eventually waits until pending has nothing to say any more.
func (m *fluxEngine) eventually(t *testing.T, what string, pending func() string) {
	t.Helper()
	deadline, tick := time.After(fluxPatience), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		missing := pending()
		if missing == "" {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			for _, name := range []string{"argosy"} {
				t.Logf("OCIRepository %v, Kustomization %v", m.get(t, flux.OCIRepositories, name).Object["status"], m.get(t, flux.Kustomizations, name).Object["status"])
			}
			t.Fatalf("%s: not within %s: %s", what, fluxPatience, missing)
		}
	}
}

// settle waits until nothing changes any more, and then compares with the plan.
func (m *fluxEngine) settle(t *testing.T) {
	t.Helper()
	m.settleExcept(t, plancheck.Exceptions{})
}

// settleExcept is settle with exceptions of the plan.
func (m *fluxEngine) settleExcept(t *testing.T, apart plancheck.Exceptions) {
	t.Helper()
	m.calm(t)
	m.planCheck.CheckExcept(t, now, apart)
}

// now is how plancheck waits once nothing changes any more: not at all.
func now(_ string, pending func() string) error {
	if differs := pending(); differs != "" {
		return errors.New(differs)
	}
	return nil
}

// calm waits until nothing has happened for longer than Flux takes to ask the service again and to
// apply what it gets.
func (m *fluxEngine) calm(t *testing.T) {
	t.Helper()
	const quiet = 3 * time.Second
	m.reconcile(t)
	began := time.Now()
	m.eventually(t, "nothing happening", func() string {
		if time.Since(m.ledger.last()) < quiet || time.Since(began) < quiet {
			return "something happens"
		}
		return ""
	})
}

// isUpgraded reports what Flux does by itself: it polls Git every ten minutes, and upgrades the
// fleet's own charts, whose labels name the commit.
func isUpgraded(c change) bool {
	return c.what == "changed" && (c.kind == "NodePool" || c.kind == "StorageClass")
}

// only fails for everything that happened since a mark and that allowed does not take.
func (m *fluxEngine) only(t *testing.T, mark int, allowed func(change) bool) {
	t.Helper()
	if wrong := slices.DeleteFunc(slices.DeleteFunc(m.ledger.since(mark), allowed), isUpgraded); len(wrong) > 0 {
		t.Errorf("these should not have happened:\n%s", lines(wrong))
	}
}

// uids are those of everything that is watched, by cluster.
func (m *fluxEngine) uids() map[string]map[string]types.UID {
	out := map[string]map[string]types.UID{m.Name: m.ledger.uids(m.Name)}
	for _, c := range m.others {
		out[c.Name] = m.ledger.uids(c.Name)
	}
	return out
}

// notRecreated fails where an object has gone, or has been made anew, since the UIDs were taken.
func (m *fluxEngine) notRecreated(t *testing.T, before map[string]map[string]types.UID) {
	t.Helper()
	now := m.uids()
	for cluster, objects := range before {
		for object, uid := range objects {
			if now[cluster][object] != uid {
				t.Errorf("%s: %s was recreated or deleted: its UID was %s and is %q", cluster, object, uid, now[cluster][object])
			}
		}
	}
}

func (m *fluxEngine) command(t *testing.T, path string, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), path, args...)
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.Dir}
	out, err := command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("%s: %s", command, exit.Stderr)
	}
	must(t, err)
	return out
}

// timed notes how long something took that began at a time.
func (m *fluxEngine) timed(span string, began time.Time) {
	m.spans = append(m.spans, fmt.Sprintf("%6.1f s  %s", time.Since(began).Seconds(), span))
}

// table is the measured times.
func (m *fluxEngine) table() string { return strings.Join(m.spans, "\n") }
