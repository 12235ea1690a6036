package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plancheck"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// hubSecret is the cluster Secret of the hub itself, as charts/hub has it.
const hubSecret = `
apiVersion: v1
kind: Secret
metadata: {name: hub-cluster, labels: {argocd.argoproj.io/secret-type: cluster}, annotations: {cluster_name: hub}}
stringData: {name: hub, server: https://kubernetes.default.svc, config: '{"tlsClientConfig": {"insecure": false}}'}
`

// planned is a hub on which what `argosy render` and `argosy plan` say of a fleet is compared with
// what Argo CD then has (rule F).
type planned struct {
	check plancheck.Checker
	hub   *testcluster.Cluster
	fleet string // a clone
	url   string // of the repository
	noted func() // tells the service and Argo CD of a push
}

// plannedOn is a hub's, by the program and a clone of its fleet, whose last commit Argo CD deploys.
func plannedOn(hub *testcluster.Cluster, program, fleet, url string, noted func()) *planned {
	kinds := []string{"Application", "ApplicationSet"}
	resources := []schema.GroupVersionResource{kube.Applications, kube.ApplicationSets}
	return &planned{hub: hub, fleet: fleet, url: url, noted: noted, check: plancheck.Checker{
		Argosy: program, Repo: fleet, Hub: hub.Name,
		Facts: func(t testing.TB) []byte {
			out, err := exec.CommandContext(t.Context(), program, "facts", "export", "--kubeconfig", hub.Kubeconfig).Output()
			must(t, err)
			return out
		},
		Engines: []plancheck.Engine{{
			Owner: hubOwner, Kube: hub.Client, Kinds: kinds,
			Ours: func(o *unstructured.Unstructured) bool { return slices.Contains(kinds, o.GetKind()) },
			All: func(t testing.TB) (out []*unstructured.Unstructured) {
				for _, r := range resources {
					all, err := hub.Client.List(t.Context(), r, argocd.Namespace, "")
					must(t, err)
					out = slices.AppendSeq(out, maps.Values(all))
				}
				return out
			},
		}},
	}}
}

// holds compares what is there with what the last commit declares, and what has changed since the
// last comparison with the plan.
func (p *planned) holds(t *testing.T) {
	t.Helper()
	t.Log(p.check.Check(t, func(what string, pending func() string) error {
		last := ""
		err := wait.PollUntilContextTimeout(t.Context(), time.Second, 2*patience, true, func(context.Context) (bool, error) {
			last = pending()
			return last == "", nil
		})
		if err != nil {
			return fmt.Errorf("%s: not within %s: %s", what, 2*patience, last)
		}
		return nil
	}))
}

// commit writes files, pushes them, and compares again. An empty text takes a file away.
func (p *planned) commit(t *testing.T, message string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(p.fleet, name)
		if text == "" {
			must(t, os.Remove(file))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	for _, args := range [][]string{
		{"add", "--all"},
		{"-c", "user.name=user", "-c", "user.email=user@example.com", "commit", "--quiet", "--message", message},
		{"push", "--quiet", p.url, "HEAD:main"},
	} {
		_, err := gitcmd.Run(t.Context(), p.fleet, args...)
		must(t, err)
	}
	p.noted()
	p.holds(t)
}

// read is a file of the clone.
func (p *planned) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.fleet, name))
	must(t, err)
	return string(text)
}

// checkPlan is rule F on the fleet that init writes. The program is one whose charts are released
// in the registry of the test.
func (i *installation) checkPlan(t *testing.T, fleet string) {
	t.Helper()
	program := filepath.Join(i.dir, "argosy")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w -X github.com/argosy-hub/argosy/charts.Registry="+i.forge.charts(), "-o", program, "./cmd/argosy")
	build.Dir = i.checkout
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	p := plannedOn(i.hub, program, fleet, i.repository, func() { must(t, i.argocd.Refresh(t.Context(), "fleet-bootstrap", false)) })
	p.holds(t)
	member := "fleet/fleet-members/" + newHub + "/" + newMember + ".yaml"
	text := p.read(t, member)
	p.commit(t, "A value and a label of one cluster", map[string]string{
		"addons/tenants/shop/clusters/" + newMember + "/addons/metrics-server/values.yaml": "replicas: 2\n",
		member: strings.Replace(text, "labels:\n", "labels:\n  ring: first\n", 1),
	})
}

// checkPlan is rule F on an imported fleet: a value that one cluster has, and back.
func (a *adopted) checkPlan(t *testing.T) {
	t.Helper()
	must(t, a.hub.Client.Apply(t.Context(), argocd.Namespace, []byte(hubSecret)))
	p := plannedOn(a.hub, argosy, filepath.Join(a.dir, "fleet"), a.git.URL("fleet"), func() { must(t, a.plugin.Pushed(t.Context())) })
	p.holds(t)
	const old, with = "replicas: 2\n", "replicas: 5\n"
	out, err := gitcmd.Run(t.Context(), p.fleet, "grep", "--files-with-matches", strings.TrimSpace(old))
	must(t, err)
	file := strings.TrimSpace(out)
	text := p.read(t, file)
	p.commit(t, "Five replicas", map[string]string{file: strings.Replace(text, old, with, 1)})
	p.commit(t, "Two again", map[string]string{file: text})
}

// TestFirstFleet is rule F on what `argosy init --minimal` writes, on a hub whose Argo CD has the
// cluster already: its one ApplicationSet, a value, a component and a cluster more.
func TestFirstFleet(t *testing.T) {
	hubs.beside(t, 60)
	clusters := testcluster.StartNamed(t, []string{"hub", newMember, "shop-dev-2"}, "argocd-"+argoCD())
	of, dir := clusters[0], t.TempDir()
	var ports []int
	for _, c := range clusters[1:] {
		port, err := strconv.Atoi(c.URL[strings.LastIndex(c.URL, ":")+1:])
		must(t, err)
		ports = append(ports, port)
	}
	argo, err := argocd.Start(t.Context(), argocd.Options{
		Binaries: of.Binaries, Group: of.Group, Version: argoCD(), Cluster: of.Cluster, Forward: ports, Dir: filepath.Join(of.Dir, "argocd"),
	})
	must(t, err)
	must(t, argo.RegisterCluster(t.Context(), newMember, clusters[1].Cluster, nil, nil))
	git, err := gitserver.Start(t.Context(), filepath.Join(dir, "git"))
	must(t, err)
	t.Cleanup(func() { _ = git.Close() })
	_, err = git.Create("fleet")
	must(t, err)
	charts, err := chartserver.Start(t.Context(), []chartserver.Chart{{Name: "podinfo", Version: "6.9.0"}, {Name: "metrics-server", Version: "3.13.0"}})
	must(t, err)
	t.Cleanup(func() { _ = charts.Close() })

	fleet := filepath.Join(dir, "fleet")
	must(t, os.Mkdir(fleet, 0o755))
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), argosy, append(args, "--repo", fleet)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	run("init", "--hub", of.Name, "--repo-url", git.URL("fleet"), "--minimal")
	_, err = gitcmd.Run(t.Context(), fleet, "init", "--quiet", "--initial-branch=main", "--template=")
	must(t, err)
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	catalog := "fleet/catalogs/addons.yaml"
	p := plannedOn(of, argosy, fleet, git.URL("fleet"), func() {})
	p.check.Engines[0].Ours = func(o *unstructured.Unstructured) bool { // the hub's own installation is the test's
		return o.GetKind() == "ApplicationSet" || o.GetKind() == "Application" && o.GetName() != "argosy" && o.GetName() != "fleet-bootstrap"
	}
	must(t, replaceIn(filepath.Join(fleet, catalog), "https://stefanprodan.github.io/podinfo", charts.URL()))
	for _, args := range [][]string{
		{"add", "--all"},
		{"-c", "user.name=user", "-c", "user.email=user@example.com", "commit", "--quiet", "--message", "Begin the fleet"},
		{"push", "--quiet", p.url, "HEAD:main"},
	} {
		_, err := gitcmd.Run(t.Context(), fleet, args...)
		must(t, err)
	}
	service, err := plugin.Start(t.Context(), plugin.Options{
		Name: "generator-plugin", Binary: plugin.Program(checkout), Group: of.Group,
		Cluster: of.Cluster, Client: of.Client, Dir: filepath.Join(dir, "generator-plugin"),
	}, plugin.Chart{Helm: of.Binaries.Path("helm"), Folder: filepath.Join(checkout, "charts", "generator-plugin"), Hub: of.Name, GitURL: git.URL("fleet")})
	must(t, err)
	p.noted = func() { must(t, service.Pushed(t.Context())) }
	project := "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: %s}\nspec: {sourceRepos: ['*'], destinations: [{name: '*', namespace: '*'}], clusterResourceWhitelist: [{group: '*', kind: '*'}]}\n"
	for _, object := range []string{hubSecret, fmt.Sprintf(project, "shop"), fmt.Sprintf(project, "platform"), p.read(t, "fleet/bootstrap/hub/addons.yaml")} {
		must(t, of.Client.Apply(t.Context(), argocd.Namespace, []byte(object)))
	}
	p.holds(t)

	p.commit(t, "A value of one cluster", map[string]string{"addons/tenants/shop/clusters/" + newMember + "/addons/podinfo/values.yaml": "replicaCount: 2\n"})
	run("new", "component", "--name", "metrics-server", "--namespace", "kube-system", "--repo-url", charts.URL(), "--version", "3.13.0")
	_, err = gitcmd.Run(t.Context(), fleet, "checkout", "--quiet", "--", "fleet/bootstrap") // as the hub's own installation is the test's, so are its projects
	must(t, err)
	p.commit(t, "A component", nil)
	run("new", "member", "--hub", of.Name, "--name", "shop-dev-2", "--tenant", "shop")
	must(t, argo.RegisterCluster(t.Context(), "shop-dev-2", clusters[2].Cluster, nil, nil))
	p.commit(t, "A cluster without an environment", nil)
	p.commit(t, "It goes", map[string]string{catalog: strings.Replace(p.read(t, catalog), "  metrics-server:\n    enabled: true", "  metrics-server:\n    enabled: false", 1)})
}
