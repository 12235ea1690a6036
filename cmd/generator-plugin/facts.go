package main

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/hub"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/refresh"
)

// provider is where --facts says that facts come from.
func (f *flags) provider(log *slog.Logger) (refresh.FactsProvider, error) {
	switch f.facts {
	case "none":
		return refresh.StaticFacts{}, nil
	case "kubernetes":
		config, err := hub.LoadConfig(f.kubeconfig)
		if err != nil {
			return nil, err
		}
		hub.CaptureLogs(log)
		h, err := hub.New(hub.Options{Config: config, Namespace: f.namespace, Log: log})
		if err != nil {
			return nil, err
		}
		return kubernetes{hub: h, log: log}, nil
	}
	return refresh.NewFileFacts(f.facts)
}

// kubernetes is a hub's cluster Secrets as refresh wants them.
type kubernetes struct {
	hub *hub.Hub
	log *slog.Logger
}

// Current is what the Secrets say.
func (k kubernetes) Current() (facts.Set, bool) {
	s := k.hub.State()
	return s.Facts, s.Synced
}

// Err is why the API server cannot be asked.
func (k kubernetes) Err() error { return k.hub.State().Err }

// Refresh does nothing: a watch is always up to date.
func (kubernetes) Refresh() {}

// Run watches the Secrets.
func (k kubernetes) Run(ctx context.Context, changed func()) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { k.hub.Run(ctx) })
	var told []problem.Problem
	k.hub.Watch(ctx, func(s hub.State) {
		for _, p := range s.Problems {
			if !slices.ContainsFunc(told, func(q problem.Problem) bool { return problem.Compare(p, q) == 0 }) {
				k.log.Warn("cluster secrets", "reason", p.Reason, "problem", p.Error())
			}
		}
		told = s.Problems
		changed()
	})
}
