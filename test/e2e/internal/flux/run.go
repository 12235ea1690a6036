package flux

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

const (
	localhost = "127.0.0.1"

	// Two processors do not get faster by more at once.
	fetches, applies = "2", "2"
	// A reconciliation mostly waits, maybe for another of its kind: fewer at once would spare no
	// processor time.
	defaultConcurrent = 4

	minRetry, maxRetry, dependency = 500 * time.Millisecond, 10 * time.Second, 3 * time.Second

	// workers is what a controller logs once it has its caches and begins to reconcile; its
	// readiness does not wait for that (fluxcd/pkg/runtime/probes: a ping).
	workers      = "Starting workers"
	readyTimeout = 2 * time.Minute
	stopTimeout  = 5 * time.Second
)

// install puts onto the cluster what the controllers need there, or waits for it (rule 1).
func (f *Flux) install(ctx context.Context, o Options) error {
	define := f.client.Define
	if o.Delivered {
		define = f.client.Defined
	} else if err := f.client.Namespace(ctx, Namespace); err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, len(Components()))
	for i, dir := range Definitions(o.Binaries) {
		wg.Go(func() { errs[i] = define(ctx, dir) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Definitions are the folders with the CRDs of the controllers' releases.
func Definitions(b component.Binaries) []string {
	var dirs []string
	for _, name := range Components() {
		dirs = append(dirs, filepath.Join(b.Files(name), "crds"))
	}
	return dirs
}

// run starts the controllers, all at once: none waits for another.
func (f *Flux) run(ctx context.Context, s *setup) error {
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i, p := range []struct {
		process **process.Process
		spec    func() (process.Spec, error)
	}{
		{&f.Source, s.source},
		{&f.Kustomize, s.kustomize},
		{&f.Helm, s.helm},
	} {
		spec, err := p.spec()
		if err != nil {
			return err
		}
		wg.Go(func() { *p.process, errs[i] = s.Group.Start(ctx, spec) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// setup is what the processes' specifications are made of.
type setup struct {
	Options
	paths, versions map[string]string // of the controllers
}

// prepare finds the programs.
func prepare(o Options) (*setup, error) {
	s := &setup{Options: o, paths: map[string]string{}, versions: map[string]string{}}
	var err error
	if s.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	if s.Kubeconfig == "" {
		s.Kubeconfig = o.Cluster.Kubeconfig
	}
	if s.Concurrent <= 0 {
		s.Concurrent = defaultConcurrent
	}
	for _, controller := range []string{sourceController, kustomizeController, helmController} {
		if s.paths[controller], err = o.Binaries.Find(flux + "/" + controller); err != nil {
			return nil, err
		}
		if s.versions[controller], err = versionOf(s.paths[controller], controller); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// versionOf a controller, which it tells nowhere but in what Go writes into each program.
func versionOf(path, controller string) (string, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", controller, err)
	}
	if module := "github.com/fluxcd/" + controller; info.Main.Path != module {
		return "", fmt.Errorf("version of %s: it is of module %s, expected %s", path, info.Main.Path, module)
	}
	return info.Main.Version, nil
}

func (s *setup) source() (process.Spec, error) {
	artifacts, err := process.FreePort()
	if err != nil {
		return process.Spec{}, err
	}
	storage, err := s.directory(sourceController, "artifacts")
	if err != nil {
		return process.Spec{}, err
	}
	spec, err := s.controller(sourceController,
		"--concurrent", fetches,
		"--storage-addr", address(artifacts), "--storage-adv-addr", address(artifacts), "--storage-path", storage,
	)
	if err != nil {
		return process.Spec{}, err
	}
	if s.HTTPProxy != "" {
		spec.Env = append(spec.Env, "HTTP_PROXY="+s.HTTPProxy, "HTTPS_PROXY="+s.HTTPProxy)
	}
	spec.Ports = append(spec.Ports, artifacts)
	healthy, serves := spec.Ready, process.WaitTCP(address(artifacts)) // which begins last
	spec.Ready = func(ctx context.Context) error {
		if err := healthy(ctx); err != nil {
			return err
		}
		return serves(ctx)
	}
	return spec, nil
}

func (s *setup) kustomize() (process.Spec, error) {
	return s.controller(kustomizeController, append(s.deploying(), "--concurrent-ssa", applies)...)
}

func (s *setup) helm() (process.Spec, error) {
	return s.controller(helmController, append(s.deploying(),
		// Otherwise it waits ten minutes for its reconciliations.
		"--graceful-shutdown-timeout", (stopTimeout-time.Second).String())...)
}

// deploying is what the two have in common that deploy. An artifact that cannot be had is tried
// again as all that fails, by the rate limit: the fetchers' own attempts are at least 5 seconds
// apart, and keep a worker from anything else.
func (s *setup) deploying() []string {
	return []string{"--concurrent", strconv.Itoa(s.Concurrent), "--http-retry", "0"}
}

// controller is what the three have in common.
func (s *setup) controller(name string, args ...string) (process.Spec, error) {
	metrics, err := process.FreePort()
	if err != nil {
		return process.Spec{}, err
	}
	health, err := process.FreePort()
	if err != nil {
		return process.Spec{}, err
	}
	// A home of its own, without the user's credentials. And a folder for temporary files of its
	// own: at its start kustomize-controller removes those in it that look like its own, whatever
	// process made them.
	home, err := s.directory(name, "home")
	if err != nil {
		return process.Spec{}, err
	}
	tmp, err := s.directory(name, "tmp")
	if err != nil {
		return process.Spec{}, err
	}
	return process.Spec{
		Name: s.Cluster.Name + "-" + name, Path: s.paths[name], Dir: home,
		Env: []string{"KUBECONFIG=" + s.Kubeconfig, "RUNTIME_NAMESPACE=" + Namespace, "HOME=" + home, "TMPDIR=" + tmp},
		Args: append([]string{
			"--metrics-addr", address(metrics), "--health-addr", address(health), "--events-addr", "",
			"--watch-all-namespaces", "--enable-leader-election=false",
			"--log-level", "info", "--log-encoding", "console",
			"--min-retry-delay", minRetry.String(), "--max-retry-delay", maxRetry.String(),
			"--requeue-dependency", dependency.String(),
		}, args...),
		Ports:    []int{metrics, health},
		ReadyLog: workers, Ready: process.WaitHTTP("http://"+address(health)+"/readyz", nil), ReadyTimeout: readyTimeout,
		StopTimeout: stopTimeout,
	}, nil
}

// directory below Options.Dir.
func (s *setup) directory(controller, name string) (string, error) {
	dir := filepath.Join(s.Dir, controller, name)
	return dir, os.MkdirAll(dir, 0o700)
}

func address(port int) string { return localhost + ":" + strconv.Itoa(port) }
