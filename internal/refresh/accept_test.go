package refresh

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// Rule 4: a cluster whose facts are refused keeps the last accepted ones, but for its Applications.
func TestRefusedFactsKeepApplications(t *testing.T) {
	t.Parallel()
	clusters := []facts.Cluster{{Name: "a"}, {Name: "b"}}
	app := func(name, cluster string, cascade bool) facts.Application {
		return facts.Application{Name: name, Cluster: cluster, Cascade: cascade}
	}
	old := facts.NewSet(true, clusters...).WithApplications(app("x-a", "a", false), app("x-b", "b", false), app("gone-b", "b", false))
	updated := facts.NewSet(true, clusters...).WithApplications(app("x-a", "a", true), app("x-b", "b", true), app("new-a", "a", false))

	got, known := mergeFacts(old, updated, map[string]bool{"b": true}).Applications()
	want := []facts.Application{app("new-a", "a", false), app("x-a", "a", true), app("x-b", "b", true)}
	if diff := cmp.Diff(want, got); diff != "" || !known {
		t.Errorf("known %v: %s", known, diff)
	}
	if !mergeFacts(old, updated, nil).Equal(updated) {
		t.Error("nothing refused, and not the new facts")
	}
	unknown := facts.NewSet(true, clusters...)
	if _, known := mergeFacts(old, unknown, map[string]bool{"b": true}).Applications(); known {
		t.Error("known in part")
	}
	if _, known := mergeFacts(unknown, updated, nil).Applications(); !known {
		t.Error("what is known now is not taken")
	}
}
