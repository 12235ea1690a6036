package pipeline

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/argocd"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// TestBothStatesShareTheCatalogsOfReleases: base and head of a plan ask side by side for the
// catalog of a release at another revision, and get the same one. Without a lock, the race detector
// finds it.
func TestBothStatesShareTheCatalogsOfReleases(t *testing.T) {
	t.Parallel()
	files := repository(t)
	files[layout] = ofChart
	s := snapshot.FromMap(files)
	base, head, err := states(s, s, facts.Set{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(context.Background(), Options{Tools: expand.Tools{ApplicationSets: argocd.New()}})
	if err != nil {
		t.Fatal(err)
	}
	finders := []catalog.FindReleaseCatalog{p.catalogsOf(base, s, nil), p.catalogsOf(head, s, nil)}
	for i := range 20 {
		name := fmt.Sprintf("next-%d", i)
		p.revisions[name] = revision{snapshot: snapshot.FromMap(map[string]string{listed: name + ": {}\n"})}
		var both sync.WaitGroup
		found := make([]*catalog.ReleaseCatalog, len(finders))
		for i, find := range finders {
			both.Go(func() {
				found[i] = find("hub-1", fleettest.Group, release.Source{RepoURL: ours, Path: "charts/application-sets", TargetRevision: name})
			})
		}
		both.Wait()
		if found[0] == nil || found[0].Name != name || found[0] != found[1] {
			t.Errorf("%s: %+v and %+v", name, found[0], found[1])
		}
	}
}
