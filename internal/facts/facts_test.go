package facts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/problem"
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
	if err != nil {
		t.Fatal(err)
	}
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
	if diff := cmp.Diff([]string{"another", "one"}, s.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"kind: Fact\n":                                `f:1:7: key "kind": "Fact"; expected "Facts"`,
		"apiVersion: v1\n":                            `f:1:13: key "apiVersion": "v1"; expected "argosy.dev/v1alpha1"`,
		"cluster: []\n":                               `f:1:1: key "cluster": not known in the facts file; did you mean "clusters"?`,
		"applications: [{cluster: x}]\n":              `f:1:16: key "name": missing or empty; expected the application's name`,
		"applications: [{name: a}, {name: a}]\n":      `f:1:27: application "a": listed twice, first at f:1:16; expected each application once`,
		"applications: [{name: a, finalizer: x}]\n":   `f:1:26: key "finalizer": not known in application 1; expected one of name, cluster, group, component, release, cascade, controller, grant`,
		"applications: [{name: a, cascade: maybe}]\n": `f:1:35: key "cascade": "maybe"; expected true or false`,
		"helmReleases: [{name: a}, {name: a}]\n":      `f:1:27: HelmRelease "a": listed twice, first at f:1:16; expected each HelmRelease once`,
		"helmReleases: [{name: a, controller: x}]\n":  `f:1:26: key "controller": not known in HelmRelease 1; expected one of name, cluster, group, component, release, cascade, owner, suspended`,
		"clusters: [{server: x}]\n":                   `f:1:12: key "name": missing or empty; expected the cluster's name`,
		"clusters: [{name: a}, {name: a}]\n":          `f:1:23: cluster "a": listed twice, first at f:1:12; expected each cluster once`,
		"clusters: [{name: a, config: {token: x}}]\n": `f:1:22: key "config": not known in cluster 1; expected one of name, server, labels, annotations`,
		"clusters: [{name: a, labels: {x: [1]}}]\n":   `f:1:34: key "x": is a list; expected text`,
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

// TestSets: in a closed set only what has been seen is registered; the zero value knows nothing and is open.
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
