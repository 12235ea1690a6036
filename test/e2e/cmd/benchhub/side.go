package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

const (
	repository = "fleet"
	patience   = 40 * time.Minute // for what a push starts, on busy processors
	// Nothing happens any more when for this long no Application was written, the queue is empty,
	// and the programs that compute take less than idleShare of a processor.
	calm      = 6 * time.Second
	idleShare = 0.06
	interval  = time.Second
)

// side is a hub with one of the forms.
type side struct {
	o        options
	as       form
	fleet    *fleet
	dir      string
	group    *process.Group
	binaries component.Binaries

	git    *gitserver.Server
	etcd   *controlplane.Etcd
	hub    *controlplane.Cluster
	kube   *kube.Client
	argo   *argocd.ArgoCD
	plugin *plugin.Plugin // of argosy

	written map[string]string // files

	mu      sync.Mutex // guards what follows
	touched map[string]bool
	last    time.Time
}

func (s *side) say(format string, args ...any) {
	s.o.progress(string(s.as) + ": " + fmt.Sprintf(format, args...))
}

// start brings up the hub and waits until all Applications are there.
func (s *side) start(ctx context.Context) error {
	s.group = process.NewGroup(filepath.Join(s.dir, "log"))
	var err error
	if s.git, err = gitserver.Start(ctx, filepath.Join(s.dir, "git")); err != nil {
		return err
	}
	if _, err = s.git.Create(repository); err != nil {
		return err
	}
	if _, err = gitcmd.Run(ctx, s.dir, "clone", "--quiet", s.git.URL(repository), s.clone()); err != nil {
		return err
	}
	if err = s.commit(ctx, "the fleet"); err == nil {
		err = s.push(ctx)
	}
	if err != nil {
		return err
	}
	o := controlplane.Options{Binaries: s.binaries, Group: s.group, Dir: filepath.Join(s.dir, "clusters")}
	if s.etcd, err = controlplane.StartEtcd(ctx, o); err != nil {
		return err
	}
	if s.hub, err = controlplane.Start(ctx, o, s.etcd, hubName); err != nil {
		return err
	}
	if s.kube, err = kube.New(s.hub.Config()); err != nil {
		return err
	}
	s.argo, err = argocd.Start(ctx, argocd.Options{
		Binaries: s.binaries, Group: s.group, Version: s.o.argocd, Cluster: s.hub, Dir: filepath.Join(s.dir, "argocd"),
	})
	if err != nil {
		return err
	}
	// The clusters do not exist: there is nothing for the application controller to do but to fail.
	if err := s.argo.Controller.Stop(); err != nil {
		return err
	}
	for i := range s.fleet.clusters {
		if err := s.register(ctx, i); err != nil {
			return err
		}
	}
	if err := s.watch(ctx); err != nil {
		return err
	}
	return s.deliver(ctx)
}

// deliver starts what tells Argo CD of a push, and applies the ApplicationSets.
func (s *side) deliver(ctx context.Context) error {
	if s.as == argosy {
		var err error
		s.plugin, err = plugin.Start(ctx, plugin.Options{
			Name: "generator-plugin", Binary: plugin.Program(s.o.checkout), Group: s.group, Cluster: s.hub, Client: s.kube,
			Dir: filepath.Join(s.dir, "generator-plugin"),
		}, plugin.Chart{
			Helm: s.binaries.Path("helm"), Folder: filepath.Join(s.o.checkout, "charts", "generator-plugin"), Hub: hubName, GitURL: s.git.URL(repository),
		})
		if err != nil {
			return err
		}
	}
	s.git.OnPush(func(gitserver.Push) {
		hook := s.argoWebhook
		if s.as == argosy {
			hook = s.plugin.Pushed
		}
		if err := hook(ctx); err != nil {
			s.say("webhook: %v", err)
		}
	})
	sets, err := s.applicationSets(ctx)
	if err != nil {
		return err
	}
	before, err := s.sample(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	for _, set := range sets {
		if err := s.kube.ApplyObject(ctx, argocd.Namespace, set); err != nil {
			return err
		}
	}
	if err := s.settle(ctx, s.fleet.clusters*s.fleet.components); err != nil {
		return err
	}
	after, err := s.sample(ctx)
	s.say("%d Applications made in %s, %.1f s of the ApplicationSet controller", s.fleet.clusters*s.fleet.components,
		time.Since(began).Round(time.Second), after.since(before)["argocd-applicationset-controller"])
	return err
}

// argoWebhook tells the ApplicationSet controller of a push, as GitHub does.
func (s *side) argoWebhook(ctx context.Context) error {
	body, err := json.Marshal(map[string]any{
		"ref": "refs/heads/main", "repository": map[string]any{"html_url": strings.TrimSuffix(s.git.URL(repository), ".git"), "default_branch": "main"},
	})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.argo.SetsWebhook, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-GitHub-Event", "push")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("argo cd answers %s", response.Status)
	}
	return nil
}

// applicationSets are those of charts/application-sets, or the nested matrices in their place.
func (s *side) applicationSets(ctx context.Context) ([]*unstructured.Unstructured, error) {
	values := filepath.Join(s.dir, "values.yaml")
	if err := os.WriteFile(values, []byte(s.fleet.chartValues()), 0o600); err != nil {
		return nil, err
	}
	sets, err := kube.Template(ctx, s.binaries.Path("helm"), s.dir, "addons", filepath.Join(s.o.checkout, "charts", "application-sets"),
		"--namespace", argocd.Namespace, "--kube-version", "1.33.0", "--values", values)
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		if s.as != argosy {
			nested(set, s.as, s.git.URL(repository))
		}
	}
	return sets, nil
}

// register writes a cluster's Secret, whose server never answers.
func (s *side) register(ctx context.Context, i int) error {
	return s.argo.RegisterCluster(ctx, cluster(i), &controlplane.Cluster{URL: fmt.Sprintf("https://127.0.0.1:%d", i+1), AdminToken: "of nobody"}, labels(i), nil)
}

func (s *side) clone() string { return filepath.Join(s.dir, "clone") }

// commit writes the fleet's files that are new or other than before.
func (s *side) commit(ctx context.Context, message string) error {
	files := s.fleet.files(s.as)
	for path, content := range files {
		if s.written[path] == content {
			continue
		}
		full := filepath.Join(s.clone(), path)
		if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			return err
		}
	}
	s.written = files
	if _, err := gitcmd.Run(ctx, s.clone(), "add", "--all"); err != nil {
		return err
	}
	_, err := gitcmd.Run(ctx, s.clone(), "-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "--quiet", "-m", message)
	return err
}

func (s *side) push(ctx context.Context) error {
	_, err := gitcmd.Run(ctx, s.clone(), "push", "--quiet", "origin", "HEAD:main")
	return err
}

// watch notes which Applications are written, and when the last one was.
func (s *side) watch(ctx context.Context) error {
	applications := s.kube.Dynamic.Resource(kube.Applications).Namespace(argocd.Namespace)
	begin := func() (watch.Interface, error) {
		list, err := applications.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return nil, err
		}
		return applications.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	}
	events, err := begin()
	if err != nil {
		return err
	}
	go func() {
		for ctx.Err() == nil {
			for event := range events.ResultChan() {
				if o, is := event.Object.(*unstructured.Unstructured); is {
					s.mu.Lock()
					s.touched[o.GetName()], s.last = true, time.Now()
					s.mu.Unlock()
				}
			}
			if next, err := begin(); err == nil {
				events = next
			}
		}
	}()
	return nil
}

// computing are the programs that a push makes compute.
var computing = []string{"argocd-applicationset-controller", "argocd-repo-server", "generator-plugin"}

// settle waits until so many Applications are written and nothing happens any more.
func (s *side) settle(ctx context.Context, writes int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var quietSince time.Time
	before, at := sample{}, time.Now()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d Applications written; expected %d within %s: %w", s.touchedSoFar(), writes, patience, ctx.Err())
		case <-ticker.C:
		}
		now := sample{}
		if err := now.processors(); err != nil {
			return err
		}
		busy := 0.0
		for _, name := range computing {
			busy += now[name] - before[name]
		}
		share := busy / time.Since(at).Seconds()
		before, at = now, time.Now()
		s.mu.Lock()
		quiet := len(s.touched) >= writes && time.Since(s.last) > interval
		s.mu.Unlock()
		if !quiet || share > idleShare {
			quietSince = time.Time{}
			continue
		}
		if quietSince.IsZero() {
			quietSince = time.Now()
		}
		if time.Since(quietSince) < calm {
			continue
		}
		all, err := s.sample(ctx)
		if err != nil {
			return err
		}
		if all[queued] == 0 {
			return nil
		}
	}
}

func (s *side) touchedSoFar() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.touched)
}

// result is what a push took.
type result struct {
	sample
	written int
	last    time.Duration // from the push to the last Application written
}

// step pushes a change and waits for its end.
func (s *side) step(ctx context.Context, st step) (result, error) {
	if st.edit != "" {
		s.fleet.edits[st.edit]++
	} else {
		s.fleet.clusters++
	}
	if err := s.commit(ctx, st.name); err != nil {
		return result{}, err
	}
	s.mu.Lock()
	s.touched = map[string]bool{}
	s.mu.Unlock()
	before, err := s.sample(ctx)
	if err != nil {
		return result{}, err
	}
	began := time.Now()
	if err := s.push(ctx); err != nil {
		return result{}, err
	}
	if st.edit == "" { // what External Secrets would write
		if err := s.register(ctx, s.fleet.clusters-1); err != nil {
			return result{}, err
		}
	}
	if err := s.settle(ctx, st.writes); err != nil {
		return result{}, fmt.Errorf("%s: %w", st.name, err)
	}
	after, err := s.sample(ctx)
	if err != nil {
		return result{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.touched) != st.writes {
		return result{}, fmt.Errorf("%s: %d Applications written; expected %d", st.name, len(s.touched), st.writes)
	}
	return result{after.since(before), len(s.touched), s.last.Sub(began)}, nil
}

// rest measures a hub to which nothing happens.
func (s *side) rest(ctx context.Context, d time.Duration) (result, error) {
	before, err := s.sample(ctx)
	if err != nil {
		return result{}, err
	}
	select {
	case <-ctx.Done():
		return result{}, ctx.Err()
	case <-time.After(d):
	}
	after, err := s.sample(ctx)
	return result{sample: after.since(before)}, err
}

// specs are the Applications' labels and specs, with their values parsed.
func (s *side) specs(ctx context.Context) (map[string]string, error) {
	all, err := s.kube.List(ctx, kube.Applications, argocd.Namespace, "")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, app := range all {
		values, _, _ := unstructured.NestedString(app.Object, "spec", "source", "helm", "values")
		var parsed map[string]any
		if err := yaml.Unmarshal([]byte(values), &parsed); err != nil {
			return nil, fmt.Errorf("values of %s: %w", name, err)
		}
		if err := unstructured.SetNestedField(app.Object, text(parsed), "spec", "source", "helm", "values"); err != nil {
			return nil, err
		}
		out[name] = text(map[string]any{"labels": app.GetLabels(), "finalizers": app.GetFinalizers(), "spec": kube.Substance(app.Object["spec"])})
	}
	return out, nil
}

func (s *side) stop() error {
	var errs []error
	if s.group != nil {
		errs = append(errs, s.group.Stop())
	}
	if s.git != nil {
		errs = append(errs, s.git.Close())
	}
	return errors.Join(errs...)
}
