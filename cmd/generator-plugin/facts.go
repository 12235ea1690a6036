package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/hub"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/notify"
	"github.com/argosy-hub/argosy/internal/service/server"
)

// openFacts opens the provider of facts, and with Kubernetes the ApplicationSets to refresh.
// --flux-namespace adds the HelmReleases of Flux.
func (f *flags) openFacts(log *slog.Logger) (refresh.FactsProvider, notify.Client, error) {
	provider, sets, err := f.clusterFacts(log)
	if err != nil || f.fluxNamespace == "" {
		return provider, sets, err
	}
	config, err := hub.LoadConfig(f.kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	flux, err := hub.NewFlux(hub.Options{Config: config, Namespace: f.fluxNamespace, Log: log})
	if err != nil {
		return nil, nil, err
	}
	f.statuses = flux.Statuses()
	return withFlux(provider, flux), sets, nil
}

// kubernetesFacts is the value of --facts for Argo CD's cluster Secrets.
const kubernetesFacts = "kubernetes"

func (f *flags) clusterFacts(log *slog.Logger) (refresh.FactsProvider, notify.Client, error) {
	switch f.facts {
	case "none":
		log.Warn("no facts of the clusters (--facts none): every member counts as registered, and labels come from Git only")
		return refresh.StaticFacts{}, nil, nil
	case kubernetesFacts:
		return f.kubernetesFacts(log)
	}
	file, err := refresh.NewFileFacts(f.facts)
	return file, nil, err
}

func (f *flags) kubernetesFacts(log *slog.Logger) (refresh.FactsProvider, notify.Client, error) {
	config, err := hub.LoadConfig(f.kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	o := hub.Options{Config: config, Namespace: f.namespace, Log: log}
	h, err := hub.New(o)
	if err != nil {
		return nil, nil, err
	}
	f.statuses = h.Statuses()
	if f.grants == "" {
		if f.healthCheck, err = hub.NewHealthCheck(o); err != nil {
			return nil, nil, err
		}
	}
	if !f.refreshSets {
		return h, nil, nil
	}
	sets, err := hub.NewApplicationSets(o, f.pluginConfigMap)
	if err != nil {
		return nil, nil, err
	}
	return h, sets, nil
}

// extended adds the facts of another watch to a provider's facts.
type extended struct {
	refresh.FactsProvider
	add func(facts.Set) (all facts.Set, synced bool)
	err func() error
	run func(ctx context.Context, changed func())
}

// Current returns the facts of the provider and the watch.
func (e extended) Current() (facts.Set, bool) {
	set, complete := e.FactsProvider.Current()
	set, synced := e.add(set)
	return set, complete && synced
}

// Forget drops the facts of clusters that have neither a Secret nor a member file.
func (e extended) Forget(isMember func(name string) bool) {
	if p, is := e.FactsProvider.(refresh.Forgetter); is {
		p.Forget(isMember)
	}
}

// Err returns why the facts of the provider or the watch are not the newest.
func (e extended) Err() error {
	if err := e.FactsProvider.Err(); err != nil {
		return err
	}
	return e.err()
}

// Run keeps the facts of both up to date.
func (e extended) Run(ctx context.Context, changed func()) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { e.run(ctx, changed) })
	e.FactsProvider.Run(ctx, changed)
}

func withFlux(p refresh.FactsProvider, flux *hub.Flux) refresh.FactsProvider {
	add := func(set facts.Set) (facts.Set, bool) {
		s := flux.State()
		if s.Known {
			set = set.WithHelmReleases(s.HelmReleases...)
		}
		return set, s.Synced
	}
	return extended{p, add, func() error { return flux.State().Err }, flux.Run}
}

func withGrants(p refresh.FactsProvider, grants *hub.OwnershipGrants) refresh.FactsProvider {
	add := func(set facts.Set) (facts.Set, bool) {
		s := grants.State()
		return set.WithGrants(grants.Member(), s.Grants...), s.Synced
	}
	return extended{p, add, func() error { return grants.State().Err }, grants.Run}
}

// addGrants adds the ownership grants of the member of --grants.
func (f *flags) addGrants(o *server.Options, log *slog.Logger) error {
	if f.grants == "" {
		return nil
	}
	config, err := hub.LoadConfig(f.kubeconfig)
	if err != nil {
		return err
	}
	grants, err := hub.NewOwnershipGrants(hub.Options{Config: config, Namespace: f.grantsNamespace, Log: log}, f.grants)
	if err != nil {
		return err
	}
	o.Facts, o.Grants = withGrants(o.Facts, grants), grants
	return nil
}
