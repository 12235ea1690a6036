package refresh

import (
	"context"
	"errors"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// away is a provider that cannot know yet, and why.
type away struct{ set facts.Set }

func (a away) Current() (facts.Set, bool)      { return a.set, false }
func (away) Err() error                        { return errors.New("the API server cannot be reached") }
func (away) Refresh()                          {}
func (away) Run(ctx context.Context, _ func()) { <-ctx.Done() }

// M3, rule 9: the ownership grants of a member are known again while the API server is away. A
// service that looks for grants does not go on from facts without them, by which Git alone would
// decide.
func TestGrantsOutliveARestart(t *testing.T) {
	held := facts.OwnershipGrant{Group: "addons", UID: "1", Held: true}
	app := facts.Application{Name: "dns-one", Cluster: "one"}
	without := facts.NewSet(true, facts.Cluster{Name: "one"}).WithApplications(app)
	with := without.WithGrants("one", held)
	for _, c := range []struct {
		name     string
		known    facts.Set
		asked    facts.Set
		complete bool
	}{
		{"kept, and looked for", with, facts.NewSet(true).WithGrants("one"), true},
		{"not kept, and looked for", without, facts.NewSet(true).WithGrants("one"), false},
		{"another's kept", without.WithGrants("two", held), facts.NewSet(true).WithGrants("one"), false},
		{"kept, and not looked for any more", with, facts.NewSet(true), false},
		{"not kept, and not looked for", without, facts.NewSet(true), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, _ := storetest.New()
			if err := factsDocument(store).Write(t.Context(), savedFactsOf(c.known)); err != nil {
				t.Fatal(err)
			}
			saved, _, err := factsDocument(store).Read(t.Context())
			if err != nil || !saved.set().Equal(c.known) {
				t.Fatalf("stored facts are read as %+v, %v", saved, err)
			}
			k := NewLastKnownFacts(away{c.asked}, store, nil)
			k.saved.Exchange(t.Context())
			set, complete := k.Current()
			if complete != c.complete || complete && !set.Equal(c.known) {
				t.Errorf("%+v, %t", set, complete)
			}
		})
	}
}
