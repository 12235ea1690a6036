package overview

import (
	"iter"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/problem"
)

// The words why a cluster does not follow the newest commit.
const (
	HeldTenant     = "held-tenant"
	HeldQuarantine = "quarantined"
	HeldDraining   = "draining"
)

// Withheld stands for a text that names clusters outside of the reader's scope.
const Withheld = "the reason names what is outside of this token's scope; the platform team sees it"

// heldBecause says in a word why a cluster does not follow the newest commit.
func heldBecause(st *fleetstate.State, c *fleetstate.Cluster) string {
	if c.LastKnownGood != nil && c.Desired().Member.Lifecycle == fleet.Draining {
		return HeldDraining
	}
	q, is := st.QuarantineOf(c)
	switch {
	case !is:
		return ""
	case q.First().Reason == problem.RemovalRefused:
		return HeldTenant
	}
	return HeldQuarantine
}

// Text is a text without the names of clusters that the scope does not see (rule 2). Complete
// scopes see every text.
func Text(st *fleetstate.State, scope Scope, complete bool, s string) string {
	if complete || !namesInvisible(st, scope, s) {
		return s
	}
	return Withheld
}

// namesInvisible reports whether a text names a cluster, but for hubs, that a scope does not see.
func namesInvisible(st *fleetstate.State, scope Scope, s string) bool {
	for word := range words(s) {
		for _, hub := range st.Fleet.Hubs() {
			if word == hub {
				continue
			}
			for rest, ok := word, true; ok; _, rest, ok = strings.Cut(rest, "-") { // dns-one names cluster one
				if c := st.Cluster(hub, rest); c != nil && rest != hub && !visible(scope, c) {
					return true
				}
			}
		}
	}
	return false
}

// words are what may be names in a text.
func words(s string) iter.Seq[string] {
	return strings.FieldsFuncSeq(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' })
}

// Known is a time in seconds, nil for one that is not known.
func Known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Second)
	return &t
}

// Short is a revision as people read it.
func Short(revision string) string {
	if len(revision) == 40 {
		return revision[:10]
	}
	return problem.Truncate(revision, 19)
}
