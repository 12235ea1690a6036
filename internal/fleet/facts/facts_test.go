package facts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func TestParse(t *testing.T) {
	s, err := Parse("facts.yaml", []byte(`apiVersion: argosy.dev/v1alpha1
kind: Facts
clusters:
  - name: one
    server: https://one.example
    labels: {account: 123456789012, spot: true, empty: }
    annotations: {role: "arn:x"}
  - {name: another}
`))
	require.NoError(t, err)
	one, registered := s.Of("one")
	want := Cluster{
		Name: "one", Server: "https://one.example", Labels: map[string]string{"account": "123456789012", "spot": "true", "empty": ""},
		Annotations: map[string]string{"role": "arn:x"},
	}
	if diff := cmp.Diff(want, one); diff != "" || !registered || s.Closed {
		t.Error(diff, registered)
	}
	if unknown, registered := s.Of("unknown"); unknown.Name != "unknown" || unknown.Labels != nil || !registered {
		t.Errorf("%v %t: with a file every member counts as registered", unknown, registered)
	}
	assert.Equal(t, []string{"another", "one"}, s.Names())
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"kind: Fact\n":                                `f:1:7: key "kind": "Fact"; expected "Facts"`,
		"apiVersion: v1\n":                            `f:1:13: key "apiVersion": "v1"; expected "argosy.dev/v1alpha1"`,
		"cluster: []\n":                               `f:1:1: key "cluster": not known in the facts file; did you mean "clusters"?`,
		"applications: [{cluster: x}]\n":              `f:1:16: key "applications[0].name": missing or empty; expected its name`,
		"applications: [{name: a}, {name: a}]\n":      `f:1:27: application "a": listed twice, first at f:1:16; expected each application once`,
		"applications: [{name: a, finalizer: x}]\n":   `f:1:26: key "finalizer": not known in applications[0]; expected one of name, cluster, group, component, release, owner, cascade, suspended, controller, grant, digest, healthy`,
		"applications: [{name: a, cascade: maybe}]\n": `f:1:35: key "applications[0].cascade": "maybe"; expected true or false`,
		"helmReleases: [{name: a}, {name: a}]\n":      `f:1:27: HelmRelease "a": listed twice, first at f:1:16; expected each HelmRelease once`,
		"helmReleases: [{name: a, controller: x}]\n":  `f:1:26: key "controller": not known in a HelmRelease`,
		"clusters: [{server: x}]\n":                   `f:1:12: key "clusters[0].name": missing or empty; expected the cluster's name`,
		"clusters: [{name: a}, {name: a}]\n":          `f:1:23: cluster "a": listed twice, first at f:1:12; expected each cluster once`,
		"clusters: [{name: a, config: {token: x}}]\n": `f:1:22: key "config": not known in clusters[0]; expected one of name, server, labels, annotations`,
		"clusters: [{name: a, labels: {x: [1]}}]\n":   `f:1:34: key "clusters[0].labels.x": is a list; expected text`,
		"clusters: {a: 1}\n":                          `f:1:11: key "clusters": is a map; expected a list`,
		"":                                            `f:1:1: the facts file: is empty; expected a map of kind Facts`,
		"# nothing\n":                                 `f:1:1: the facts file: is empty; expected a map of kind Facts`,
		"[1]\n":                                       `f:1:1: the facts file: is a list; expected a map`,
	} {
		_, err := Parse("f", []byte(text))
		ps := problem.From(err, "", problem.Pos{})
		if len(ps) != 1 || ps[0].Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := Parse("f", []byte("a: [")); err == nil || !strings.HasPrefix(err.Error(), "f:1:") {
		t.Error(err)
	}
}

// TestSets: in a closed set only what has been seen is registered; the zero value knows nothing and
// is open.
func TestSets(t *testing.T) {
	closed := NewSet(true, Cluster{Name: "one"})
	if _, ok := closed.Of("one"); !ok {
		t.Error("one is not registered")
	}
	if _, ok := closed.Of("two"); ok {
		t.Error("two is registered")
	}
	if c, ok := (Set{}).Of("x"); !ok || c.Name != "x" {
		t.Error(c, ok)
	}
	a := Cluster{Name: "a", Server: "s", Labels: map[string]string{"x": "1"}, Annotations: map[string]string{"y": "2"}}
	for _, b := range []Cluster{
		{Name: "b", Server: "s", Labels: a.Labels, Annotations: a.Annotations},
		{Name: "a", Labels: a.Labels, Annotations: a.Annotations},
		{Name: "a", Server: "s", Annotations: a.Annotations},
		{Name: "a", Server: "s", Labels: a.Labels},
	} {
		if a.Equal(b) || !b.Equal(b) { //nolint:gocritic // equality is reflexive
			t.Errorf("%v equals %v", a, b)
		}
	}
}

// TestJoin: files of several hubs are the facts of a fleet, in any order.
func TestJoin(t *testing.T) {
	eu := File{"eu", []byte("closed: true\nclusters: [{name: a}, {name: shared, server: s, labels: {x: z}}]\napplications: [{name: dns-a, cluster: a}, {name: dns-shared}]\n")}
	us := File{"us", []byte("closed: true\nclusters: [{name: b}, {name: shared, server: s, labels: {x: z}}]\nhelmReleases: [{name: dns-b}]\nkustomizations: [{name: dns-b}]\n")}
	s, err := Join(eu, us)
	require.NoError(t, err)
	want := NewSet(true, Cluster{Name: "a"}, Cluster{Name: "b"}, Cluster{Name: "shared", Server: "s", Labels: map[string]string{"x": "z"}}).
		WithApplications(Application{Name: "dns-a", Cluster: "a"}, Application{Name: "dns-shared"}).
		WithHelmReleases(Application{Name: "dns-b"}, Application{Name: "dns-b", Kind: Kustomization})
	other, err := Join(us, eu, us)
	if err != nil || !s.Equal(want) || !s.Equal(other) {
		t.Errorf("%+v, %+v, %v", s, other, err)
	}
	if none, err := Join(); err != nil || !none.Equal(Set{}) {
		t.Error(none, err)
	}
}

// TestJoinErrors: what two files have they say alike, and what one of them does not know is not
// taken for what is not there.
func TestJoinErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b string
		want []string
	}{
		"server":      {"clusters:\n  - {name: c, server: x}\n", "clusters: [{name: c, server: z}]\n", []string{`b:1:12: cluster "c": is not as at a:2:5: server is "z", not "x"; expected the same in both files, or one file with it`}},
		"label":       {"clusters: [{name: c, labels: {k: x}}]\n", "clusters: [{name: c, labels: {k: z}}]\n", []string{`b:1:12: cluster "c": is not as at a:1:12: label "k" is "z", not "x"; expected the same in both files, or one file with it`}},
		"more":        {"clusters: [{name: c}]\n", "clusters: [{name: c, annotations: {k: z}}]\n", []string{`b:1:12: cluster "c": is not as at a:1:12: annotation "k" is there; expected the same in both files, or one file with it`}},
		"less":        {"clusters: [{name: c, annotations: {k: z}}]\n", "clusters: [{name: c}]\n", []string{`b:1:12: cluster "c": is not as at a:1:12: annotation "k" is missing; expected the same in both files, or one file with it`}},
		"application": {"applications: [{name: c}]\n", "applications: [{name: c, cluster: d}]\n", []string{`b:1:16: application "c": is not as at a:1:16: it is a different one; expected the same in both files, or one file with it`}},
		"open":        {"closed: true\n", "kind: Facts\n", []string{`b:1:1: closed: true: is said by a, and not here; expected it in all files of facts, or in none`}},
		"closed":      {"kind: Facts\n", "closed: true\n", []string{`b:1:1: closed: true: is said here, and not by a; expected it in all files of facts, or in none`}},
		"no engine":   {"helmReleases: []\n", "kind: Facts\n", []string{`b:1:1: what the engine has: is said by a, and not here; expected applications, helmReleases or kustomizations in all files of facts, or in none`}},
		"engine":      {"kind: Facts\n", "applications: []\n", []string{`b:1:1: what the engine has: is said here, and not by a; expected applications, helmReleases or kustomizations in all files of facts, or in none`}},
		"each":        {"kind: Fact\n", "cluster: []\n", []string{`a:1:7: key "kind": "Fact"; expected "Facts"`, `b:1:1: key "cluster": not known in the facts file; did you mean "clusters"?`}},
	} {
		_, err := Join(File{"a", []byte(tt.a)}, File{"b", []byte(tt.b)})
		var got []string
		for _, p := range problem.From(err, "", problem.Pos{}) {
			got = append(got, p.Error())
		}
		assert.Equal(t, tt.want, got, "%v", name)
	}
}
