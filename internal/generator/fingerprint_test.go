package generator

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// A fingerprint changes with the answer or the reason of its refusal, and not with the revision.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	at := func(files tree, revision string) *State {
		m := map[string]*snapshot.File{}
		for p, c := range files {
			m[p] = snapshot.NewFile(p, []byte(c), snapshot.MaxFileSize)
		}
		st, err := Build(nil, snapshot.New(revision, m), facts.NewSet(false))
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	values := "addons/defaults/addons/dns/values.yaml"
	before := at(small(), "one")
	dns, releases := request(t, `{"view":"components","group":"addons"}`), request(t, `{"view":"releases","group":"addons"}`)
	for name, c := range map[string]struct {
		files    tree
		dns, rel bool
	}{
		"revision alone":   {small(), false, false},
		"a value":          {small().with(tree{values: "from: other\n"}), true, false},
		"text of a digest": {small().with(tree{values: "x: '\"digest\":\"'\n"}), true, false},
		"one member fewer": {small().with(tree{member("two"): ""}), true, true},
		"a refusal":        {small().with(tree{member("one"): "{clusterName: one, tenant: retail, environment: prod, labels: {addonsRelease: none}}\n"}), true, true},
	} {
		after := at(c.files, "two")
		if got := before.Fingerprint(dns) != after.Fingerprint(dns); got != c.dns {
			t.Errorf("%s: components differ: %v", name, got)
		}
		if got := before.Fingerprint(releases) != after.Fingerprint(releases); got != c.rel {
			t.Errorf("%s: releases differ: %v", name, got)
		}
	}
	bad := request(t, `{"view":"components","group":"nosuch"}`)
	if f := before.Fingerprint(bad); f != at(small(), "two").Fingerprint(bad) || f == before.Fingerprint(dns) {
		t.Errorf("a refusal: %s", f)
	}
	if before.Fingerprint(dns) == before.Fingerprint(releases) {
		t.Error("two views are alike")
	}
}
