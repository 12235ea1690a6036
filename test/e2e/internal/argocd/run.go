package argocd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

const (
	localhost = "127.0.0.1"

	// Two cores do not get faster by more at once.
	renderings, comparisons, syncs, applies, sets = "4", "8", "4", "8", "4"

	// revisionCache is how long the repo server does not ask Git again where a branch is.
	revisionCache = 5 * time.Second

	// controllerRuns is what the controller logs once it has read its settings (util/settings:
	// Subscribe), and controllerStarts the time it has for that.
	controllerRuns   = "subscribed to settings updates"
	controllerStarts = time.Minute
	logInterval      = 50 * time.Millisecond
)

// ports of 127.0.0.1.
type ports struct{ redis, repo, repoMetrics, setsMetrics, setsProbe, setsWebhook, api, apiMetrics int }

func freePorts() (ports, error) {
	var p ports
	for _, port := range []*int{&p.redis, &p.repo, &p.repoMetrics, &p.setsMetrics, &p.setsProbe, &p.setsWebhook, &p.api, &p.apiMetrics} {
		free, err := process.FreePort()
		if err != nil {
			return ports{}, err
		}
		*port = free
	}
	return p, nil
}

func address(port int) string { return localhost + ":" + strconv.Itoa(port) }

// setup is what the processes' specifications are made of.
type setup struct {
	Options
	release
	ports

	argocd string   // the only binary; which of its programs it is, argv[0] says
	env    []string // of all: a home of their own, and nothing of the user's
}

// run starts the processes, those first that others connect to.
func (a *ArgoCD) run(ctx context.Context, o Options, r release) error {
	s, err := prepare(o, r)
	if err != nil {
		return err
	}
	for _, name := range []string{repoServer, applicationController, applicationSets} {
		if err := o.Cluster.ServiceAccountKubeconfig(ctx, Namespace, name, s.kubeconfig(name)); err != nil {
			return err
		}
	}
	if a.Redis, err = o.Group.Start(ctx, s.redis()); err != nil {
		return err
	}
	if a.RepoServer, err = o.Group.Start(ctx, s.repoServer()); err != nil {
		return err
	}
	controller, err := s.applicationController()
	if err != nil {
		return err
	}
	a.SetsMetrics = "http://" + address(s.setsMetrics) + "/metrics"
	a.SetsWebhook = "http://" + address(s.setsWebhook) + "/api/webhook"
	var controllerErr, setsErr error
	var wg sync.WaitGroup
	wg.Go(func() { a.Controller, controllerErr = startController(ctx, o.Group, controller) })
	wg.Go(func() { a.ApplicationSets, setsErr = o.Group.Start(ctx, s.applicationSetController()) })
	wg.Wait()
	if err := errors.Join(controllerErr, setsErr); err != nil || !o.API {
		return err
	}
	a.API = "http://" + address(s.api) + "/api/v1"
	_, err = o.Group.Start(ctx, s.server())
	return err
}

// prepare finds the programs and makes the folders.
func prepare(o Options, r release) (setup, error) {
	s := setup{Options: o, release: r}
	var err error
	if s.Dir, err = filepath.Abs(o.Dir); err != nil {
		return setup{}, err
	}
	if s.ports, err = freePorts(); err != nil {
		return setup{}, err
	}
	if s.argocd, err = o.Binaries.Find(r.component + "/argocd"); err != nil {
		return setup{}, err
	}
	helm, err := o.Binaries.Find(r.component + "/helm")
	if err != nil {
		return setup{}, err
	}
	bin := filepath.Join(s.Dir, "bin")
	// Git asks argocd for credentials, by this name (util/askpass).
	commands := map[string]string{"argocd": s.argocd, "helm": helm}
	if kustomize := o.Binaries.Path("kustomize"); kustomize != "" {
		commands["kustomize"] = kustomize
	}
	if err := link(bin, commands); err != nil {
		return setup{}, err
	}
	// Argo CD 3.5 verifies each commit, also without GPG, by a script of its image. Of a commit
	// without signature, as all are here, the script says nothing (hack/git-verify-wrapper.sh).
	if err := os.WriteFile(filepath.Join(bin, "git-verify-wrapper.sh"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		return setup{}, err
	}
	s.env = append(slices.Clone(o.Env),
		"PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"ARGOCD_FAKE_IN_CLUSTER=true", // InCluster is KUBECONFIG's cluster (rule 5)
		"ARGOCD_GPG_ENABLED=false",
		// an abstract socket: a file's path may be too long for one
		"ARGOCD_ASK_PASS_SOCK=@argosy-e2e/ask-pass/"+strconv.Itoa(s.ports.repo),
	)
	for _, d := range []struct{ variable, name string }{
		{"HOME", "home"},
		{"TMPDIR", "tmp"},
		{"ARGOCD_TLS_DATA_PATH", "tls"},
		{"ARGOCD_SSH_DATA_PATH", "ssh"},
		{"ARGOCD_PLUGINSOCKFILEPATH", "plugins"},
	} {
		path := filepath.Join(s.Dir, d.name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return setup{}, err
		}
		s.env = append(s.env, d.variable+"="+path)
	}
	return s, nil
}

func (s setup) redis() process.Spec {
	return process.Spec{
		Name: s.Prefix + "argocd-redis", Path: "redis-server", Dir: s.Dir,
		Args: []string{
			"--bind", localhost, "--port", strconv.Itoa(s.ports.redis),
			"--save", "", "--appendonly", "no", "--loglevel", "warning",
		},
		Ports: []int{s.ports.redis}, Ready: process.WaitTCP(address(s.ports.redis)),
	}
}

// The programs, by the names of their ServiceAccounts.
const (
	repoServer            = "argocd-repo-server"
	applicationController = "argocd-application-controller"
	applicationSets       = "argocd-applicationset-controller"
)

// kubeconfig is a program's (rule 6).
func (s setup) kubeconfig(name string) string { return filepath.Join(s.Dir, name+".kubeconfig") }

// command is one of Argo CD's programs, by its name.
func (s setup) command(name string, args []string, env ...string) process.Spec {
	return process.Spec{
		Name: s.Prefix + name, Path: s.argocd, Argv0: name, Dir: s.Dir, Env: slices.Concat(s.env, []string{"KUBECONFIG=" + s.kubeconfig(name)}, env),
		Args: append(args, "--logformat", "text", "--loglevel", "info"),
	}
}

func (s setup) repoServer() process.Spec {
	spec := s.command(repoServer, append([]string{
		"--address", localhost, "--port", strconv.Itoa(s.ports.repo),
		"--metrics-address", localhost, "--metrics-port", strconv.Itoa(s.repoMetrics),
		"--redis", address(s.ports.redis),
		"--disable-tls",
		"--parallelismlimit", renderings,
		"--revision-cache-expiration", revisionCache.String(),
	}, s.release.repoServerFlags...), append([]string{
		// What failed three times is otherwise not tried again for an hour, whatever was fixed
		// meanwhile.
		"ARGOCD_PAUSE_GEN_AFTER_FAILED_ATTEMPTS=0",
		"KUBECONFIG=" + filepath.Join(s.Dir, "none"), // its pod has none, whose namespace Helm would take
	}, s.release.repoServer...)...)
	spec.Ports = []int{s.ports.repo, s.repoMetrics}
	spec.Ready = process.WaitHTTP("http://"+address(s.repoMetrics)+"/healthz?full=true", nil)
	return spec
}

func (s setup) applicationController() (process.Spec, error) {
	apiServer, err := portOf(s.Cluster.URL)
	if err != nil {
		return process.Spec{}, err
	}
	spec := s.command(applicationController, []string{
		"--namespace", Namespace,
		"--redis", address(s.ports.redis),
		"--repo-server", address(s.ports.repo), "--repo-server-plaintext",
		"--app-resync", strconv.Itoa(seconds(s.Resync)), "--app-resync-jitter", "0",
		"--status-processors", comparisons, "--operation-processors", syncs, "--kubectl-parallelism-limit", applies,
		// Of two changes by hand soon after another, the second is otherwise left as it is for up
		// to five minutes. The cap is longer than --app-resync: what was compared while a kind was
		// new, and its schema not there yet, is remembered as out of sync until an Application has
		// not been looked at for that long (controller/state.go, useDiffCache), and healing looks
		// at it each time.
		"--self-heal-backoff-timeout-seconds", "1", "--self-heal-backoff-cap-seconds", strconv.Itoa(seconds(s.Resync) + 5), "--self-heal-backoff-cooldown-seconds", "10",
	}, append([]string{
		"ARGOCD_SYNC_WAVE_DELAY=0",
		"ARGOCD_CLUSTER_CACHE_LIST_SEMAPHORE=10",          // all clusters are listed at once at the start
		"ARGOCD_CLUSTER_SYNC_RETRY_TIMEOUT_DURATION=5s",   // until a cluster that did not answer is asked again
		"ARGOCD_CLUSTER_CACHE_WATCH_RESYNC_DURATION=1h0m", // until a watch begins anew
	}, s.release.controller...)...)
	spec.Forward = append([]int{apiServer, s.ports.redis, s.ports.repo}, s.Forward...)
	return spec, nil
}

func (s setup) applicationSetController() process.Spec {
	spec := s.command(applicationSets, []string{
		"--namespace", Namespace,
		"--argocd-repo-server", address(s.ports.repo), "--repo-server-plaintext",
		"--metrics-addr", address(s.setsMetrics), "--probe-addr", address(s.setsProbe), "--webhook-addr", address(s.setsWebhook),
		"--enable-leader-election=false",
		"--enable-progressive-syncs",
		"--concurrent-reconciliations", sets,
	})
	// It lists all clusters once for each Application that it validates, and otherwise waits for
	// its own limit of 50 requests a second.
	spec.Env = append(spec.Env, "ARGOCD_K8S_CLIENT_QPS=500")
	if s.HTTPProxy != "" {
		spec.Env = append(spec.Env, "HTTP_PROXY="+s.HTTPProxy)
	}
	spec.Ports = []int{s.setsMetrics, s.setsProbe, s.setsWebhook}
	spec.Ready = process.WaitTCP(address(s.setsProbe)) // no check is registered there: GETs are answered with 404
	return spec
}

// server has the rights of the application controller, and lets everybody in.
func (s setup) server() process.Spec {
	spec := s.command("argocd-server", []string{
		"--namespace", Namespace,
		"--address", localhost, "--port", strconv.Itoa(s.ports.api), "--insecure", "--disable-auth", "--staticassets", "",
		"--metrics-address", localhost, "--metrics-port", strconv.Itoa(s.apiMetrics),
		"--redis", address(s.ports.redis),
		"--repo-server", address(s.ports.repo), "--repo-server-plaintext",
	}, "KUBECONFIG="+s.kubeconfig(applicationController))
	spec.Ports = []int{s.ports.api, s.apiMetrics}
	spec.Ready = process.WaitHTTP("http://"+address(s.ports.api)+"/healthz?full=true", nil)
	return spec
}

// startController waits until the controller runs. What it serves cannot be asked (rule 4), but its
// log can.
func startController(ctx context.Context, g *process.Group, s process.Spec) (*process.Process, error) {
	p, err := g.Start(ctx, s)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, controllerStarts, fmt.Errorf("not running within %s", controllerStarts))
	defer cancel()
	ticker := time.NewTicker(logInterval)
	defer ticker.Stop()
	for {
		text, err := os.ReadFile(p.Log())
		if err == nil && bytes.Contains(text, []byte(controllerRuns)) {
			return p, nil
		}
		select {
		case <-p.Exited():
			return nil, fmt.Errorf("start %s: it ended at once: see %s", s.Name, p.Log())
		case <-ctx.Done():
			return nil, fmt.Errorf("start %s: %w: %q expected in %s", s.Name, context.Cause(ctx), controllerRuns, p.Log())
		case <-ticker.C:
		}
	}
}

func portOf(server string) (int, error) {
	u, err := url.Parse(server)
	if err != nil {
		return 0, err
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return 0, fmt.Errorf("API server %s: expected an address with a port", server)
	}
	return port, nil
}

// seconds rounds up: 0 is never.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
