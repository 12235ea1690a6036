package facts

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func TestApplications(t *testing.T) {
	dns := Application{Name: "dns-one", Cluster: "one", Group: "addons", Component: "dns", Release: "default"}
	cert := Application{Name: "cert-one", Cluster: "one", Group: "addons", Component: "cert"}
	other := Application{Name: "dns-another", Cluster: "another", Group: "addons", Component: "dns", Cascade: true}
	given := []Application{dns, {Name: "cert-one", Cluster: "elsewhere"}, cert, other}
	before := slices.Clone(given)
	s := NewSet(true, Cluster{Name: "one"}).WithApplications(given...)
	apps, known := s.Applications()
	if diff := cmp.Diff([]Application{other, cert, dns}, apps); diff != "" || !known {
		t.Error("of several with one name the last counts:", diff, known)
	}
	assert.Equal(t, before, given, "the input has been changed")
	for cluster, want := range map[string][]Application{"one": {cert, dns}, "another": {other}, "elsewhere": {}, "": {}} {
		assert.Equal(t, want, s.ApplicationsOf(cluster), "%v", cluster)
	}
	for _, want := range []Application{dns, cert, other} {
		if got, ok := s.Application(want.Name); !ok || got != want {
			t.Error(got, ok)
		}
	}
	if a, ok := s.Application("none"); ok {
		t.Error(a)
	}
	if _, ok := s.Of("one"); !ok || !s.Closed {
		t.Error("the clusters are gone")
	}
	if _, known := s.WithClusters(Cluster{Name: "two"}).Applications(); !known {
		t.Error("other clusters: the Applications are forgotten")
	}
}

// TestUnknownApplications is rule 4: to know that there is none is something else than to know of
// none.
func TestUnknownApplications(t *testing.T) {
	for _, s := range []Set{{}, NewSet(true, Cluster{Name: "one"})} {
		if apps, known := s.Applications(); known || apps != nil {
			t.Error(apps, known)
		}
		if _, ok := s.Application("x"); ok || s.ApplicationsOf("one") != nil {
			t.Error("an Application of nothing")
		}
	}
	if apps, known := NewSet(true).WithApplications().Applications(); !known || len(apps) != 0 {
		t.Error(apps, known)
	}
}

// TestEqual: every fact makes a difference, the order in which they are given does not.
func TestEqual(t *testing.T) {
	one, two := Cluster{Name: "one"}, Cluster{Name: "two", Labels: map[string]string{"a": "b"}}
	a, b := Application{Name: "a-one", Cluster: "one"}, Application{Name: "b-one", Cluster: "one"}
	marked, released, controlled := a, a, a
	marked.Cascade, released.Release, controlled.Controller = true, "canary", "addons-default-a"
	s := NewSet(true, one, two).WithApplications(a, b)
	if same := NewSet(true, two, one).WithApplications(b, a); !s.Equal(same) || !same.Equal(s) || !s.Equal(s) { //nolint:gocritic // equality is reflexive
		t.Error("the order makes a difference")
	}
	for i, other := range []Set{
		{},
		NewSet(true, one, two),
		NewSet(false, one, two).WithApplications(a, b),
		NewSet(true, one).WithApplications(a, b),
		s.WithClusters(one, Cluster{Name: "two"}),
		NewSet(true, Cluster{Name: "one", Secret: "uid"}, two).WithApplications(a, b),
		s.WithApplications(a),
		s.WithApplications(),
		s.WithApplications(marked, b),
		s.WithApplications(released, b),
		s.WithApplications(controlled, b),
		s.WithHelmReleases(),
		s.WithHelmReleases(a, b),
	} {
		if s.Equal(other) || other.Equal(s) {
			t.Errorf("set %d is equal", i)
		}
	}
	r := NewSet(false).WithHelmReleases(a, b)
	if !r.Equal(NewSet(false).WithHelmReleases(b, a)) || !r.Equal(r.WithClusters()) {
		t.Error("HelmReleases: the order makes a difference, or other clusters do")
	}
	owned, suspended := a, a
	owned.Owner, suspended.Suspended = OwnerOf("hub", "one"), true
	for _, other := range []Application{owned, suspended, marked} {
		if r.Equal(r.WithHelmReleases(other, b)) {
			t.Errorf("%+v is as %+v", other, a)
		}
	}
	if !(Set{}).Equal(NewSet(false)) || NewSet(true).Equal(NewSet(true).WithApplications()) {
		t.Error("empty sets")
	}
}

func TestApplicationsDiffer(t *testing.T) {
	a, b, c := Application{Name: "a", Cluster: "one"}, Application{Name: "b", Cluster: "one"}, Application{Name: "c", Cluster: "two"}
	marked, reported := b, b
	marked.Cascade, reported.Report, reported.Unheard = true, "[]", "silent"
	set := func(apps ...Application) Set { return NewSet(false).WithApplications(apps...) }
	for name, tt := range map[string]struct {
		old, updated Set
		want         []Application
	}{
		"nothing":           {set(a, b, c), set(c, b, a), nil},
		"one has come":      {set(a, c), set(a, b, c), []Application{b}},
		"one has gone":      {set(a, b, c), set(b, c), []Application{a}},
		"the last has gone": {set(a, c), set(a), []Application{c}},
		"one has changed":   {set(a, b), set(a, marked), []Application{b, marked}},
		"one reports":       {set(a, b), set(a, reported), nil},
		"all have come":     {set(), set(c, a), []Application{a, c}},
		"not known before":  {NewSet(false), set(a), []Application{a}},
	} {
		var got []Application
		ApplicationsDiffer(tt.old, tt.updated, func(x Application) { got = append(got, x) })
		assert.Equal(t, tt.want, got, "%v", name)
	}
}

func TestParseApplications(t *testing.T) {
	s, err := Parse("f", []byte("applications:\n  - {name: dns-one, cluster: one, group: addons, component: dns, release: canary, cascade: \"true\", controller: addons-canary-dns}\n  - {name: x}\n"))
	require.NoError(t, err)
	apps, known := s.Applications()
	want := []Application{{Name: "x"}, {Name: "dns-one", Cluster: "one", Group: "addons", Component: "dns", Release: "canary", Cascade: true, Controller: "addons-canary-dns"}}
	if diff := cmp.Diff(want, apps); diff != "" || !known {
		t.Error(diff, known)
	}
	for text, want := range map[string]bool{"clusters: []\n": false, "applications: []\n": true, "applications:\n": false} {
		s, err := Parse("f", []byte(text))
		require.NoError(t, err)
		if _, known := s.Applications(); known != want {
			t.Errorf("%q: known %t, want %t", text, known, want)
		}
	}
}

// TestHelmReleases is rule 4 for Flux: what it has is apart from what Argo CD has.
func TestHelmReleases(t *testing.T) {
	x := Application{Name: "x", Cluster: "one"}
	s := NewSet(false).WithHelmReleases(x)
	if _, known := s.Applications(); known {
		t.Error("Applications are known")
	}
	if _, known := s.WithApplications(x).WithApplications().HelmReleases(); !known {
		t.Error("the HelmReleases are forgotten")
	}
	for text, want := range map[string]string{
		"clusters: []\n": "[] false", "helmReleases:\n": "[] false", "applications: [{name: x}]\n": "[] false", "helmReleases: []\n": "[] true",
		"helmReleases: [{name: x, cluster: one, group: g, component: c, release: r, owner: hub/one, cascade: true, suspended: \"true\"}]\n": "[{x  one g c r hub/one true true  false  false false 0  }] true",
		"helmReleases: [{name: x, cluster: one}]\nkustomizations: [{name: x, cluster: one, owner: hub/one}, {name: a, cluster: one}]\n":     "[{a Kustomization one     false false  false  false false 0  } {x  one     false false  false  false false 0  } {x Kustomization one    hub/one false false  false  false false 0  }] true",
		"kustomizations: []\n": "[] true",
	} {
		s, err := Parse("f", []byte(text))
		require.NoError(t, err)
		assert.Equal(t, want, fmt.Sprint(s.HelmReleases()), "%q", text)
	}
}
