package refresh

import (
	"context"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// FactsProvider is where facts come from.
type FactsProvider interface {
	// Current returns the newest facts, and whether they are complete: not before the first poll.
	Current() (facts.Set, bool)
	// Err is why Current is not the newest, nil when it is.
	Err() error
	// Run keeps Current up to date until the context ends. It calls changed after each change of
	// Current or Err.
	Run(ctx context.Context, changed func())
	// Refresh makes Run poll now. It does not wait.
	Refresh()
}

// StaticFacts never change. The zero value is no facts: every member counts as registered.
type StaticFacts struct{ Set facts.Set }

// Current returns the set.
func (s StaticFacts) Current() (facts.Set, bool) { return s.Set, true }

// Err is nil.
func (StaticFacts) Err() error { return nil }

// Run waits for the context.
func (StaticFacts) Run(ctx context.Context, _ func()) { <-ctx.Done() }

// Refresh does nothing.
func (StaticFacts) Refresh() {}
