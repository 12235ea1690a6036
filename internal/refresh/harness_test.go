package refresh_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	member   = "clusterName: a\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: hub-1/a\n"
	broken   = member + "tenant: twice\n"
	versions = "releases:\n  globals: {chartRepoUrl: https://example.org/repo, chartRepoPath: charts/x, chartRepoRevision: main, use_helm_repo_path: \"true\"}\n  addons:\n  - type: default\n  - type: canary\n"
)

// unusable is a change that breaks the repository as a whole.
var unusable = map[string]string{"versions/applicationSets.yaml": "releases: [\n"}

// fleet is a good repository with the files given on top; an empty text leaves one out.
func fleet(files map[string]string) *snapshot.Snapshot {
	all := fleettest.TwoHubs().With(fleettest.Tree{
		"versions/applicationSets.yaml":    versions,
		"fleet/fleet-members/hub-2/c.yaml": strings.ReplaceAll(member, "a\n", "c\n"),
	})
	return snapshot.FromMap(all.With(files))
}

// known is a facts provider that returns what the test has set.
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
	r      *refresh.Refresher
	s      *fleettest.Source
	cancel context.CancelFunc // ends the context that it was started with
}

func start(t *testing.T, f refresh.FactsProvider) *harness {
	t.Helper()
	return startWith(t, f, nil)
}

func startWith(t *testing.T, f refresh.FactsProvider, s *store.Store, options ...func(*refresh.Options)) *harness {
	t.Helper()
	source := fleettest.NewSource()
	clock := time.Unix(1_700_000_000, 0)
	var mu sync.Mutex
	o := refresh.Options{
		Source: source, Facts: f, Hub: "hub-1", Store: s, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { mu.Lock(); defer mu.Unlock(); clock = clock.Add(time.Second); return clock },
	}
	for _, set := range options {
		set(&o)
	}
	r, err := refresh.New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r.Start(ctx)
	t.Cleanup(func() {
		cancel()
		if err := r.Stop(); err != nil || !source.Closed() {
			t.Errorf("stop: %v, source closed: %v", err, source.Closed())
		}
	})
	return &harness{T: t, r: r, s: source, cancel: cancel}
}

func folder(t *testing.T, dir string) *store.Store {
	t.Helper()
	f, err := store.NewFolder(dir)
	require.NoError(t, err)
	return store.New(f)
}

// overwrite replaces the content of a record of a folder, as only another process would.
func overwrite(t *testing.T, dir, name, old, updated string) {
	t.Helper()
	s := folder(t, dir)
	data, version, err := s.Read(t.Context(), name)
	if err != nil || !strings.Contains(string(data), old) {
		t.Fatalf("%q is not in record %s, %v", old, name, err)
	}
	if _, err := s.Write(t.Context(), name, []byte(strings.Replace(string(data), old, updated, 1)), version); err != nil {
		t.Fatal(err)
	}
}

func (h *harness) say(s *snapshot.Snapshot, err error) {
	h.s.Reports <- fleettest.Report{Snapshot: s, Err: err}
}

// until waits for a status.
func (h *harness) until(what string, ok func(refresh.Status) bool) refresh.Status {
	h.Helper()
	deadline := time.After(time.Minute)
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

// takes reports a snapshot, which has to be served.
func (h *harness) takes(s *snapshot.Snapshot) *snapshot.Snapshot {
	h.Helper()
	h.say(s, nil)
	h.serving(s)
	return s
}

func (h *harness) refused(cause refresh.Cause) refresh.Refusal {
	h.Helper()
	st := h.until("refused "+string(cause), func(st refresh.Status) bool { return len(st.Refused) == 1 && st.Refused[0].Cause == cause })
	return st.Refused[0]
}

func (h *harness) label(cluster, label string) string {
	h.Helper()
	e, err := explain.Component(h.r.State(), explain.Target{Hub: "hub-1", Cluster: cluster, Group: "fleet", Component: "fleet-secret"}, nil)
	require.NoError(h, err)
	for _, l := range e.Labels {
		if l.Key == label {
			return *l.Value
		}
	}
	return ""
}
