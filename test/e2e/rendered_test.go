package e2e

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plancheck"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

var (
	renderedCases = flag.Int("rendered-cases", 60, "how many Applications and ApplicationSets TestRendered makes up")
	renderedSeed  = flag.Uint64("rendered-seed", 1, "the first of their seeds")
)

// renderedFiles are the files of a repository without a fleet, each below its name. Those of a
// second one begin with @other/. REPO and OTHER are their addresses, and <CR> ends a line of
// Windows. The first are lines of Applications: the name, the namespace if it is another, and the
// source or the sources.
//
//go:embed testdata/rendered.txt
var renderedFiles string

// The marks of Applications and ApplicationSets in these files.
const (
	notFollowed = "# not followed" // Argosy says so
	notIn2      = "# of 3"         // the API of Argo CD 2.14 does not have it
	otherIn2    = "# 3 differs"    // Argo CD 2.14 makes something else, and Argosy what 3.6 makes
)

const (
	sameServer = `---
apiVersion: v1
kind: Secret
metadata: {name: cluster-%[1]s, labels: {argocd.argoproj.io/secret-type: cluster, environment: %[1]s}, annotations: {cluster_name: %[1]s}}
stringData: {name: %[1]s, server: '%[2]s', config: '%[3]s'}
`
	renderedApplication = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: argocd}
spec: {project: default, destination: {server: https://kubernetes.default.svc, namespace: %s}, %s}
`
)

// rendering compares what Argosy computes of a repository with what Argo CD makes of it.
type rendering struct {
	*adopted
	argo     *argocd.ArgoCD
	files    map[string]string // of the repository
	clusters string            // their Secrets
}

// deployment is an Application and what it makes. err says why it fails, or is not followed.
type deployment struct {
	app     map[string]any
	objects map[string]any
	err     string
}

// TestRendered: of a repository without a fleet, what Argosy computes offline is, field by field,
// what Argo CD makes: its ApplicationSet controller the Applications, its repo-server the objects
// of each.
func TestRendered(t *testing.T) {
	hubs.beside(t, 30)
	r := newRendering(t)
	began := time.Now()
	for name, text := range r.files {
		if strings.HasPrefix(name, "apps/") || strings.HasPrefix(name, "sets/") {
			must(t, r.hub.Client.Apply(t.Context(), argocd.Namespace, []byte(text)))
		}
	}
	ours, took := r.computed(t)
	theirs := r.made(t, ours)
	all, equal, objects, failed := maps.Clone(ours), 0, 0, 0
	maps.Copy(all, theirs)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, b := theirs[name], ours[name]
		differs := cmp.Diff(a.objects, b.objects)
		switch mark := r.files["apps/"+name+".yaml"] + r.files["sets/"+name+".yaml"]; {
		case a.app == nil || b.app == nil:
			if b.err == "" {
				t.Errorf("Application %s (-Argo CD +Argosy):\n%s", name, cmp.Diff(a.app, b.app))
			}
		case cmp.Diff(a.app, b.app) != "":
			t.Errorf("Application %s (-Argo CD +Argosy):\n%s", name, cmp.Diff(a.app, b.app))
		case strings.Contains(mark, notFollowed):
			if !strings.Contains(b.err, "warning: ") || len(b.objects) > 0 {
				t.Errorf("%s is followed, or it is not said: %s", name, b.err)
			}
		case strings.Contains(mark, otherIn2) && argoCD() == "2.14":
			if differs == "" && a.err == "" {
				t.Errorf("%s does not differ", name)
			}
		case a.err != "" && strings.Contains(b.err, "error: "):
			failed++
		case a.err != "" || differs != "":
			t.Errorf("%s (-Argo CD +Argosy): %s\n%s\n%s", name, a.err, b.err, differs)
		default:
			equal++
			objects += len(a.objects)
		}
	}
	t.Logf("%d Applications with %d objects are equal, and %d fail in both; Argo CD takes %.1f s for it, Argosy %.1f s", equal, objects, failed, time.Since(began).Seconds(), took)
}

// newRendering starts a hub with Argo CD that deploys nothing, and pushes the repositories.
func newRendering(t *testing.T) *rendering {
	t.Helper()
	hub := testcluster.StartNamed(t, []string{"hub"}, "argocd-"+argoCD(), "kustomize")[0]
	r := &rendering{adopted: &adopted{environment: &environment{ledger: newLedger()}, hub: hub, dir: t.TempDir()}, files: map[string]string{}}
	var err error
	r.argo, err = argocd.Start(t.Context(), argocd.Options{Binaries: hub.Binaries, Group: hub.Group, Version: argoCD(), Cluster: hub.Cluster, API: true, Dir: filepath.Join(hub.Dir, "argocd")})
	must(t, err)
	must(t, r.argo.Controller.Stop())
	for environment, host := range map[string]string{"dev": "localhost", "prod": "LOCALHOST"} {
		r.clusters += fmt.Sprintf(sameServer, environment, strings.Replace(hub.URL, "127.0.0.1", host, 1), hub.ArgoConfig())
	}
	must(t, hub.Client.Apply(t.Context(), argocd.Namespace, []byte(r.clusters)))
	r.git, err = gitserver.Start(t.Context(), filepath.Join(r.dir, "git"))
	must(t, err)
	t.Cleanup(func() { _ = r.git.Close() })
	other := map[string]string{}
	add := func(name, text string) {
		text = strings.NewReplacer("REPO", r.git.URL("apps"), "OTHER", r.git.URL("other"), "<CR>", "\r").Replace(text)
		if rest, is := strings.CutPrefix(name, "@other/"); is {
			other[rest] = text
		} else if argoCD() != "2.14" || !strings.Contains(text, notIn2) {
			r.files[name] = text
		}
	}
	headings := regexp.MustCompile(`(?m)^-- (\S+) --\n`).FindAllStringSubmatchIndex(renderedFiles, -1)
	for i, at := range headings {
		end := len(renderedFiles)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		name, text := renderedFiles[at[2]:at[3]], renderedFiles[at[1]:end]
		if name != "applications" {
			add(name, text)
			continue
		}
		for line := range strings.Lines(text) {
			name, source, _ := strings.Cut(strings.TrimSpace(line), ": ")
			name, text := renderedFile(name, source)
			add(name, text)
		}
	}
	for seed := range uint64(*renderedCases) {
		g := &generated{rand.New(rand.NewPCG(7, *renderedSeed+seed)), fmt.Sprintf("gen-%d", *renderedSeed+seed), add}
		g.any()
	}
	r.push(t, "apps", r.files)
	r.push(t, "other", other)
	return r
}

// renderedFile returns the file of an Application with the given source or sources, as one line.
func renderedFile(name, source string) (file, text string) {
	name, namespace, isOther := strings.Cut(name, "@")
	if !isOther {
		namespace = name
	}
	source, mark, _ := strings.Cut(source, "  #")
	if field := "source: "; strings.HasPrefix(source, "[") {
		source = "sources: " + source
	} else {
		source = field + "{repoURL: REPO, targetRevision: main, " + source[1:]
	}
	return "apps/" + name + ".yaml", fmt.Sprintf(renderedApplication, name, namespace, source) + "#" + mark + "\n"
}

// computed returns what Argosy computes of each Application, and in how many seconds.
func (r *rendering) computed(t *testing.T) (map[string]deployment, float64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "clusters.yaml")
	must(t, os.WriteFile(file, []byte(r.clusters), 0o600))
	v, err := r.hub.Client.Typed.Discovery().ServerVersion()
	must(t, err)
	version := v.GitVersion
	if argoCD() == "2.14" { // it leaves out the patch
		version = fmt.Sprintf("v%s.%s.0", v.Major, v.Minor)
	}
	_, lists, err := r.hub.Client.Typed.Discovery().ServerGroupsAndResources()
	must(t, err)
	var apis []string
	for _, list := range lists {
		apis = append(apis, list.GroupVersion)
		for _, resource := range list.APIResources {
			apis = append(apis, list.GroupVersion+"/"+resource.Kind)
		}
	}
	program := filepath.Join(r.dir, "objects")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./hack/objects")
	build.Dir = filepath.Join("..", "..")
	text, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	began := time.Now()
	cmd := exec.CommandContext(t.Context(), program, "--clusters", file, "--kube-version", version, "--apis", strings.Join(apis, ","),
		"--repository", r.git.URL("other")+"="+filepath.Join(r.dir, "other"), filepath.Join(r.dir, "apps"))
	cmd.Stderr = os.Stderr
	text, err = cmd.Output()
	must(t, err)
	took := time.Since(began).Seconds()
	var found struct {
		Objects []struct {
			By     string
			Object map[string]any
		}
		Problems []string
	}
	must(t, json.Unmarshal(text, &found))
	out, of := map[string]deployment{}, map[string][]map[string]any{}
	for _, x := range found.Objects {
		of[x.By] = append(of[x.By], x.Object)
	}
	for _, x := range found.Objects {
		if o := (&unstructured.Unstructured{Object: x.Object}); o.GetKind() == "Application" && out[o.GetName()].app == nil {
			path, _, _ := unstructured.NestedString(o.Object, "spec", "source", "path")
			d := deployment{app: plancheck.Normalized(t, o), objects: byName(of[o.GetName()])}
			for _, p := range found.Problems {
				if strings.Contains(p, fmt.Sprintf("%q", o.GetName())) || strings.HasPrefix(p, "error: "+filepath.Clean(path)+"/") {
					d.err += p + "\n"
				}
			}
			out[o.GetName()] = d
		}
	}
	return out, took
}

// byName returns objects by kind, namespace and name, with a number where one is there again. They
// lack what Argo CD adds or hides: the tracking id, the namespace of Applications, the values of
// Secrets; and tests, which it does not deploy.
func byName(all []map[string]any) map[string]any {
	out := map[string]any{}
	for _, tree := range all {
		o := (&unstructured.Unstructured{Object: tree}).DeepCopy()
		annotations := o.GetAnnotations()
		if strings.HasPrefix(annotations["helm.sh/hook"], "test") {
			continue
		}
		delete(annotations, "argocd.argoproj.io/tracking-id")
		o.SetAnnotations(annotations)
		if metadata, is := o.Object["metadata"].(map[string]any); is && len(annotations) == 0 {
			delete(metadata, "annotations")
			if len(metadata) == 0 {
				delete(o.Object, "metadata")
			}
		}
		switch o.GetKind() {
		case "Application", "ApplicationSet":
			o.SetNamespace(argocd.Namespace)
		case "Secret":
			hidden := map[string]any{}
			for _, field := range []string{"data", "stringData"} {
				values, _ := o.Object[field].(map[string]any)
				for key := range values {
					hidden[key] = "hidden"
				}
				delete(o.Object, field)
			}
			o.Object["data"] = hidden
		}
		name := fmt.Sprintf("%s %s %s/%s", o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName())
		for out[name] != nil {
			name += " again"
		}
		out[name] = o.Object
	}
	return out
}

// made returns what Argo CD makes of each Application. It applies Applications that others make,
// and waits for those that Argosy knows.
func (r *rendering) made(t *testing.T, ours map[string]deployment) map[string]deployment {
	t.Helper()
	out := map[string]deployment{}
	for last := time.Now(); time.Since(last) < 5*time.Second; time.Sleep(100 * time.Millisecond) {
		live, err := r.hub.Client.List(t.Context(), kube.Applications, argocd.Namespace, "")
		must(t, err)
		maps.DeleteFunc(live, func(name string, _ *unstructured.Unstructured) bool { return out[name].app != nil })
		var mu sync.Mutex
		var wg sync.WaitGroup
		free := make(chan struct{}, 4)
		for name, app := range live {
			wg.Go(func() {
				free <- struct{}{}
				d := r.manifests(t, name)
				<-free
				d.app = plancheck.Normalized(t, app)
				mu.Lock()
				defer mu.Unlock()
				out[name] = d
			})
		}
		wg.Wait()
		for name := range live {
			last = time.Now()
			for _, tree := range out[name].objects {
				if o := (&unstructured.Unstructured{Object: tree.(map[string]any)}); strings.HasPrefix(o.GetAPIVersion(), "argoproj.io/") {
					must(t, r.hub.Client.ApplyObject(t.Context(), argocd.Namespace, o.DeepCopy()))
				}
			}
		}
		if missing := slices.Collect(maps.Keys(ours)); len(live) == 0 && !slices.ContainsFunc(missing, func(name string) bool { return out[name].app == nil && ours[name].err == "" }) {
			break
		}
	}
	return out
}

// manifests asks Argo CD's API for what its repo-server makes of an Application.
func (r *rendering) manifests(t *testing.T, name string) (out deployment) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.argo.API+"/applications/"+name+"/manifests", nil)
	must(t, err)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	var answer struct {
		Manifests []string
		Message   string
	}
	must(t, json.Unmarshal(text, &answer))
	if response.StatusCode != http.StatusOK {
		out.err = answer.Message
	}
	all := make([]map[string]any, len(answer.Manifests))
	for i, m := range answer.Manifests {
		must(t, json.Unmarshal([]byte(m), &all[i]))
	}
	out.objects = byName(all)
	return out
}
