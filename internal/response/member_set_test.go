package response_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// TestMemberSetListsItsValueFiles: the value files of a registration are those that there are.
// Levels without a file are not listed. (L1)
func TestMemberSetListsItsValueFiles(t *testing.T) {
	const system = "addons/defaults/fleet/fleet-secret/values.yaml"
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{system: "a: 1\n"})))
	if diff := cmp.Diff([]any{system}, querytest.Ask(t, st, `{"view":"members"}`)["fleet-secret-one"]["valueFiles"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRetiredMemberWithoutKnownApplicationsHasNoSets: where the facts do not know Applications, no
// view has a set of a retired member, not even that of its engine's ownership grant. (D3)
func TestRetiredMemberWithoutKnownApplicationsHasNoSets(t *testing.T) {
	one := fleettest.Spoke("one", "use_remote_argo: true\nenable_remote_addons: true\nlifecycle: retired\ndeletion: cascade\n")
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): one})))
	for ask, want := range map[string][]string{
		querytest.Addons: {"dns-hub", "dns-two"}, `{"view":"members"}`: {"fleet-secret-two"}, `{"view":"agents"}`: nil, `{"view":"grants"}`: nil,
	} {
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(querytest.Ask(t, st, ask)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", ask, diff)
		}
	}
}
