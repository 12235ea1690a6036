package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// adoptKills is how many processes TestAdopt kills at least. One round kills about 100.
var adoptKills = flag.Int("adopt-kills", 1, "processes that TestAdopt kills at least: it adopts and gives back again until then")

// adoptDocument shows what is handed over of the third ApplicationSet, and importDocument how a
// fleet is made of what a hub has.
const (
	adoptDocument  = "docs/how-to/adopt-applications.md"
	importDocument = "docs/how-to/import-a-fleet.md"
)

// adoptedSets are the plain ApplicationSets.
var adoptedSets = []string{"apps", "ingress", "metrics"}

// adopted is a hub that deploys with plain ApplicationSets, and the fleet that is made of them.
type adopted struct {
	*environment
	hub    *testcluster.Cluster
	spokes []*testcluster.Cluster
	git    *gitserver.Server
	plugin *plugin.Plugin
	dir    string
	kills  int
}

// TestAdopt: a fleet on plain ApplicationSets (a matrix of clusters and Git files, a list, a merge)
// is imported and verified by the three commands of the documentation, adopted, and given back in
// the same way. The process is killed as each step begins, and again at a random moment in it. No
// deployed object is deleted, made anew or changed but for its tracking id, and no Application that
// keeps its name is synced.
func TestAdopt(t *testing.T) {
	hubs.beside(t, 55)
	a := newAdopted(t)
	began := time.Now()
	lap := func(what string) { t.Logf("%5.1fs  %s", time.Since(began).Seconds(), what) }
	for _, file := range plainSets(a) {
		must(t, a.hub.Client.Apply(t.Context(), argocd.Namespace, []byte(file)))
	}
	a.allSynced(t, "the plain ApplicationSets' Applications", 4*len(a.spokes))
	plain := a.names()
	lap("the plain ApplicationSets deploy")

	fleet := a.importFleet(t)
	lap("imported and verified")
	a.refusals(t, fleet)

	before, rounds := a.objects(), 0
	for ; rounds == 0 || a.kills < *adoptKills; rounds++ {
		mark := a.ledger.mark()
		for _, set := range adoptedSets {
			a.handOver(t, "--applicationset", set, "--repo", fleet)
			lap("adopted " + set)
		}
		a.allSynced(t, "the fleet's Applications", 4*len(a.spokes))
		a.unchanged(t, before, mark)
		for name := range a.ledger.all(a.hub.Name, "ApplicationSet") {
			if slices.Contains(adoptedSets, name) {
				t.Errorf("ApplicationSet %s is still there", name)
			}
		}
		a.argosy(t, 0, "verify", "--repo", fleet)
		if rounds == 0 {
			a.checkPlan(t)
			lap("planned as it is, changed and changed back")
		}

		mark = a.ledger.mark()
		for _, set := range adoptedSets {
			a.handOver(t, "--applicationset", set, "--undo")
			lap("gave back " + set)
		}
		a.allSynced(t, "the plain ApplicationSets' Applications again", 4*len(a.spokes))
		a.unchanged(t, before, mark)
		if now := a.names(); !slices.Equal(now, plain) {
			t.Errorf("the Applications are %v; expected %v", now, plain)
		}
		a.argosy(t, 0, "verify", "--repo", fleet)
		if t.Failed() {
			break
		}
	}
	a.plansPlain(t)
	lap("planned without a fleet")
	t.Logf("%d processes were killed in %d rounds; %d objects on %d clusters, of %d Applications, are those that were there before", a.kills, rounds, len(before), len(a.spokes), len(plain))
}

// newAdopted starts a hub with Argo CD and its spokes.
func newAdopted(t *testing.T) *adopted {
	t.Helper()
	clusters := testcluster.StartNamed(t, []string{"hub", "dev-eu-1", "dev-eu-2", "prod-eu-1", "prod-eu-2"}, "argocd-"+argoCD())
	a := &adopted{environment: &environment{ledger: newLedger()}, hub: clusters[0], spokes: clusters[1:], dir: t.TempDir()}
	var ports []int
	for _, c := range a.spokes {
		port, err := strconv.Atoi(c.URL[strings.LastIndex(c.URL, ":")+1:])
		must(t, err)
		ports = append(ports, port)
	}
	argo, err := argocd.Start(t.Context(), argocd.Options{
		Binaries: a.hub.Binaries, Group: a.hub.Group, Version: argoCD(), Cluster: a.hub.Cluster, Forward: ports, Dir: filepath.Join(a.hub.Dir, "argocd"),
	})
	must(t, err)
	for _, c := range a.spokes {
		environment, _, _ := strings.Cut(c.Name, "-")
		must(t, argo.RegisterCluster(t.Context(), c.Name, c.Cluster, map[string]string{"environment": environment}, nil))
		a.ledger.watch(t.Context(), t, c.Name, c.Client, isDeployed, kube.ConfigMaps, kube.Deployments)
	}
	everything := func(*unstructured.Unstructured) bool { return true }
	a.ledger.watch(t.Context(), t, a.hub.Name, a.hub.Client, everything, kube.Applications, kube.ApplicationSets)

	a.git, err = gitserver.Start(t.Context(), filepath.Join(a.dir, "git"))
	must(t, err)
	t.Cleanup(func() { _ = a.git.Close() })
	charts, err := chartserver.Start(t.Context(), []chartserver.Chart{{Name: "shop", Version: "1.4.0"}, {Name: "cart", Version: "2.0.1"}, {Name: "ingress-nginx", Version: "4.10.0"}, {Name: "metrics-server", Version: "3.12.0"}})
	must(t, err)
	t.Cleanup(func() { _ = charts.Close() })
	a.push(t, "platform", map[string]string{
		"apps/shop.json":               fmt.Sprintf(`{"app": "shop", "chart": "shop", "version": "1.4.0", "repo": %q}`, charts.URL()),
		"apps/cart.json":               fmt.Sprintf(`{"app": "cart", "chart": "cart", "version": "2.0.1", "repo": %q}`, charts.URL()),
		"values/shop/defaults.yaml":    "replicas: 1\nimage: {tag: 2.3.1}\n",
		"values/shop/prod-eu-1.yaml":   "replicas: 2\n",
		"values/cart/defaults.yaml":    "cache: true\n",
		"appsets/ingress-address.yaml": "url: " + charts.URL() + "\n",
	})
	must(t, os.WriteFile(filepath.Join(a.dir, "charts"), []byte(charts.URL()), 0o600))
	return a
}

// push makes a repository of files.
func (a *adopted) push(t *testing.T, repository string, files map[string]string) {
	t.Helper()
	_, err := a.git.Create(repository)
	must(t, err)
	clone := filepath.Join(a.dir, repository)
	for name, text := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(clone, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(clone, name), []byte(text), 0o600))
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main", "--template="},
		{"add", "--all"},
		{"-c", "user.name=user", "-c", "user.email=user@example.com", "commit", "--quiet", "--message", "Begin"},
		{"push", "--quiet", a.git.URL(repository), "main"},
	} {
		_, err := gitcmd.Run(t.Context(), clone, args...)
		must(t, err)
	}
}

// plainSets are the ApplicationSets: names of the first begin with the cluster's, those of the
// second are as Argosy's, and the third has both a selector and values of its own.
func plainSets(a *adopted) []string {
	text, _ := os.ReadFile(filepath.Join(a.dir, "charts"))
	url, charts := a.git.URL("platform"), string(text)
	var elements, overrides []string
	for i, c := range a.spokes {
		elements = append(elements, "{cluster: "+c.Name+"}")
		overrides = append(overrides, fmt.Sprintf("{name: %s, resolution: %ds}", c.Name, 15*(i+1)))
	}
	const policy = "{automated: {prune: true, selfHeal: true}, syncOptions: [CreateNamespace=true]}"
	head := func(name string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: " + name + ", namespace: argocd}\nspec:\n  goTemplate: true\n  goTemplateOptions: [missingkey=error]\n"
	}
	return []string{
		head("apps") + fmt.Sprintf(`  generators:
    - matrix:
        generators:
          - clusters: {selector: {matchExpressions: [{key: environment, operator: Exists}]}}
          - git: {repoURL: %[1]s, revision: main, files: [{path: apps/*.json}]}
  template:
    metadata: {name: '{{ .name }}-{{ .app }}'}
    spec:
      project: default
      destination: {server: '{{ .server }}', namespace: '{{ .app }}'}
      sources:
        - repoURL: '{{ .repo }}'
          chart: '{{ .chart }}'
          targetRevision: '{{ .version }}'
          helm: {releaseName: '{{ .app }}', ignoreMissingValueFiles: true, valueFiles: ['$values/values/{{ .app }}/defaults.yaml', '$values/values/{{ .app }}/{{ .name }}.yaml']}
        - {repoURL: %[1]s, targetRevision: main, ref: values}
      syncPolicy: %[2]s
`, url, policy),
		head("ingress") + fmt.Sprintf(`  generators:
    - list: {elements: [%[3]s]}
  template:
    metadata: {name: 'ingress-nginx-{{ .cluster }}'}
    spec:
      project: default
      destination: {name: '{{ .cluster }}', namespace: ingress-nginx}
      source: {repoURL: %[1]s, chart: ingress-nginx, targetRevision: 4.10.0, helm: {valuesObject: {class: nginx}}}
      syncPolicy: %[2]s
`, charts, policy, strings.Join(elements, ", ")),
		head("metrics") + fmt.Sprintf(`  generators:
    - merge:
        mergeKeys: [name]
        generators:
          - clusters: {selector: {matchExpressions: [{key: environment, operator: Exists}]}, values: {resolution: 60s}}
          - list: {elements: [%[3]s]}
  template:
    metadata: {name: '{{ .name }}-metrics'}
    spec:
      project: default
      destination: {server: '{{ .server }}', namespace: kube-system}
      source: {repoURL: %[1]s, chart: metrics-server, targetRevision: 3.12.0, helm: {releaseName: metrics-server, values: 'resolution: {{ .resolution }}'}}
      syncPolicy: %[2]s
`, charts, policy, strings.Join(overrides, ", ")),
	}
}

// plansPlain: without a fleet, render has what the ApplicationSet controller makes of a matrix of
// clusters and Git files, a list and a merge, and plan what it does to a change of them and back.
func (a *adopted) plansPlain(t *testing.T) {
	t.Helper()
	_, err := a.git.Create("plain")
	must(t, err)
	p := plannedOn(a.hub, argosy, filepath.Join(a.dir, "plain"), a.git.URL("plain"), func() {})
	p.check.Hub = "argocd"
	p.check.Engines[0].Ours = func(o *unstructured.Unstructured) bool { return o.GetKind() == "Application" }
	_, err = gitcmd.Run(t.Context(), a.dir, "clone", "--quiet", filepath.Join(a.dir, "platform"), p.fleet)
	must(t, err)
	export := p.check.Facts
	p.check.Facts = func(t testing.TB) []byte { // with the addresses, which an export leaves in the Secrets
		var facts map[string]any
		must(t, yaml.Unmarshal(export(t), &facts))
		for _, x := range facts["clusters"].([]any) {
			cluster := x.(map[string]any)
			if i := slices.IndexFunc(a.spokes, func(c *testcluster.Cluster) bool { return c.Name == cluster["name"] }); i >= 0 {
				cluster["server"] = a.spokes[i].URL
			}
		}
		out, err := yaml.Marshal(facts)
		must(t, err)
		return out
	}
	all := p.check.Engines[0].All
	p.check.Engines[0].All = func(t testing.TB) []*unstructured.Unstructured {
		return slices.DeleteFunc(all(t), func(o *unstructured.Unstructured) bool { return o.GetKind() != "Application" })
	}
	as := plainSets(a)
	changed := slices.Clone(as)
	changed[0] = strings.Replace(as[0], "releaseName: '{{ .app }}'", "releaseName: '{{ .app }}', skipCrds: true", 1)
	changed[1] = strings.Replace(as[1], "class: nginx", "class: '{{ .cluster }}'", 1)
	changed[2] = strings.Replace(as[2], "resolution: 15s", "resolution: 20s", 1)
	for i, sets := range [][]string{as, changed, as} {
		files := map[string]string{}
		for i, text := range sets {
			must(t, a.hub.Client.Apply(t.Context(), argocd.Namespace, []byte(text)))
			files["sets/"+adoptedSets[i]+".yaml"] = text
		}
		p.commit(t, fmt.Sprintf("Commit %d", i), files)
	}
}

// importFleet imports what the hub has by the commands of the documentation, pushes it, and starts
// the service on it.
func (a *adopted) importFleet(t *testing.T) (fleet string) {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("..", "..", importDocument))
	must(t, err)
	_, section, _ := strings.Cut(string(document), "## Straight from the hub\n")
	_, section, _ = strings.Cut(section, "```sh\n")
	section, _, _ = strings.Cut(section, "```")
	commands := strings.Split(strings.TrimSpace(section), "\n")
	wants := []string{fmt.Sprintf("%d of %[1]d Applications are equal in spec", 4*len(a.spokes)), "no problems", fmt.Sprintf("%d of %[1]d Applications are equal;", 4*len(a.spokes))}
	if len(commands) != len(wants) {
		t.Fatalf("%s has the commands\n%s\nexpected %d", importDocument, section, len(wants))
	}
	fleet, began := filepath.Join(a.dir, "imported"), time.Now()
	for i, command := range commands {
		words := strings.Fields(strings.NewReplacer("hub-eu", "hub", " repository", " "+filepath.Join(a.dir, "platform"), " fleet", " "+fleet).Replace(command))
		cmd := exec.CommandContext(t.Context(), argosy, words[1:]...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+a.hub.Kubeconfig)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), wants[i]) {
			t.Fatalf("%s: %v\n%s\nexpected %s", command, err, out, wants[i])
		}
	}
	t.Logf("from plain ApplicationSets to an empty verify: %d commands, %.1fs", len(commands), time.Since(began).Seconds())
	files := map[string]string{}
	must(t, filepath.WalkDir(fleet, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var data []byte
			data, err = os.ReadFile(path)
			files[strings.TrimPrefix(path, fleet+"/")] = string(data)
		}
		return err
	}))
	a.push(t, "fleet", files)
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	a.plugin, err = plugin.Start(t.Context(), plugin.Options{
		Name: "generator-plugin", Binary: plugin.Program(checkout), Group: a.hub.Group,
		Cluster: a.hub.Cluster, Client: a.hub.Client, Dir: filepath.Join(a.dir, "generator-plugin"),
	}, plugin.Chart{Helm: a.hub.Binaries.Path("helm"), Folder: filepath.Join(checkout, "charts", "generator-plugin"), Hub: "hub", GitURL: a.git.URL("fleet")})
	must(t, err)
	return fleet
}

// command is argosy with the flags that verify and adopt share.
func (a *adopted) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), argosy, append(args, "--context", "hub", "--kubeconfig", a.hub.Kubeconfig,
		"--from", filepath.Join(a.dir, "platform"), "--from-url", a.git.URL("platform"))...)
}

// argosy runs a command and wants an exit status.
func (a *adopted) argosy(t *testing.T, status int, args ...string) string {
	t.Helper()
	cmd := a.command(t, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != status {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// refusals: bad input changes nothing, nor does the command without --apply.
func (a *adopted) refusals(t *testing.T, fleet string) {
	t.Helper()
	mark := a.ledger.mark()
	for _, c := range []struct {
		status int
		want   string
		args   []string
	}{
		{1, `ApplicationSet "shops" does not live`, []string{"--applicationset", "shops", "--apply", "--yes"}},
		{0, "there is nothing to give back", []string{"--applicationset", "apps", "--undo", "--apply", "--yes"}},
		{2, `ApplicationSet "shops" has not been handed over`, []string{"--applicationset", "shops", "--undo"}},
		{2, "standard input is not a terminal", []string{"--applicationset", "apps", "--apply"}},
	} {
		out := a.argosy(t, c.status, append([]string{"adopt", "--repo", fleet}, c.args...)...)
		if !strings.Contains(out, c.want) {
			t.Errorf("%v says\n%s\nexpected %s", c.args, out, c.want)
		}
	}
	document, err := os.ReadFile(filepath.Join("..", "..", adoptDocument))
	must(t, err)
	if out := a.argosy(t, 0, "adopt", "--repo", fleet, "--applicationset", "metrics"); !strings.Contains(string(document), "--from repository\n"+out+"```") {
		t.Errorf("%s shows something else than\n%s", adoptDocument, out)
	}
	must(t, a.hub.Client.Apply(t.Context(), argocd.Namespace, []byte("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: nobody}\n")))
	file := filepath.Join(a.dir, "nobody.kubeconfig")
	must(t, a.hub.ServiceAccountKubeconfig(t.Context(), argocd.Namespace, "nobody", file))
	out, _ := exec.CommandContext(t.Context(), argosy, "adopt", "--applicationset", "apps", "--kubeconfig", file, "--context", "hub", "--apply", "--yes").CombinedOutput()
	if !strings.Contains(string(out), "list configmaps in namespace \"argocd\": configmaps is forbidden") {
		t.Errorf("without permissions: %s", out)
	}
	if changes := a.ledger.since(mark); len(changes) > 0 {
		t.Errorf("refused, and yet changed:\n%s", lines(changes))
	}
}

// handOver runs adopt to its end. It kills the process when it begins a step for the first time,
// and at a random moment when it begins it for the second time.
func (a *adopted) handOver(t *testing.T, args ...string) {
	t.Helper()
	seen := map[string]int{}
	for {
		cmd := a.command(t, append([]string{"adopt", "--apply", "--yes"}, args...)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		isKilled := false
		for s := bufio.NewScanner(out); s.Scan(); {
			step := s.Text()
			if strings.Contains(step, " ") || step == "" || isKilled {
				continue
			}
			switch seen[step]++; seen[step] {
			case 1:
				isKilled = true
				_ = cmd.Process.Kill()
			case 2:
				isKilled = true
				time.AfterFunc(rand.N(500*time.Millisecond), func() { _ = cmd.Process.Kill() })
			}
		}
		err = cmd.Wait()
		switch {
		case err == nil: // it may have ended before it was to be killed
			return
		case !isKilled:
			t.Fatalf("%s: %v\n%s", cmd, err, errs.String())
		}
		a.kills++
	}
}

// names are those of the hub's Applications.
func (a *adopted) names() (out []string) {
	for name := range a.ledger.all(a.hub.Name, "Application") {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// allSynced waits for a number of Applications, all of them synced and healthy.
func (a *adopted) allSynced(t *testing.T, what string, count int) {
	t.Helper()
	must(t, a.await(t.Context(), 4*patience, what, func() string {
		all := a.ledger.all(a.hub.Name, "Application")
		if len(all) != count {
			return fmt.Sprintf("there are %d of %d", len(all), count)
		}
		return a.unsettledOf(all)
	}))
}

func (a *adopted) unsettledOf(all map[string]*unstructured.Unstructured) string {
	for name, app := range all {
		if s := state(app); s != good {
			return name + " is " + s
		}
	}
	return ""
}

// objects are the deployed objects, without what tracks them.
func (a *adopted) objects() map[string]string {
	out := map[string]string{}
	for _, c := range a.spokes {
		for _, kind := range []string{"ConfigMap", "Deployment"} {
			for name, o := range a.ledger.all(c.Name, kind) {
				text, _ := json.Marshal([]any{o.Object["spec"], o.Object["data"]}) // a generation counts annotations, too
				out[c.Name+" "+kind+" "+name] = fmt.Sprintf("UID %s, %s", o.GetUID(), text)
			}
		}
	}
	return out
}

// unchanged fails where an object of a spoke is not as it was, has been deleted or made anew since,
// or where an Application that keeps its name was out of sync.
func (a *adopted) unchanged(t *testing.T, before map[string]string, mark int) {
	t.Helper()
	now := a.objects()
	for name, was := range before {
		if now[name] != was {
			t.Errorf("%s is %s; it was %s", name, now[name], was)
		}
	}
	if len(now) != len(before) || len(before) < 8*len(a.spokes) {
		t.Errorf("%d objects are deployed, and %d were", len(now), len(before))
	}
	for _, c := range a.ledger.since(mark) {
		if c.cluster != a.hub.Name && (c.what != "changed" || strings.HasPrefix(c.name, "ingress-nginx")) {
			t.Errorf("this should not have happened: %s", c)
		}
	}
	for _, c := range a.ledger.unsynced(mark) {
		if strings.HasPrefix(c.name, "ingress-nginx-") {
			t.Errorf("Application %s was out of sync", c.name)
		}
	}
}
