package refresh_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// G4
func TestNoStateBeforeSnapshotAndFacts(t *testing.T) {
	k := newKnown(false)
	h := start(t, k)
	if h.r.State() != nil || h.r.Status().Err().Error() != "not ready: script has not been read yet" {
		t.Errorf("at the start: %v, %v", h.r.State(), h.r.Status().Err())
	}
	h.say(nil, errors.New("script: out of reach"))
	h.until("out of reach", func(st refresh.Status) bool {
		return st.Err() != nil && st.Err().Error() == "not ready: script: out of reach" && len(st.Refused) == 1
	})
	s := fleet(nil)
	h.say(s, nil)
	h.until("waiting for facts", func(st refresh.Status) bool {
		return st.Err() != nil && st.Err().Error() == "not ready: the clusters' facts are not complete yet"
	})
	if h.r.State() != nil {
		t.Error("a state without facts")
	}
	k.say(cluster("a"))
	st := h.serving(s)
	if h.r.State().Revision != s.Revision || st.Err() != nil || st.Since.IsZero() || st.LastSuccess.IsZero() {
		t.Errorf("serving %+v", st)
	}
}

func TestFirstLoadAcceptsErrorsOfMembers(t *testing.T) {
	h := start(t, nil)
	s := h.takes(fleet(map[string]string{"fleet/fleet-members/hub-1/a.yaml": broken}))
	if _, err := response.Bytes(h.r.State(), query.Query{View: query.Members, Hub: "hub-1"}); err == nil {
		t.Error("an answer about a broken member")
	}
	h.quarantined("a refused")
	// Another member that breaks is kept; the first is as it was, even if its error moved.
	h.takes(fleet(map[string]string{"fleet/fleet-members/hub-1/a.yaml": broken, "fleet/fleet-members/hub-1/b.yaml": "clusterName: [\n"}))
	h.quarantined("a refused", "b kept "+s.Revision)
	h.takes(fleet(map[string]string{"fleet/fleet-members/hub-1/a.yaml": "# a comment\n" + broken}))
	h.takes(fleet(nil))
	if _, err := response.Bytes(h.r.State(), query.Query{View: query.Members, Hub: "hub-1"}); err != nil {
		t.Error(err)
	}
}

func TestFirstLoadOfAnUnusableRepository(t *testing.T) {
	h := start(t, nil)
	h.say(fleet(map[string]string{"versions/applicationSets.yaml": "releases: [\n"}), nil)
	r := h.refused(refresh.Commit)
	err := h.r.Status().Err()
	if h.r.State() != nil || err == nil || !strings.HasPrefix(err.Error(), "not ready: versions/applicationSets.yaml:") {
		t.Errorf("%v, %+v", err, r)
	}
	h.takes(fleet(nil))
}

func TestBrokenCommitKeepsTheOldState(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"layout":     {"fleet/layout.yaml": "kind: [\n"},
		"repository": unusable,
		"hub":        {"fleet/layout.yaml": "hubs: {hub-1: {tenant: t, environment: dev}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, nil)
			good := h.takes(fleet(nil))
			state := h.r.State()
			bad := fleet(files)
			h.say(bad, nil)
			first := h.refused(refresh.Commit)
			if h.r.State() != state || h.r.Status().Revision != good.Revision || first.Revision != bad.Revision || first.Problems < 1 {
				t.Errorf("%+v", first)
			}
			// The same again is the same refusal, since the same moment.
			h.say(bad, nil)
			h.r.Trigger()
			<-h.s.Refreshes
			h.say(bad, nil)
			if again := h.refused(refresh.Commit); again != first {
				t.Errorf("%+v, then %+v", first, again)
			}
			// Reverting it clears the refusal; nothing is built anew.
			h.takes(good)
			if h.r.State() != state {
				t.Error("a new state for the same revision")
			}
		})
	}
}

func TestErrorsOfOtherHubsAreNotRefused(t *testing.T) {
	h := start(t, nil)
	h.say(fleet(nil), nil)
	h.takes(fleet(map[string]string{"fleet/fleet-members/hub-2/c.yaml": "clusterName: [\n"}))
}

// G4
func TestUnreachableSourceChangesNothing(t *testing.T) {
	h := start(t, nil)
	good := h.takes(fleet(nil))
	state := h.r.State()
	h.say(good, &source.Error{Reason: source.Unreachable, Source: "script", Detail: "away"})
	if r := h.refused(refresh.Source); r.Reason != "unreachable" || r.Problem != "script: away" {
		t.Errorf("%+v", r)
	}
	if h.r.State() != state {
		t.Error("another state")
	}
	// Beside a refused commit, both are reported.
	bad := fleet(unusable)
	h.say(bad, &source.Error{Reason: source.Unreachable, Source: "script", Detail: "away"})
	h.until("two refusals", func(st refresh.Status) bool {
		return len(st.Refused) == 2 && st.Refused[0].Cause == refresh.Source && st.Refused[1].Cause == refresh.Commit
	})
	h.takes(good)
}

// G4
func TestStartServesAnOldSnapshotWhileTheSourceIsAway(t *testing.T) {
	h := start(t, nil)
	s := fleet(nil)
	h.say(s, &source.Error{Reason: source.Unreachable, Source: "script", Detail: "away"})
	h.refused(refresh.Source)
	if h.r.Status().Revision != s.Revision || h.r.State() == nil {
		t.Errorf("%+v", h.r.Status())
	}
}

// While the source cannot be read, a restart serves what was accepted, and not what the source had
// last before it: a replica may have accepted later commits. (G4, rule 8)
func TestRestartDoesNotGoBackWhileTheSourceIsAway(t *testing.T) {
	store, _ := storetest.New()
	old, accepted := fleet(nil), fleet(map[string]string{"docs/x.yaml": "a: 1\n"})
	h := startWith(t, nil, store)
	h.takes(accepted)
	require.NoError(t, h.r.Stop())
	k := newKnown(true, cluster("a"), cluster("b"))
	h = startWith(t, k, store)
	h.say(old, &source.Error{Reason: source.Unreachable, Source: "script", Detail: "away"})
	h.refused(refresh.Source)
	k.say(cluster("a", "tier", "new"), cluster("b"))
	h.until("facts", func(refresh.Status) bool {
		c, _ := h.r.State().Facts().Of("a")
		return c.Labels["tier"] == "new"
	})
	if st := h.r.Status(); st.Revision != accepted.Revision {
		t.Errorf("serving %s, which is older than %s", st.Revision, accepted.Revision)
	}
	h.say(old, nil) // the repository has gone back itself
	h.serving(old)
}

// A restart goes on from the state that was served last, also if the service stops while that is
// written. (rule 8)
func TestStopDoesNotEndAWrite(t *testing.T) {
	store, memory := storetest.New()
	h := startWith(t, nil, store)
	memory.OnGet(func(string) error {
		if h.r.State() != nil {
			h.cancel()
		}
		return nil
	})
	served := h.takes(fleet(nil))
	require.NoError(t, h.r.Stop())
	after := startWith(t, nil, store)
	after.say(nil, &source.Error{Reason: source.Unreachable, Source: "script", Detail: "away"})
	after.refused(refresh.Source)
	if st := after.r.Status(); st.Revision != served.Revision {
		t.Errorf("serving %q", st.Revision)
	}
}

func TestFactsChangeOnTheLastAcceptedSnapshot(t *testing.T) {
	k := newKnown(true, cluster("a"), cluster("b"))
	h := start(t, k)
	good := h.takes(fleet(nil))
	bad := fleet(unusable)
	h.say(bad, nil)
	h.refused(refresh.Commit)
	// The commit stays refused, the facts come through.
	k.say(cluster("a", "tier", "gold"), cluster("b"))
	h.until("gold", func(refresh.Status) bool { return h.label("a", "tier") == "gold" })
	if r := h.refused(refresh.Commit); r.Revision != bad.Revision || h.r.Status().Revision != good.Revision {
		t.Errorf("%+v", r)
	}
}

func TestFactsThatBreakAClusterAreRefusedForItAlone(t *testing.T) {
	k := newKnown(true, cluster("a", "tier", "old"), cluster("b"))
	h := start(t, k)
	h.takes(fleet(nil))
	k.say(cluster("a", "tier", "new", "addonsRelease", "nosuch"), cluster("b", "tier", "new"))
	r := h.refused(refresh.Facts)
	if r.Reason != "unknown-release" || !strings.Contains(r.Problem, `"a"`) {
		t.Errorf("%+v", r)
	}
	if a, b := h.label("a", "tier"), h.label("b", "tier"); a != "old" || b != "new" {
		t.Errorf("a has %s, b has %s", a, b)
	}
	// A commit goes through beside them, and one that brings the release brings the facts along.
	other := fleet(map[string]string{"fleet/fleet-members/hub-1/a.yaml": member + "labels: {x: y}\n"})
	h.say(other, nil)
	h.until("the commit", func(st refresh.Status) bool { return st.Revision == other.Revision && len(st.Refused) == 1 })
	h.takes(fleet(map[string]string{"versions/applicationSets.yaml": versions + "  - type: nosuch\n"}))
	assert.Equal(t, "new", h.label("a", "tier"), "a has")
}

// A cluster whose Secret is refused moves on all the same: what its Applications are is no matter
// of the Secret.
func TestApplicationsOfAClusterWhoseFactsAreRefused(t *testing.T) {
	moving := facts.Application{Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Release: "default", Controller: "addons-default-dns"}
	of := func(a facts.Cluster, apps ...facts.Application) facts.Set {
		return facts.NewSet(true, a, cluster("b")).WithApplications(apps...)
	}
	k := newKnown(true)
	k.set = of(cluster("a"), moving)
	h := start(t, k)
	moved := fleet(map[string]string{
		"fleet/fleet-members/hub-1/a.yaml":             member + "labels: {addonsRelease: canary}\n",
		"addons/defaults/application-sets/addons.yaml": "dns: {enabled: true, chart: {repoURL: r, name: dns, version: 1.0.0}}\n",
	})
	h.takes(moved)
	answered := func() bool {
		b, err := response.Bytes(h.r.State(), query.Query{View: query.Components, Hub: "hub-1", Group: "addons", Component: "dns", Release: "canary", ApplicationSet: "addons-canary-dns"})
		require.NoError(t, err)
		return bytes.Contains(b, []byte(`"dns-a"`))
	}
	if answered() {
		t.Fatal("D4: it does not wait for its old owner")
	}
	k.sayAll(of(cluster("a", "fleetSecretsRelease", "nosuch"), moving))
	h.refused(refresh.Facts)
	serving := h.r.State()
	changed := h.r.Changed()
	k.sayAll(of(cluster("a", "fleetSecretsRelease", "nosuch"), moving))
	<-changed
	if h.r.State() != serving {
		t.Error("nothing is new, and there is a new state")
	}
	k.sayAll(of(cluster("a", "fleetSecretsRelease", "nosuch")))
	h.until("the old owner has let go", func(refresh.Status) bool { return h.r.State() != serving })
	if !answered() {
		t.Error("D4: it waits for an Application that is gone")
	}
	h.refused(refresh.Facts)
}

func TestCommitAndFactsThatAreGoodTogether(t *testing.T) {
	k := newKnown(true, cluster("a", "addonsRelease", "canary"), cluster("b"))
	h := start(t, k)
	good := h.takes(fleet(nil))
	h.takes(fleet(map[string]string{"versions/applicationSets.yaml": strings.ReplaceAll(versions, "canary", "trial")}))
	h.quarantined("a kept " + good.Revision)
	k.say(cluster("a", "addonsRelease", "trial"), cluster("b"))
	h.until("a goes on", func(st refresh.Status) bool { return len(st.Quarantined) == 0 })
	assert.Equal(t, "trial", h.label("a", "addonsRelease"), "a is on release")
}

func TestFactsFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "facts.yaml")
	write := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	const head = "apiVersion: argosy.dev/v1alpha1\nkind: Facts\nclusters:\n"
	if _, err := refresh.NewFileFacts(path); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no file: %v", err)
	}
	write("kind: Other\n")
	if _, err := refresh.NewFileFacts(path); err == nil {
		t.Error("a wrong file at the start")
	}
	write(head + "- {name: a, labels: {tier: old}}\n")
	f, err := refresh.NewFileFacts(path)
	require.NoError(t, err)
	h := start(t, f)
	s := h.takes(fleet(nil))
	trigger := func() { h.r.Trigger(); <-h.s.Refreshes }
	write(head + "- {name: a, labels: {tier: new}}\n")
	trigger()
	h.until("new facts", func(refresh.Status) bool { return h.label("a", "tier") == "new" })
	write("kind: Other\n")
	trigger()
	h.refused(refresh.Facts)
	assert.Equal(t, "new", h.label("a", "tier"), "a wrong file changed the facts")
	require.NoError(t, os.Remove(path))
	trigger()
	h.until("no file", func(st refresh.Status) bool { return len(st.Refused) == 1 && st.Refused[0].Reason == "unreadable" })
	write(head + "- {name: a, labels: {tier: new}}\n")
	trigger()
	h.serving(s)
}

// What was accepted survives a restart: a refused commit stays refused, an unreachable source
// changes nothing. (G4)
func TestRestartServesTheAcceptedCommit(t *testing.T) {
	dir := t.TempDir()
	large := strings.Repeat("x", snapshot.MaxFileSize+1)
	good := fleet(map[string]string{"docs/large.yaml": large, "docs/empty.yaml": " ", "fleet/with space/ü.yaml": "a: 1\n"})
	bad := fleet(unusable)
	h := startWith(t, nil, folder(t, dir))
	h.takes(good)
	h.say(bad, nil)
	h.refused(refresh.Commit)
	want, err := response.Bytes(h.r.State(), query.Query{View: query.Members, Hub: "hub-1"})
	require.NoError(t, err)
	for what, first := range map[string]fleettest.Report{
		"refused commit": {Snapshot: bad},
		"unreachable":    {Err: &source.Error{Reason: source.Unreachable, Source: "script", Detail: "away"}},
		"the same":       {Snapshot: good},
	} {
		h := startWith(t, nil, folder(t, dir))
		if h.r.State() != nil {
			t.Errorf("%s: served before the source was looked at", what)
		}
		h.say(first.Snapshot, first.Err)
		h.until("serving what was accepted: "+what, func(st refresh.Status) bool { return st.Revision == good.Revision })
		if st := h.r.Status(); (what == "the same") != (len(st.Refused) == 0) {
			t.Errorf("%s: %+v", what, st)
		}
		got, err := response.Bytes(h.r.State(), query.Query{View: query.Members, Hub: "hub-1"})
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: another answer, %v", what, err)
		}
	}
	// A good commit is taken at once, and kept in turn.
	newer := fleet(map[string]string{"docs/x.yaml": "a: 1\n"})
	h = startWith(t, nil, folder(t, dir))
	h.takes(newer)
	require.NoError(t, h.r.Stop())
	h = startWith(t, nil, folder(t, dir))
	h.say(nil, errors.New("script: away"))
	h.until("serving the newer", func(st refresh.Status) bool { return st.Revision == newer.Revision })
	require.NoError(t, h.r.Stop())
	// Half a record is no state, and no reason not to start.
	for _, name := range []string{"accepted-v3.record", "snapshots-v3-*.record"} {
		paths, err := filepath.Glob(filepath.Join(dir, name))
		if err != nil || len(paths) != 1 {
			t.Fatalf("%v %v", paths, err)
		}
		data, err := os.ReadFile(paths[0])
		require.NoError(t, err)
		record := strings.TrimSuffix(filepath.Base(paths[0]), ".record")
		content, _, err := folder(t, dir).Read(t.Context(), record)
		require.NoError(t, err)
		for _, cut := range []int{0, 100, len(data) / 2} {
			require.NoError(t, os.WriteFile(paths[0], data[:cut], 0o600))
			h = startWith(t, nil, folder(t, dir))
			h.takes(newer)
			if err := h.r.Stop(); err != nil { // it has written all by then
				t.Fatal(err)
			}
			if st := h.r.Status(); st.StoreProblem != "" {
				t.Errorf("%s is not replaced: %s", name, st.StoreProblem)
			}
			if again, _, err := folder(t, dir).Read(t.Context(), record); err != nil || !bytes.Equal(again, content) {
				t.Errorf("%s is not as it was, %v", name, err)
			}
		}
		// Nor is one whose content is not as it was written: it would stand for a revision that it
		// is not.
		damaged := bytes.Clone(data)
		damaged[len(damaged)-20] ^= 1
		require.NoError(t, os.WriteFile(paths[0], damaged, 0o600))
		h = startWith(t, nil, folder(t, dir))
		h.say(nil, errors.New("script: away"))
		h.until("waiting for the source", func(st refresh.Status) bool { return st.Waiting == "script: away" && st.StoreProblem != "" })
		require.NoError(t, os.WriteFile(paths[0], data, 0o600))
	}
}

// Facts that change say nothing of a repository that nobody hears of.
func TestFactsAreNoPollOfTheSource(t *testing.T) {
	k := newKnown(true, cluster("a"))
	h := start(t, k)
	s := fleet(nil)
	h.say(s, nil)
	before := h.serving(s).LastSuccess
	k.say(cluster("a", "tier", "gold"))
	h.until("gold", func(refresh.Status) bool { return h.label("a", "tier") == "gold" })
	if after := h.r.Status().LastSuccess; !after.Equal(before) {
		t.Errorf("the source was polled at %s, and the status says %s", before, after)
	}
	h.say(s, nil) // now it is
	h.until("polled again", func(st refresh.Status) bool { return st.LastSuccess.After(before) })
}

// watching is a judge that reads the status while a candidate is computed.
type watching struct {
	r    *refresh.Refresher
	seen chan refresh.Status
}

func (w *watching) Await(context.Context) bool { return true }

func (w *watching) Holds(_, _ *fleetstate.State) []fleetstate.Hold {
	w.seen <- w.r.Status()
	return nil
}

// TestStatusTellsThatACandidateIsComputed is rule 14: a computation that does not end is seen while
// it goes on, although nothing is refused.
func TestStatusTellsThatACandidateIsComputed(t *testing.T) {
	w := &watching{seen: make(chan refresh.Status)} // it waits until the test has read
	h := startWith(t, newKnown(true), nil, func(o *refresh.Options) { o.Judge = w })
	w.r = h.r
	h.until("an end of what the start computes", func(st refresh.Status) bool { return st.Computing.IsZero() })
	h.say(fleet(nil), nil)
	first := <-w.seen
	if first.Computing.IsZero() || first.Ready() {
		t.Errorf("the first: %+v", first)
	}
	// One more reconciliation may follow at once, as mounts are judged upon what is served.
	served := h.until("a state", func(st refresh.Status) bool { return st.Ready() && st.Computing.IsZero() })
	h.say(fleet(map[string]string{"versions/applicationSets.yaml": versions + "# changed\n"}), nil)
	next := <-w.seen
	if !next.Computing.After(first.Computing) || next.Revision != served.Revision || len(next.Refused) > 0 {
		t.Errorf("the next: %+v", next)
	}
	h.until("the next state", func(st refresh.Status) bool { return st.Revision != served.Revision && st.Computing.IsZero() })
}

// TestDeletedFolderIsRefused proves rule 3 for a folder deleted by mistake; with the group's
// releases gone as well, it is meant.
func TestDeletedFolderIsRefused(t *testing.T) {
	h := start(t, nil)
	good := h.takes(fleet(nil))

	gone := map[string]string{fleettest.SystemCatalog: "", "addons/defaults/addons/dns/values.yaml": ""}
	h.say(fleet(gone), nil)
	r := h.refused(refresh.Commit)
	if !strings.HasPrefix(r.Problem, `addons: group "addons": no file is left`) || h.r.State().Revision != good.Revision {
		t.Errorf("refused %+v, serving %s", r, h.r.State().Revision)
	}

	gone["versions/applicationSets.yaml"] = "releases: {}\n"
	h.takes(fleet(gone))
}

// panicking are facts that panic as long as they are to.
type panicking struct {
	*known
	panics atomic.Bool
}

func (p *panicking) Current() (facts.Set, bool) {
	if p.panics.Load() {
		panic("no such thing")
	}
	return p.known.Current()
}

// TestPanicEndsOneReconciliationAlone: what panics while a commit is decided upon, or while others
// hear of a new state, does not stop the service. The next commit is served. (rule 5)
func TestPanicEndsOneReconciliationAlone(t *testing.T) {
	first, second, third := fleet(nil), fleet(map[string]string{"README.yaml": "commit: 2\n"}), fleet(map[string]string{"README.yaml": "commit: 3\n"})
	known := &panicking{known: newKnown(true, cluster("a"), cluster("b"))}
	h := startWith(t, known, nil, func(o *refresh.Options) {
		o.Observe = func(o refresh.Outcome) {
			if o.Swapped && o.State.Revision == first.Revision {
				panic("no such thing")
			}
		}
	})
	h.takes(first)
	known.panics.Store(true)
	h.say(second, nil)
	if r := h.refused(refresh.Commit); r.Reason != "internal" || r.Revision != second.Revision {
		t.Errorf("%+v", r)
	}
	known.panics.Store(false)
	h.takes(third)
}
