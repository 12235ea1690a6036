package facts

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// FuzzFacts: no facts file makes the reader panic; of one that is accepted each cluster and each
// Application has a name that no other has, and one that is not has problems with a place, not too
// many.
func FuzzFacts(f *testing.F) {
	const head = "apiVersion: argosy.dev/v1alpha1\nkind: Facts\n"
	for _, s := range []string{
		"", head, head + "clusters: [{name: a, labels: {x: 012, y: }, annotations: {z: yes}}]\n", head + "clusters: [{name: a}, {name: a}, {name: ' '}, x]\n",
		head + "applications: [{name: a, cluster: c, group: g, component: d, release: r, cascade: true, controller: x}]\n",
		head + "helmReleases: [{name: a, cluster: c, owner: o, suspended: 'true'}]\n", head + "clusters: {a: b}\napplications: ~\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("facts.yaml", []byte(text))
		if err != nil {
			ps := problem.From(err, "", problem.Pos{})
			for _, p := range ps {
				if p.Reason == "" || p.Pos.File != "facts.yaml" {
					t.Fatalf("%q: %#v", text, p)
				}
			}
			if len(ps) == 0 || len(ps) > problem.OfFile+1 {
				t.Fatalf("%q: %d problems", text, len(ps))
			}
			return
		}
		names := s.Names()
		seen := map[string]bool{}
		for _, name := range names {
			c, known := s.Of(name)
			if name == "" || seen[name] || !known || c.Name != name {
				t.Fatalf("%q is accepted: clusters %q, %q is %+v", text, names, name, c)
			}
			seen[name] = true
		}
		if again, err := Parse("facts.yaml", []byte(text)); err != nil || len(again.Names()) != len(names) {
			t.Fatalf("%q: %d clusters, then %d, %v", text, len(names), len(again.Names()), err)
		}
	})
}
