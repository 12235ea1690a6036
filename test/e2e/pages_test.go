package e2e

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// pagesFlow: what the pages say is what is there. Each cell's running version, sync and health are
// the live Application's, the desired version is that of `argosy params`, and each why is what
// `argosy explain` says. A member whose API server hangs is unknown, though Argo CD, which caches
// clusters, says Synced and Healthy all the while.
func pagesFlow(t *testing.T, e *environment) {
	p := startPages(t, e)
	e.eventually(t, "the pages have what Argo CD reports", func() string { return p.differs(t, e) })
	p.explains(t, e)
	p.leavesGreen(t, e)
}

// pages is a second service beside the hub's, with the same rights, that serves pages.
type pages struct {
	*process.Process
	url, token string
}

func startPages(t *testing.T, e *environment) *pages {
	t.Helper()
	dir := t.TempDir()
	p := &pages{token: rand.Text()}
	token, kubeconfig := filepath.Join(dir, "token"), filepath.Join(dir, "kubeconfig")
	must(t, os.WriteFile(token, []byte(p.token), 0o600))
	must(t, e.Control.ServiceAccountKubeconfig(t.Context(), hub.Namespace, "generator-plugin", kubeconfig))
	port, err := process.FreePort()
	must(t, err)
	api, err := process.FreePort()
	must(t, err)
	p.url = fmt.Sprintf("http://127.0.0.1:%d", port)
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	group := process.NewGroup(filepath.Join(filepath.Dir(filepath.Dir(e.Fleet.Path())), "log-pages"))
	t.Cleanup(func() { _ = group.Stop() })
	p.Process, err = group.Start(t.Context(), process.Spec{
		Name: "pages", Path: filepath.Join(checkout, "bin", "generator-plugin"), Dir: dir, Ports: []int{api, port},
		Args: []string{
			"--source", e.Git.URL(hub.Repository), "--ref", "main", "--interval", "2s", "--hub", hub.Name, "--token-file", token,
			"--facts", "kubernetes", "--namespace", hub.Namespace, "--listen", fmt.Sprintf("127.0.0.1:%d", api), "--web-addr", fmt.Sprintf("127.0.0.1:%d", port),
		},
		Env:   []string{"KUBECONFIG=" + kubeconfig, "HOME=" + dir},
		Ready: process.WaitHTTP(fmt.Sprintf("http://127.0.0.1:%d/readyz", api), http.DefaultClient),
	})
	must(t, err)
	return p
}

// get reads a page's JSON.
func (p *pages) get(t *testing.T, path string, parameters url.Values, out any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path+"?"+parameters.Encode(), nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s?%s: %s", path, parameters.Encode(), resp.Status)
	}
	must(t, json.NewDecoder(resp.Body).Decode(&struct{ View any }{out}))
}

// pageCell is one component on one cluster.
type pageCell struct {
	cluster, group, component string

	State, Version string
	Running        *struct{ State, Version, Sync, Health, Since, Detail string }
}

func (c pageCell) application() string { return c.component + "-" + c.cluster }

func (c pageCell) isGreen() bool {
	return c.Running != nil && c.Running.State == "present" && c.Running.Sync == "Synced" && c.Running.Health == "Healthy"
}

// cells are those of the matrix that Git wants deployed.
func (p *pages) cells(t *testing.T) (out []pageCell) {
	t.Helper()
	var m struct {
		Columns []struct{ Group, Component string }
		Rows    []struct {
			Cluster string
			Cells   []pageCell
		}
	}
	p.get(t, "/api/v1/matrix", nil, &m)
	for _, r := range m.Rows {
		for i, c := range r.Cells {
			if c.State == "deployed" {
				c.cluster, c.group, c.component = r.Cluster, m.Columns[i].Group, m.Columns[i].Component
				out = append(out, c)
			}
		}
	}
	return out
}

// differs names cells that are not what is live, or not what `argosy params` says.
func (p *pages) differs(t *testing.T, e *environment) string {
	t.Helper()
	facts := filepath.Join(t.TempDir(), "facts.yaml")
	must(t, os.WriteFile(facts, e.facts(t), 0o600))
	desired := map[string]string{}
	for _, group := range groups {
		text, err := exec.CommandContext(t.Context(), argosy, "params", "--repo", e.Fleet.Path(), "--hub", hub.Name, "--view", "components", "--group", group, "--facts", facts, "-o", "json").Output()
		must(t, err)
		var answer struct{ Output struct{ Parameters []set } }
		must(t, json.Unmarshal(text, &answer))
		for _, s := range answer.Output.Parameters {
			desired[s.ApplicationName] = cmp.Or(s.Chart.Version, "in Git")
		}
	}
	var out []string
	cells := p.cells(t)
	for _, c := range cells {
		want, ok := desired[c.application()]
		if !ok || c.Version != want {
			out = append(out, fmt.Sprintf("%s: the page wants %q, argosy params %q (%t)", c.application(), c.Version, want, ok))
		}
		delete(desired, c.application())
		live := e.app(c.application())
		if c.Running == nil || live == nil {
			out = append(out, fmt.Sprintf("%s: running %v, live %t", c.application(), c.Running, live != nil))
			continue
		}
		revision, _, _ := unstructured.NestedString(live.Object, "status", "sync", "revision")
		if page := c.Running; page.Version == "" || !strings.HasPrefix(revision, page.Version) || len(revision) != 40 && page.Version != revision || page.Sync+"/"+page.Health != state(live) {
			out = append(out, fmt.Sprintf("%s: the page has %s %s/%s, the Application %s %s", c.application(), page.Version, page.Sync, page.Health, revision, state(live)))
		}
	}
	for name := range desired {
		out = append(out, name+": it is not on the page")
	}
	if len(cells) < 4*len(e.spokes()) {
		out = append(out, fmt.Sprintf("%d cells; expected more of %d spokes", len(cells), len(e.spokes())))
	}
	return strings.Join(out, "\n")
}

// releasePlaces begin a place in a release's catalog, which the command reads at its own commit.
var releasePlaces = regexp.MustCompile(`"[0-9a-f]{7}:charts/`)

// explains fails where a why is not what `argosy explain` says: of all components of one cluster,
// and of one component of all clusters.
func (p *pages) explains(t *testing.T, e *environment) {
	t.Helper()
	facts := filepath.Join(t.TempDir(), "facts.yaml")
	must(t, os.WriteFile(facts, e.facts(t), 0o600))
	compared := 0
	for _, c := range p.cells(t) {
		if c.cluster != e.spokes()[0] && c.component != "metrics-server" {
			continue
		}
		compared++
		var why struct{ Explanation map[string]any }
		p.get(t, "/api/v1/why", url.Values{"hub": {hub.Name}, "cluster": {c.cluster}, "group": {c.group}, "component": {c.component}}, &why)
		text, err := exec.CommandContext(t.Context(), argosy, "explain", "--repo", e.Fleet.Path(), "--facts", facts, c.cluster, c.group+"/"+c.component, "-o", "json").Output()
		must(t, err)
		var want map[string]any
		text = releasePlaces.ReplaceAll(text, []byte(`"charts/`)) // the service reads the catalogs of its own revision
		must(t, json.Unmarshal(text, &want))
		if release, is := want["release"].(map[string]any); is {
			delete(release, "catalogRevision")
		}
		delete(want, "revision") // a commit, and a folder
		delete(why.Explanation, "revision")
		delete(want, "apiVersion")
		delete(want, "kind")
		delete(why.Explanation, "apiVersion")
		delete(why.Explanation, "kind")
		if !sameTree(why.Explanation, want) {
			got, _ := json.Marshal(why.Explanation)
			wanted, _ := json.Marshal(want)
			t.Errorf("%s: the page explains\n%s\nargosy explain\n%s", c.application(), got, wanted)
		}
	}
	if compared < 2*len(e.spokes()) {
		t.Errorf("%d components were explained; expected more", compared)
	}
}

// leavesGreen stops a member's API server by SIGSTOP: its memory and its open ports stay.
func (p *pages) leavesGreen(t *testing.T, e *environment) {
	t.Helper()
	name := e.spokes()[0]
	green := func() (of, others int, cells []pageCell) {
		for _, c := range p.cells(t) {
			switch {
			case c.cluster != name:
				if c.isGreen() {
					others++
				}
			default:
				cells = append(cells, c)
				if c.isGreen() {
					of++
				}
			}
		}
		return of, others, cells
	}
	count, others, _ := green()
	if count == 0 || others == 0 {
		t.Fatalf("%d cells of %s and %d others are green; expected all", count, name, others)
	}
	server := e.Spokes[name].APIServer
	must(t, syscall.Kill(server.Pid(), syscall.SIGSTOP))
	goesOn := func() { must(t, syscall.Kill(server.Pid(), syscall.SIGCONT)) }
	t.Cleanup(goesOn)
	stopped := time.Now()
	e.within(t, 2*time.Minute, "the cells of "+name+" leave green", func() string {
		if n, _, _ := green(); n > 0 {
			return fmt.Sprintf("%d are", n)
		}
		return ""
	})
	e.timed("pages", "API server stopped, to its cells unknown", stopped)
	_, still, cells := green()
	if still < others {
		t.Errorf("%d cells of other clusters are green; expected %d as before", still, others)
	}
	for _, c := range cells {
		since, err := time.Parse(time.RFC3339, c.Running.Since)
		if err != nil || since.After(stopped.Add(time.Second)) || stopped.Sub(since) > 2*time.Minute || !strings.Contains(c.Running.Detail, "API server does not respond") {
			t.Errorf("%s: %+v; expected unknown since shortly before %s", c.application(), *c.Running, stopped.UTC().Format(time.RFC3339))
		}
		if s := state(e.app(c.application())); s != good {
			t.Logf("%s is %s: Argo CD has noticed, too", c.application(), s)
		}
	}
	must(t, p.Restart(t.Context()))
	e.eventually(t, "a probe of the restarted service has ended", func() string {
		n, _, cells := green()
		if n > 0 {
			t.Fatalf("after a restart of the service %d cells of %s are green, from Argo CD's cache", n, name)
		}
		if detail := cells[0].Running.Detail; !strings.Contains(detail, "no response in time") {
			return detail
		}
		return ""
	})
	goesOn()
	began := time.Now()
	e.eventually(t, "the cells of "+name+" are green again", func() string {
		if n, _, _ := green(); n < count {
			return fmt.Sprintf("%d of %d are", n, count)
		}
		return ""
	})
	e.timed("pages", "API server goes on, to its cells green", began)
}
