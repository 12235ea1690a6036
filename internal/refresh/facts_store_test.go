package refresh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// provider is what a test says.
type provider struct {
	mu       sync.Mutex
	set      facts.Set
	complete bool
	err      error
	changed  func()
	running  chan struct{}
	isMember func(name string) bool // what Forget was called with
}

func (p *provider) Forget(isMember func(name string) bool) { p.isMember = isMember }

func newProvider() *provider { return &provider{running: make(chan struct{})} }

func (p *provider) Current() (facts.Set, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.set, p.complete
}
func (p *provider) Err() error { p.mu.Lock(); defer p.mu.Unlock(); return p.err }
func (p *provider) Refresh()   {}
func (p *provider) Run(ctx context.Context, changed func()) {
	p.changed = changed
	close(p.running)
	<-ctx.Done()
}

func (p *provider) say(set facts.Set, complete bool, err error) {
	<-p.running
	p.mu.Lock()
	p.set, p.complete, p.err = set, complete, err
	p.mu.Unlock()
	p.changed()
}

// storing runs stored facts until stop, which waits for the last write.
func storing(t *testing.T, p *provider, s *store.Store) (k *LastKnownFacts, notified chan struct{}, stop func()) {
	t.Helper()
	k = NewLastKnownFacts(p, s, slog.New(slog.DiscardHandler))
	k.saved.Quiet = time.Millisecond
	notified = make(chan struct{}, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx, func() { notified <- struct{}{} }) }()
	return k, notified, func() { cancel(); <-done }
}

func wait(t *testing.T, notified chan struct{}, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-notified:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

func closed(names ...string) facts.Set {
	var out []facts.Cluster
	for _, name := range names {
		out = append(out, facts.Cluster{Name: name, Secret: "uid-" + name, Labels: map[string]string{"region": "eu-" + name}})
	}
	return facts.NewSet(true, out...).WithApplications(facts.Application{Name: "dns-a", Cluster: "a", Cascade: true})
}

// Rules G4 and 9: what was known of a cluster is known after a restart at which its Secret is gone,
// without the Secret's UID, until its member file is gone, too; and all of it where the API server
// is away.
func TestFactsOutliveARestart(t *testing.T) {
	kept, _ := storetest.New()
	p := newProvider()
	k, notified, stop := storing(t, p, kept)
	p.say(closed("a", "b"), true, nil)
	wait(t, notified, "complete", func() bool { _, complete := k.Current(); return complete })
	stop()

	// Both Secrets are gone, and one cluster is new.
	p = newProvider()
	k, notified, stop = storing(t, p, kept)
	wait(t, notified, "loaded", k.saved.IsLoaded)
	if set, complete := k.Current(); complete {
		t.Errorf("before the API server has been asked: %v", set.Names())
	}
	p.say(closed("c"), true, nil)
	wait(t, notified, "complete", func() bool { _, complete := k.Current(); return complete })
	set, _ := k.Current()
	a, registered := set.Of("a")
	if got := strings.Join(set.Names(), " "); got != "a b c" || !registered || a.Labels["region"] != "eu-a" || a.Secret != "" {
		t.Errorf("%s: %+v, registered %v", got, a, registered)
	}
	k.Forget(func(name string) bool { return name != "b" })
	if set, _ := k.Current(); strings.Join(set.Names(), " ") != "a c" {
		t.Errorf("a member file is gone: %v", set.Names())
	}
	if p.isMember == nil || p.isMember("b") {
		t.Error("the provider is not called")
	}
	stop()

	// The API server is away.
	p = newProvider()
	k, notified, stop = storing(t, p, kept)
	p.say(facts.NewSet(true), false, errors.New("away"))
	wait(t, notified, "gone on", func() bool { _, complete := k.Current(); return complete })
	set, _ = k.Current()
	if apps, known := set.Applications(); strings.Join(set.Names(), " ") != "a c" || !known || len(apps) != 1 || !apps[0].Cascade || k.Err() == nil {
		t.Errorf("%v, %v %v, %v", set.Names(), apps, known, k.Err())
	}
	p.say(closed("a"), true, nil) // and is back
	wait(t, notified, "back", func() bool { set, _ := k.Current(); a, _ := set.Of("a"); return a.Secret != "" })
	stop()
}

// Rule 9 and G4: no facts are complete before the store has been read, and a damaged record is
// reported and not used.
func TestFactsAreIncompleteWhileTheStoreIsAway(t *testing.T) {
	objects := &storetest.Memory{Asked: make(chan struct{})}
	objects.Away(errors.New("the store is away"))
	p := newProvider()
	k, _, stop := storing(t, p, store.New(objects))
	p.say(closed("a"), true, nil)
	<-objects.Asked
	if _, complete := k.Current(); complete {
		t.Error("it is complete")
	}
	stop()

	kept, objects := storetest.New()
	objects.Set("facts-v3", []byte("damaged"))
	p = newProvider()
	k, notified, stop := storing(t, p, kept)
	p.say(closed("a"), true, nil)
	wait(t, notified, "complete", func() bool { _, complete := k.Current(); return complete })
	stop()
	if saved, _, err := factsDocument(kept).Read(t.Context()); err != nil || !saved.set().Equal(closed("a")) {
		t.Errorf("the damaged one is not replaced: %+v %v", saved, err)
	}
}

// Rule 9: facts are complete once the store has been read, also if it takes nothing, as for want of
// a right or of room; what is wrong is reported.
func TestFactsAreCompleteWhileTheStoreTakesNothing(t *testing.T) {
	kept, objects := storetest.New()
	refused := make(chan struct{}, 1000)
	objects.Fails = func(string) error { refused <- struct{}{}; return errors.New("the store is full") }
	p := newProvider()
	k, notified, stop := storing(t, p, kept)
	p.say(closed("a"), true, nil)
	wait(t, notified, "complete", func() bool { _, complete := k.Current(); return complete })
	<-refused
	stop()
	if err := k.Problem(); err == nil || err.Error() != "the store is full" {
		t.Errorf("%v", err)
	}
}

func factsDocument(s *store.Store) *store.Document[savedFacts] {
	return store.NewDocument[savedFacts](s, "facts", 3)
}

// FuzzFacts: a record is read as it was written, or not at all, and its facts are written and read
// as the same ones.
func FuzzFacts(f *testing.F) {
	set := closed("a", "b").WithApplications(facts.Application{Name: "x", Cluster: "a"}).WithGrants("a", facts.OwnershipGrant{Group: "addons", Held: true})
	good, err := json.Marshal(savedFactsOf(set))
	require.NoError(f, err)
	f.Add(good)
	f.Add(append(slices.Clone(good), "{}"...))
	f.Add(bytes.Replace(good, []byte(`"closed":true`), []byte(`"closed":true,"more":{}`), 1))
	f.Add(bytes.Replace(good, []byte(`"Name":"b"`), []byte(`"Name":"a"`), 1))
	f.Add([]byte(`{"closed":true,"clusters":[{"Name":""}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		kept, _ := storetest.New()
		if _, err := kept.Write(t.Context(), "facts-v3", data, ""); err != nil {
			t.Fatal(err)
		}
		d := factsDocument(kept)
		saved, _, err := d.Read(t.Context())
		if err != nil {
			if saved != nil || !store.IsDamaged(err) {
				t.Fatalf("%s: half of it is used, %v", data, err)
			}
			return
		}
		set := saved.set()
		require.NoError(t, d.Write(t.Context(), savedFactsOf(set)))
		if again, _, err := factsDocument(kept).Read(t.Context()); err != nil || !again.set().Equal(set) {
			t.Errorf("%s is read as %+v, %v", data, again, err)
		}
	})
}

// Replicas do not tell each other of a cluster that both have forgotten. (rule 9)
func TestReplicasForgetAFormerMember(t *testing.T) {
	kept, _ := storetest.New()
	seen := func(broken int64, names ...string) facts.Set { // each notes breaks by its own clock
		return closed(names...).WithApplications(facts.Application{Name: "dns-a", Cluster: "a", Broken: broken})
	}
	var replicas []*LastKnownFacts
	var providers []*provider
	for i := range 2 {
		p := newProvider()
		p.set, p.complete = seen(int64(i+1), "a", "b"), true
		k := NewLastKnownFacts(p, kept, slog.New(slog.DiscardHandler))
		k.saved.Exchange(t.Context())
		replicas, providers = append(replicas, k), append(providers, p)
	}
	for range 5 { // the Secret and the member file of b are gone, which each served state says
		for i, k := range replicas {
			providers[i].set = seen(int64(i+1), "a")
			k.Forget(func(name string) bool { return name == "a" })
			k.saved.Changed()
			k.saved.Exchange(t.Context())
		}
	}
	saved, _, err := factsDocument(kept).Read(t.Context())
	if err != nil || saved == nil || strings.Join(saved.set().Names(), " ") != "a" {
		t.Errorf("the record has %+v, %v; expected a alone", saved, err)
	}
}

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
			require.NoError(t, factsDocument(store).Write(t.Context(), savedFactsOf(c.known)))
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

// TestStoredReportDoesNotCount: what an agent reported before a restart is not what it reports now,
// and it is not one that never has.
func TestStoredReportDoesNotCount(t *testing.T) {
	grants := facts.NewSet(true).WithApplications(facts.Application{Name: "reports", Grant: true, Report: "[]"}, facts.Application{Name: "silent", Grant: true})
	set := savedFactsOf(grants).set()
	for name, want := range map[string]bool{"reports": true, "silent": false} {
		if a, _ := set.Application(name); a.IsReported() != want || (a.Unheard != "") != want {
			t.Errorf("%+v", a)
		}
	}
}
