package response_test

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// A fingerprint changes with the answer or the reason of its refusal, and not with the revision.
func TestFingerprintChangesWithTheResponse(t *testing.T) {
	t.Parallel()
	at := func(files fleettest.Tree, revision string) *fleetstate.State {
		m := map[string]*snapshot.File{}
		for p, c := range files {
			m[p] = snapshot.NewFile(p, []byte(c), snapshot.MaxFileSize)
		}
		st, err := fleetstate.Build(nil, snapshot.New(revision, m), facts.NewSet(false))
		require.NoError(t, err)
		return st
	}
	values := "addons/defaults/addons/dns/values.yaml"
	before := at(fleettest.Small(), "one")
	dns, releases := querytest.Query(t, `{"view":"components","group":"addons"}`), querytest.Query(t, `{"view":"releases","group":"addons"}`)
	for name, c := range map[string]struct {
		files    fleettest.Tree
		dns, rel bool
	}{
		"revision alone":   {fleettest.Small(), false, false},
		"a value":          {fleettest.Small().With(fleettest.Tree{values: "from: other\n"}), true, false},
		"text of a digest": {fleettest.Small().With(fleettest.Tree{values: "x: '\"digest\":\"'\n"}), true, false},
		"one member fewer": {fleettest.Small().With(fleettest.Tree{fleettest.Member("two"): ""}), true, true},
		"a refusal":        {fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): "{clusterName: one, tenant: retail, environment: prod, labels: {addonsRelease: none}}\n"}), true, true},
	} {
		after := at(c.files, "two")
		if got := new(response.Cache).Fingerprint(before, dns) != new(response.Cache).Fingerprint(after, dns); got != c.dns {
			t.Errorf("%s: components differ: %v", name, got)
		}
		if got := new(response.Cache).Fingerprint(before, releases) != new(response.Cache).Fingerprint(after, releases); got != c.rel {
			t.Errorf("%s: releases differ: %v", name, got)
		}
	}
	bad := querytest.Query(t, `{"view":"components","group":"nosuch"}`)
	if f := new(response.Cache).Fingerprint(before, bad); f != new(response.Cache).Fingerprint(at(fleettest.Small(), "two"), bad) || f == new(response.Cache).Fingerprint(before, dns) {
		t.Errorf("a refusal: %s", f)
	}
	if new(response.Cache).Fingerprint(before, dns) == new(response.Cache).Fingerprint(before, releases) {
		t.Error("two views are alike")
	}
}
