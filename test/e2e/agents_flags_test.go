package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/ociregistry"
	"github.com/argosy-hub/argosy/test/e2e/internal/plancheck"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

var ingresses = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}

// pluginToken is the Secret with the token of a member's service.
const pluginToken = "generator-plugin-token"

// flip sets a flag of a member's file. Its effects are the objects that come with the flag, or that
// go without it, on the hub and on the member.
type flip struct {
	member, flag string
	on           bool
	hub, spoke   []string
	// changed are objects that change, besides those that tell of each flag.
	changed []string
	// pod starts what comes, as the kubelet does, or ends what has gone.
	pod func(*testing.T)
}

// flags sets flags of member files in Git, of an agent and of a member that the hub deploys to.
// What comes and goes is what the flag names, and nothing else changes anywhere (L3).
func (a *agents) flags(t *testing.T) {
	ack := []string{"ack-ec2", "ack-eks", "ack-iam"}
	github := func(member string) []string {
		return []string{"ExternalSecret " + member + "-git-github", "Secret " + member + "-git-github"}
	}
	ingress := []string{"Ingress argocd-ingress"}
	pulled := slices.Concat(workloadsOf("external-secrets"), github(agent), []string{"ExternalSecret " + agent + "-git-fleet", "Secret " + agent + "-git-fleet"})
	service := []string{agent + ": Deployment generator-plugin"} // which reads the repository with what is pulled, or without
	for _, flips := range [][]flip{                              // of one commit, each of another member
		{{member: agent, flag: "use_fleet_ack", on: true, hub: appsOf(agent, ack...), spoke: workloadsOf(ack...)}},
		{
			{member: agent, flag: "use_fleet_ack", hub: appsOf(agent, ack...), spoke: workloadsOf(ack...)},
			{member: neighbour, flag: "githubSecret", hub: github(neighbour)},
		},
		{
			{member: agent, flag: "use_argocd_ingress", hub: appsOf(agent, "argocd-ingress"), spoke: ingress},
			{member: neighbour, flag: "githubSecret", on: true, hub: github(neighbour)},
		},
		{
			{member: agent, flag: "use_argocd_ingress", on: true, hub: appsOf(agent, "argocd-ingress"), spoke: ingress},
			{member: neighbour, flag: "use_external_secrets", on: true, hub: appsOf(neighbour, "external-secrets"), spoke: workloadsOf("external-secrets")},
		},
		{
			{member: agent, flag: "githubSecret", spoke: github(agent)},
			{member: neighbour, flag: "use_fleet_ack", on: true, hub: appsOf(neighbour, ack...), spoke: workloadsOf(ack...)},
		},
		{
			{member: agent, flag: "githubSecret", on: true, spoke: github(agent)},
			{member: neighbour, flag: "use_fleet_ack", hub: appsOf(neighbour, ack...), spoke: workloadsOf(ack...)},
		},
		{{member: agent, flag: "use_external_secrets", hub: appsOf(agent, "external-secrets"), spoke: pulled, changed: service, pod: a.endOperator}},
		{
			{member: agent, flag: "use_external_secrets", on: true, hub: appsOf(agent, "external-secrets"), spoke: pulled, changed: service, pod: a.startOperator},
			{member: neighbour, flag: "use_external_secrets", hub: appsOf(neighbour, "external-secrets"), spoke: workloadsOf("external-secrets")},
		},
	} {
		a.set(t, flips...)
	}
}

// appsOf are the Applications of components on a member, as a flip names them.
func appsOf(member string, components ...string) (out []string) {
	for _, c := range components {
		out = append(out, "Application "+c+"-"+member)
	}
	return out
}

// workloadsOf are what the stand-in charts of components make.
func workloadsOf(components ...string) (out []string) {
	for _, c := range components {
		out = append(out, "Deployment "+c, "ConfigMap "+c+"-values")
	}
	return out
}

// watchCredentials has the ledger note what is made for engines to read, and members' Ingresses.
func (a *agents) watchCredentials(t *testing.T) {
	t.Helper()
	credential := func(o *unstructured.Unstructured) bool {
		kind := o.GetLabels()["argocd.argoproj.io/secret-type"]
		return o.GetKind() != "Secret" || kind == "repository" || kind == "repo-creds" || o.GetName() == pluginToken
	}
	a.ledger.watch(t.Context(), t, agent, a.agent.Kube, credential, kube.ExternalSecrets, kube.Secrets, ingresses)
	a.ledger.watch(t.Context(), t, hub.Name, a.Kube, credential, kube.Secrets)
}

// effects are what a commit changes.
type effects struct{ Came, Went, Changed []string }

// set commits flags, and waits until exactly their effects are there.
func (a *agents) set(t *testing.T, flips ...flip) {
	t.Helper()
	mark, before := a.ledger.mark(), a.ledger.there()
	var want effects
	var said []string
	for _, f := range flips {
		a.setFlag(t, f)
		said = append(said, fmt.Sprintf("%s of %s: %t", f.flag, f.member, f.on))
		objects := slices.Concat(on(hub.Name, f.hub), on(f.member, f.spoke))
		if f.on {
			want.Came = append(want.Came, objects...)
		} else {
			want.Went = append(want.Went, objects...)
		}
		// The flag is a label of the cluster, which the cluster's Secret has on the hub, and the
		// Secret of an agent's own Argo CD has, too.
		tell := []string{"Application fleet-secret-" + f.member, "ExternalSecret " + f.member, "Secret " + f.member}
		if f.member == agent {
			tell = append(tell, "Application agent-"+f.member)
		}
		want.Changed = slices.Concat(want.Changed, on(hub.Name, tell), f.changed)
	}
	began := a.push(t, strings.Join(said, ", "))
	a.pods(t, flips, true)
	differs := func() string { return cmp.Diff(sorted(want), effectsOf(before, a.ledger.there())) }
	a.eventually(t, strings.Join(said, ", "), differs)
	a.timed("agents", "flags: "+strings.Join(said, ", "), began)
	a.pods(t, flips, false)
	a.settle(t)
	if diff := differs(); diff != "" {
		t.Errorf("%s (-want +got):\n%s", said, diff)
	}
	a.only(t, mark, func(c change) bool { // what was there in between as well
		object := c.cluster + ": " + c.kind + " " + c.name
		return object == serviceOfFlux || slices.Contains(slices.Concat(want.Came, want.Went, want.Changed), object)
	})
}

// pods starts or ends what flips bring or take.
func (a *agents) pods(t *testing.T, flips []flip, come bool) {
	t.Helper()
	for _, f := range flips {
		if f.pod != nil && f.on == come {
			f.pod(t)
		}
	}
}

func (a *agents) endOperator(t *testing.T) { must(t, a.agent.Secrets.Process.Kill()) }

func (a *agents) startOperator(t *testing.T) {
	a.eventually(t, "the operator's Deployment", func() string { return missing(a.ledger.get(agent, "Deployment", "external-secrets")) })
	must(t, a.agent.Secrets.Reinstalled(t.Context()))
}

// ofFluxChart reports an object of the fleet's own charts, which Flux upgrades by itself.
func ofFluxChart(object string) bool {
	return strings.HasPrefix(object, fluxMember+": StorageClass ") || strings.HasPrefix(object, fluxMember+": NodePool ")
}

// serviceOfFlux is the Flux member's service, of whose chart each commit is a version.
const serviceOfFlux = fluxMember + ": Deployment " + fluxService

// on are objects of a cluster, as the ledger names them.
func on(cluster string, objects []string) []string {
	out := make([]string, len(objects))
	for i, o := range objects {
		out[i] = cluster + ": " + o
	}
	return out
}

func sorted(e effects) effects {
	for _, list := range []*[]string{&e.Came, &e.Went, &e.Changed} {
		*list = slices.Sorted(slices.Values(*list))
	}
	return e
}

// there are the objects that the ledger knows, with what tells whether they have changed.
func (l *ledger) there() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]string{}
	for k, e := range l.known {
		out[k.cluster+": "+k.kind+" "+k.name] += string(e.object.GetUID()) + " " + e.digest
	}
	return out
}

// effectsOf is the difference of two moments. What has been made again has gone and come.
func effectsOf(before, after map[string]string) effects {
	var e effects
	for object, is := range after {
		was, had := before[object]
		uid, _, _ := strings.Cut(is, " ")
		switch {
		case !had:
			e.Came = append(e.Came, object)
		case is == was || object == serviceOfFlux || ofFluxChart(object):
		case !strings.HasPrefix(was, uid):
			e.Came, e.Went = append(e.Came, object), append(e.Went, object)
		default:
			e.Changed = append(e.Changed, object)
		}
	}
	for object := range before {
		if _, has := after[object]; !has {
			e.Went = append(e.Went, object)
		}
	}
	return sorted(e)
}

// setFlag writes a flag into a member's file.
func (a *agents) setFlag(t *testing.T, f flip) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^` + f.flag + `: .*\n`)
	text, want := a.read(t, memberFile(f.member)), fmt.Sprintf("%s: \"%t\"\n", f.flag, f.on)
	if line.MatchString(text) {
		text = line.ReplaceAllString(text, want)
	} else {
		text = want + text
	}
	a.write(t, memberFile(f.member), text)
}

// noAgent has the member with Argo CD stop being an agent. It hands its groups back to the hub
// first. Then its engine goes, its service and its credentials; what the engine deployed stays, and
// is the hub's (M3, D3, D4).
func (a *agents) noAgent(t *testing.T) {
	// The member's own Argo CD has its charts from anywhere; the hub's has projects.
	const projects, repos = "fleet/bootstrap/" + hub.Name + "/projects.yaml", "  sourceRepos:\n"
	a.write(t, projects, strings.ReplaceAll(a.read(t, projects), repos, fmt.Sprintf("%s    - %s\n    - %s/charts\n", repos, a.secondURL(), ociregistry.ECRHost)))
	a.push(t, "The hub's projects have the charts of "+agent)
	a.settle(t)
	mark, before := a.ledger.mark(), a.ledger.there()
	_, moving := a.parts(t, agent)
	credentials := slices.DeleteFunc(slices.Sorted(maps.Keys(before)), func(object string) bool {
		return !strings.HasPrefix(object, agent+": ExternalSecret ") && !strings.HasPrefix(object, agent+": Secret ")
	})
	engineIs := slices.Concat(on(agent, workloadsOf("argo-cd")), on(agent, []string{"Deployment generator-plugin", "Ingress argocd-ingress"}), credentials)
	a.setFlag(t, flip{member: agent, flag: "use_remote_argo"})
	began := a.push(t, agent+" is no agent any more")
	a.within(t, 2*patience, "the hub has the member's groups, and the engine is gone", func() string {
		for name := range moving {
			if s := state(a.app(name)); s != good {
				return name + " is " + s
			}
		}
		now := a.ledger.there()
		for _, object := range append(on(hub.Name, appsOf(agent, "agent", "argo-cd", "argocd-ingress")), engineIs...) {
			if now[object] != "" {
				return object + " is there"
			}
		}
		return ""
	})
	a.timed("agents", "no agent any more: push to the hub's groups, and no engine", began)
	for _, p := range []*process.Process{a.agent.ArgoCD.Controller, a.agent.ArgoCD.ApplicationSets, a.agent.ArgoCD.RepoServer, a.agent.ArgoCD.Redis, a.agent.Plugin.Process} {
		must(t, p.Kill()) // as the kubelet does without their Deployments
	}
	a.planCheck.Engines = slices.DeleteFunc(a.planCheck.Engines, func(e plancheck.Engine) bool { return e.Owner == agent })
	a.settle(t)
	a.expected(t)
	a.exclusive(t)
	a.handedBackFirst(t, mark)
	got := effectsOf(before, a.ledger.there())
	elsewhere := func(object string) bool { return strings.HasPrefix(object, engine+": ") }
	got.Went, got.Changed = slices.DeleteFunc(got.Went, elsewhere), slices.DeleteFunc(got.Changed, elsewhere)
	want := effects{
		Came: on(hub.Name, []string{ // no other member of the hub has the two components
			"ExternalSecret " + agent + "-git-github", "Secret " + agent + "-git-github",
			"ApplicationSet resources-default-" + second, "ApplicationSet resources-default-" + third,
		}),
		Went:    append(on(hub.Name, appsOf(agent, "agent", "argo-cd", "argocd-ingress", "grant-addons", "grant-resources")), engineIs...),
		Changed: on(hub.Name, []string{"Application application-sets-resources-default", "Application fleet-secret-" + agent, "ExternalSecret " + agent, "Secret " + agent}),
	}
	for name := range moving {
		want.Came = append(want.Came, hub.Name+": Application "+name)
	}
	if diff := cmp.Diff(sorted(want), got); diff != "" {
		t.Errorf("no agent any more (-want +got):\n%s\n%s", diff, lines(a.ledger.since(mark)))
	}
	a.add(t, "addons/tenants/payments/clusters/"+agent+"/addons/metrics-server/values.yaml", "podAnnotations: {of: hub}\n")
	a.push(t, "A value for "+agent)
	a.eventually(t, "the hub deploys it", func() string {
		if v := a.value(agent, "metrics-server", "podAnnotations", "of"); v != "hub" {
			return fmt.Sprint("it is ", v)
		}
		return ""
	})
}

// handedBackFirst fails where something of the engine went before the member had given back its
// groups: before the last of their grants was gone from the hub.
func (a *agents) handedBackFirst(t *testing.T, mark int) {
	t.Helper()
	var last time.Time
	grants := 0
	for _, c := range a.ledger.since(mark) {
		if c.cluster == hub.Name && strings.HasPrefix(c.name, "grant-") && strings.HasSuffix(c.name, agent) && c.what == "deleted" {
			grants, last = grants+1, c.at
		}
	}
	if grants != 2 {
		t.Fatalf("%d grants have gone; expected those of addons and resources", grants)
	}
	for _, c := range a.ledger.since(mark) {
		isEngine := c.cluster == agent && c.kind == "Deployment" && (c.name == "argo-cd" || c.name == "generator-plugin")
		if isEngine && c.what == "deleted" && c.at.Before(last) {
			t.Errorf("%s went at %s, and the last grant at %s", c, c.at.Format("15:04:05.000"), last.Format("15:04:05.000"))
		}
	}
}
