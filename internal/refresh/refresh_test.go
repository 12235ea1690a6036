package refresh_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
)

const (
	member   = "clusterName: a\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: hub/a\n"
	broken   = member + "tenant: twice\n"
	versions = "releases:\n  globals: {chartRepoUrl: https://example.org/repo, chartRepoPath: charts/x, chartRepoRevision: main, use_helm_repo_path: \"true\"}\n  addons:\n  - type: default\n  - type: canary\n"
)

// unusable is a change that breaks the repository as a whole.
var unusable = map[string]string{"versions/applicationSets.yaml": "releases: [\n"}

// fleet is a good repository with the files given on top; an empty text leaves one out.
func fleet(files map[string]string) *snapshot.Snapshot {
	all := map[string]string{
		"fleet/fleet-members/hub-1/a.yaml":     member,
		"fleet/fleet-members/hub-1/b.yaml":     strings.ReplaceAll(strings.ReplaceAll(member, ": a\n", ": b\n"), "hub/a", "hub/b"),
		"fleet/fleet-members/hub-1/hub-1.yaml": "clusterName: hub-1\ntenant: platform\nenvironment: prod\nfleet_member: hub-cluster\n",
		"fleet/fleet-members/other/c.yaml":     strings.ReplaceAll(strings.ReplaceAll(member, ": a\n", ": c\n"), "hub/a", "hub/c"),
		"fleet/fleet-members/other/other.yaml": "clusterName: other\ntenant: platform\nenvironment: prod\nfleet_member: hub-cluster\n",
		"versions/applicationSets.yaml":        versions,
		"versions/fleetSecrets.yaml":           "releases:\n- type: default\n  use_helm_repo_path: \"true\"\n  chartRepoUrl: https://example.org/repo\n  chartRepoPath: charts/y\n  chartRepoRevision: main\n",
	}
	maps.Copy(all, files)
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return snapshot.FromMap(all)
}

// script is a source that says what it is told.
type script struct {
	says   chan said
	closed bool
	pokes  chan struct{}
}

type said struct {
	s   *snapshot.Snapshot
	err error
}

func newScript() *script { return &script{says: make(chan said), pokes: make(chan struct{}, 1)} }

func (s *script) Snapshot(context.Context) (*snapshot.Snapshot, error) { panic("not asked for") }
func (s *script) Refresh()                                             { s.pokes <- struct{}{} }
func (s *script) String() string                                       { return "script" }
func (s *script) Close() error                                         { s.closed = true; return nil }
func (s *script) Watch(ctx context.Context, update func(*snapshot.Snapshot, error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case x := <-s.says:
			update(x.s, x.err)
		}
	}
}

// known is a facts provider that says what it is told.
type known struct {
	mu     sync.Mutex
	set    facts.Set
	synced bool
	err    error
	poke   chan struct{}
}

func newKnown(synced bool, cs ...facts.Cluster) *known {
	return &known{set: facts.NewSet(true, cs...), synced: synced, poke: make(chan struct{}, 1)}
}

func (k *known) Current() (facts.Set, bool) { k.mu.Lock(); defer k.mu.Unlock(); return k.set, k.synced }
func (k *known) Err() error                 { k.mu.Lock(); defer k.mu.Unlock(); return k.err }
func (k *known) Refresh()                   {}
func (k *known) Run(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.poke:
			changed()
		}
	}
}

func (k *known) say(cs ...facts.Cluster) { k.sayAll(facts.NewSet(true, cs...)) }

func (k *known) sayAll(set facts.Set) {
	k.mu.Lock()
	k.set, k.synced = set, true
	k.mu.Unlock()
	k.poke <- struct{}{}
}

func cluster(name string, labels ...string) facts.Cluster {
	c := facts.Cluster{Name: name, Labels: map[string]string{}}
	for i := 0; i < len(labels); i += 2 {
		c.Labels[labels[i]] = labels[i+1]
	}
	return c
}

type harness struct {
	*testing.T
	r *refresh.Refresher
	s *script
}

func start(t *testing.T, f refresh.FactsProvider) *harness {
	t.Helper()
	return startWith(t, f, "")
}

func startWith(t *testing.T, f refresh.FactsProvider, stateFile string) *harness {
	t.Helper()
	s := newScript()
	clock := time.Unix(1_700_000_000, 0)
	var mu sync.Mutex
	r, err := refresh.New(refresh.Options{
		Source: s, Facts: f, Hub: "hub-1", StateFile: stateFile, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { mu.Lock(); defer mu.Unlock(); clock = clock.Add(time.Second); return clock },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Start(context.Background())
	t.Cleanup(func() {
		if err := r.Stop(); err != nil || !s.closed {
			t.Errorf("stop: %v, source closed: %v", err, s.closed)
		}
	})
	return &harness{T: t, r: r, s: s}
}

func (h *harness) say(s *snapshot.Snapshot, err error) { h.s.says <- said{s, err} }

// until waits for a status.
func (h *harness) until(what string, ok func(refresh.Status) bool) refresh.Status {
	h.Helper()
	deadline := time.After(20 * time.Second)
	for {
		changed := h.r.Changed()
		st := h.r.Status()
		if ok(st) {
			return st
		}
		select {
		case <-changed:
		case <-deadline:
			h.Fatalf("never %s: %+v", what, st)
		}
	}
}

func (h *harness) serving(s *snapshot.Snapshot) refresh.Status {
	h.Helper()
	return h.until("serving "+s.Revision, func(st refresh.Status) bool { return st.Revision == s.Revision && len(st.Refused) == 0 })
}

func (h *harness) refused(cause refresh.Cause) refresh.Refusal {
	h.Helper()
	st := h.until("refused "+string(cause), func(st refresh.Status) bool { return len(st.Refused) == 1 && st.Refused[0].Cause == cause })
	return st.Refused[0]
}

func (h *harness) label(cluster, label string) string {
	h.Helper()
	e, err := h.r.State().Explain("hub-1", cluster, "fleet", "fleet-secret")
	if err != nil {
		h.Fatal(err)
	}
	return e.Labels[label]
}

func TestG4_NothingBeforeSnapshotAndFacts(t *testing.T) {
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
	s := fleet(map[string]string{"fleet/fleet-members/hub-1/a.yaml": broken})
	h.say(s, nil)
	h.serving(s)
	if _, err := h.r.State().Answer(generator.Request{View: generator.Members, Hub: "hub-1"}); err == nil {
		t.Error("an answer about a broken member")
	}
	h.quarantined("a refused")
	// Another member that breaks is kept; the first is as it was, even if its error moved.
	worse := fleet(map[string]string{"fleet/fleet-members/hub-1/a.yaml": broken, "fleet/fleet-members/hub-1/b.yaml": "clusterName: [\n"})
	h.say(worse, nil)
	h.serving(worse)
	h.quarantined("a refused", "b kept "+s.Revision)
	moved := fleet(map[string]string{"fleet/fleet-members/hub-1/a.yaml": "# a comment\n" + broken})
	h.say(moved, nil)
	h.serving(moved)
	good := fleet(nil)
	h.say(good, nil)
	h.serving(good)
	if _, err := h.r.State().Answer(generator.Request{View: generator.Members, Hub: "hub-1"}); err != nil {
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
	good := fleet(nil)
	h.say(good, nil)
	h.serving(good)
}

func TestBrokenCommitKeepsTheOldState(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"layout":     {"fleet/layout.yaml": "kind: [\n"},
		"repository": unusable,
		"hub":        {"fleet/fleet-members/hub-1/b.yaml": strings.ReplaceAll(member, ": a\n", ": b\n") + "fleet_member: hub-cluster\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, nil)
			good := fleet(nil)
			h.say(good, nil)
			h.serving(good)
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
			<-h.s.pokes
			h.say(bad, nil)
			if again := h.refused(refresh.Commit); again != first {
				t.Errorf("%+v, then %+v", first, again)
			}
			// Reverting it clears the refusal; nothing is built anew.
			h.say(good, nil)
			h.serving(good)
			if h.r.State() != state {
				t.Error("a new state for the same revision")
			}
		})
	}
}

func TestErrorsOfOtherHubsAreNotRefused(t *testing.T) {
	h := start(t, nil)
	h.say(fleet(nil), nil)
	s := fleet(map[string]string{"fleet/fleet-members/other/c.yaml": "clusterName: [\n"})
	h.say(s, nil)
	h.serving(s)
}

func TestG4_UnreachableSourceChangesNothing(t *testing.T) {
	h := start(t, nil)
	good := fleet(nil)
	h.say(good, nil)
	h.serving(good)
	state := h.r.State()
	h.say(good, &source.Error{Reason: source.Unreachable, Source: "script", Detail: "away"})
	if r := h.refused(refresh.Source); r.Reason != "unreachable" || r.Problem != "script: away" {
		t.Errorf("%+v", r)
	}
	if h.r.State() != state {
		t.Error("another state")
	}
	// Beside a refused commit, both are told.
	bad := fleet(unusable)
	h.say(bad, &source.Error{Reason: source.Unreachable, Source: "script", Detail: "away"})
	h.until("two refusals", func(st refresh.Status) bool {
		return len(st.Refused) == 2 && st.Refused[0].Cause == refresh.Source && st.Refused[1].Cause == refresh.Commit
	})
	h.say(good, nil)
	h.serving(good)
}

func TestG4_StartWithAnOldSnapshotWhileTheSourceIsAway(t *testing.T) {
	h := start(t, nil)
	s := fleet(nil)
	h.say(s, &source.Error{Reason: source.Unreachable, Source: "script", Detail: "away"})
	h.refused(refresh.Source)
	if h.r.Status().Revision != s.Revision || h.r.State() == nil {
		t.Errorf("%+v", h.r.Status())
	}
}

func TestFactsChangeOnTheLastAcceptedSnapshot(t *testing.T) {
	k := newKnown(true, cluster("a"), cluster("b"))
	h := start(t, k)
	good := fleet(nil)
	h.say(good, nil)
	h.serving(good)
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
	good := fleet(nil)
	h.say(good, nil)
	h.serving(good)
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
	with := fleet(map[string]string{"versions/applicationSets.yaml": versions + "  - type: nosuch\n"})
	h.say(with, nil)
	h.serving(with)
	if a := h.label("a", "tier"); a != "new" {
		t.Errorf("a has %s", a)
	}
}

// A cluster whose Secret is refused moves on all the same: what its Applications are is no matter of the Secret.
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
	h.say(moved, nil)
	h.serving(moved)
	answered := func() bool {
		b, err := h.r.State().Answer(generator.Request{View: generator.Components, Hub: "hub-1", Group: "addons", Component: "dns", Release: "canary", ApplicationSet: "addons-canary-dns"})
		if err != nil {
			t.Fatal(err)
		}
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
	good := fleet(nil)
	h.say(good, nil)
	h.serving(good)
	renamed := fleet(map[string]string{"versions/applicationSets.yaml": strings.ReplaceAll(versions, "canary", "trial")})
	h.say(renamed, nil)
	h.serving(renamed)
	h.quarantined("a kept " + good.Revision)
	k.say(cluster("a", "addonsRelease", "trial"), cluster("b"))
	h.until("a goes on", func(st refresh.Status) bool { return len(st.Quarantined) == 0 })
	if got := h.label("a", "addonsRelease"); got != "trial" {
		t.Errorf("a is on release %s", got)
	}
}

func TestFactsFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "facts.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, f)
	s := fleet(nil)
	h.say(s, nil)
	h.serving(s)
	trigger := func() { h.r.Trigger(); <-h.s.pokes }
	write(head + "- {name: a, labels: {tier: new}}\n")
	trigger()
	h.until("new facts", func(refresh.Status) bool { return h.label("a", "tier") == "new" })
	write("kind: Other\n")
	trigger()
	h.refused(refresh.Facts)
	if h.label("a", "tier") != "new" {
		t.Error("a wrong file changed the facts")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	trigger()
	h.until("no file", func(st refresh.Status) bool { return len(st.Refused) == 1 && st.Refused[0].Reason == "unreadable" })
	write(head + "- {name: a, labels: {tier: new}}\n")
	trigger()
	h.serving(s)
}

// What was accepted survives a restart: a refused commit stays refused, an unreachable source changes nothing.
func TestG4_RestartGoesOnFromWhatWasAccepted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "accepted.tar")
	large := strings.Repeat("x", snapshot.MaxFileSize+1)
	good := fleet(map[string]string{"docs/large.yaml": large, "docs/empty.yaml": " ", "fleet/with space/ü.yaml": "a: 1\n"})
	bad := fleet(unusable)
	h := startWith(t, nil, file)
	h.say(good, nil)
	h.serving(good)
	h.say(bad, nil)
	h.refused(refresh.Commit)
	want, err := h.r.State().Answer(generator.Request{View: generator.Members, Hub: "hub-1"})
	if err != nil {
		t.Fatal(err)
	}
	for what, first := range map[string]said{
		"refused commit": {s: bad},
		"unreachable":    {err: &source.Error{Reason: source.Unreachable, Source: "script", Detail: "away"}},
		"the same":       {s: good},
	} {
		h := startWith(t, nil, file)
		if h.r.State() != nil {
			t.Errorf("%s: served before the source was looked at", what)
		}
		h.say(first.s, first.err)
		h.until("serving what was accepted: "+what, func(st refresh.Status) bool { return st.Revision == good.Revision })
		if st := h.r.Status(); (what == "the same") != (len(st.Refused) == 0) {
			t.Errorf("%s: %+v", what, st)
		}
		got, err := h.r.State().Answer(generator.Request{View: generator.Members, Hub: "hub-1"})
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: another answer, %v", what, err)
		}
	}
	// A good commit is taken at once, and kept in turn.
	newer := fleet(map[string]string{"docs/x.yaml": "a: 1\n"})
	h = startWith(t, nil, file)
	h.say(newer, nil)
	h.serving(newer)
	if err := h.r.Stop(); err != nil {
		t.Fatal(err)
	}
	h = startWith(t, nil, file)
	h.say(nil, errors.New("script: away"))
	h.until("serving the newer", func(st refresh.Status) bool { return st.Revision == newer.Revision })
	if err := h.r.Stop(); err != nil {
		t.Fatal(err)
	}
	// Half a file is no state, and no reason not to start.
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 100, len(data) / 2} {
		if err := os.WriteFile(file, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		h = startWith(t, nil, file)
		h.say(good, nil)
		h.serving(good)
		if err := h.r.Stop(); err != nil { // it has written all by then
			t.Fatal(err)
		}
	}
	// Nor is one whose content is not what was written: served, it would stand for a revision that it is not.
	if data, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(data, []byte("\x00a: 1\n"), []byte("\x00a: 2\n"), 1)
	if bytes.Equal(damaged, data) {
		t.Fatal("nothing to damage")
	}
	if err := os.WriteFile(file, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	h = startWith(t, nil, file)
	h.say(nil, errors.New("script: away"))
	h.until("waiting for the source", func(st refresh.Status) bool { return st.Waiting == "script: away" })
}
