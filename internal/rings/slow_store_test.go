package rings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// ofAll is the query for all components.
var ofAll = query.Query{View: query.Components, Hub: "hub-1", Group: "addons"}

// unlisted is a store in memory that may not list its records.
type unlisted struct {
	*storetest.Memory
	lists error
}

func (u *unlisted) List(ctx context.Context) ([]string, error) {
	if u.lists != nil {
		return nil, u.lists
	}
	return u.Memory.List(ctx)
}

// hub are rings, and the state that is served.
type hub struct {
	*testing.T
	*Rings
	st *fleetstate.State
}

func newHub(t *testing.T, kept *store.Store) *hub {
	t.Helper()
	s := &hub{T: t}
	s.Rings = New(Options{
		Hub: "hub-1", Responses: new(response.Cache), Logger: slog.New(slog.DiscardHandler), Store: kept,
		Queries: func() map[string][]query.Query { return map[string][]query.Query{"all": {ofAll}} },
		State:   func() *fleetstate.State { return s.st },
	})
	return s
}

// serve serves files with Applications that run something else.
func (s *hub) serve(files *snapshot.Snapshot, note string) {
	s.Helper()
	known := facts.NewSet(false, facts.Cluster{Name: "noted", Labels: map[string]string{"note": note}}).WithApplications(facts.Application{
		Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Digest: "another",
	}).WithHealth()
	st, err := fleetstate.Build(s.st, files, known)
	require.NoError(s, err)
	s.st = st
	s.Serving(st)
}

// TestStatesDuringAReadForgetNothing: the files of the rings' revisions are read from the store one
// after another. However many states are served meanwhile, all of them are there in the end. (G9)
func TestStatesDuringAReadForgetNothing(t *testing.T) {
	const rings = 12
	var policy strings.Builder
	policy.WriteString("apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nrings:\n")
	for i := range rings {
		fmt.Fprintf(&policy, "  - {name: ring-%d, selector: {matchLabels: {ring: none-%d}}}\n", i, i)
	}
	files := func(i int) *snapshot.Snapshot {
		return snapshot.FromMap(fleettest.TwoHubs().With(map[string]string{"fleet/rollouts/all.yaml": policy.String(), "README.yaml": fmt.Sprintf("commit: %d\n", i)}))
	}
	kept, objects := storetest.New()
	records := refresh.NewSnapshots(kept, "rollout-files", 1)
	log := rollout.Log{Rings: map[string]rollout.Record{}}
	for i := range rings {
		s := files(i)
		train := rollout.Train{Number: i + 1, Revision: s.Revision}
		log.Newest, log.Rings[fmt.Sprintf("ring-%d", i)] = train, rollout.Record{Train: train, Since: time.Now(), Passed: []rollout.Train{train}}
		if _, err := records.Write(t.Context(), map[string]*snapshot.Snapshot{records.Record(s.Revision): s}); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, newRecord(kept, "all").Write(t.Context(), log))
	s := newHub(t, kept)
	newest, reads := files(rings-1), 0
	s.serve(newest, "")
	objects.OnGet(func(name string) error {
		if strings.HasPrefix(name, "rollout-files") {
			reads++
			s.serve(newest, fmt.Sprint(reads))
		}
		return nil
	})
	s.Look(t.Context())
	objects.OnGet(nil)
	s.serve(newest, "at last")
	s.Look(t.Context())
	if _, err := s.Respond(context.Background(), s.st, ofAll); err != nil || reads < rings-1 {
		t.Errorf("after %d reads: %v", reads, err)
	}
}

// TestNewPolicyBeginsBeforeIt: a policy begins at the revision that was served before it also if
// its records can be read only some commits later. (G9)
func TestNewPolicyBeginsBeforeIt(t *testing.T) {
	kept, memory := storetest.New()
	s := newHub(t, kept)
	with := func(i int, policy string) *snapshot.Snapshot {
		return snapshot.FromMap(fleettest.TwoHubs().With(map[string]string{"fleet/rollouts/all.yaml": policy, "README.yaml": fmt.Sprintf("commit: %d\n", i)}))
	}
	before := with(0, "")
	s.serve(before, "")
	memory.Away(errors.New("connection refused"))
	for i := range maxRevisions + 2 {
		s.serve(with(1+i, policyOfAll), "")
		s.Look(t.Context())
		if _, err := s.Respond(context.Background(), s.st, ofAll); err == nil {
			t.Fatal("there is a response before the records have been read")
		}
	}
	memory.Away(nil)
	s.Look(t.Context())
	s.serve(s.st.Resolver().Snapshot, "published anew")
	if _, err := s.Respond(context.Background(), s.st, ofAll); err != nil {
		t.Error(err)
	}
	log, _, err := newRecord(kept, "all").Read(t.Context())
	if err != nil || log == nil || len(log.Rings["all"].Passed) == 0 || log.Rings["all"].Passed[0].Revision != before.Revision {
		t.Errorf("the record is %+v, %v; expected one that begins at %s", log, err, before.Revision)
	}
}

// TestRevisionThatComesBackEndsRecords: a revision without a policy ends its record also where it
// was served before the policy, and the store failed while the policy was there. (rule 10)
func TestRevisionThatComesBackEndsRecords(t *testing.T) {
	objects := &unlisted{Memory: new(storetest.Memory)}
	kept := store.New(objects)
	s := newHub(t, kept)
	without := snapshot.FromMap(fleettest.TwoHubs())
	with := snapshot.FromMap(fleettest.TwoHubs().With(map[string]string{"fleet/rollouts/all.yaml": policyOfAll}))
	s.serve(without, "")
	s.Look(t.Context())
	s.serve(with, "")
	log := rollout.Begin(s.st.Fleet.Rollouts[0], with.Revision, time.Now()) // a replica's
	require.NoError(t, newRecord(kept, "all").Write(t.Context(), log))
	objects.lists = errors.New("forbidden")
	s.Look(t.Context())
	objects.lists = nil
	s.serve(without, "")
	s.Look(t.Context())
	if is, _, err := newRecord(kept, "all").Read(t.Context()); err != nil || is == nil || !is.Ended {
		t.Errorf("the record is %+v, %v; expected one that has ended", is, err)
	}
}

// TestRevisionsThatNobodyHasAreForgotten: however many revisions a hub announces that cannot be
// read, only those of the last interval are remembered. (H10)
func TestRevisionsThatNobodyHasAreForgotten(t *testing.T) {
	s := newHub(t, nil)
	now := time.Now()
	s.o.Now = func() time.Time { return now }
	s.o.Fetch = func(context.Context, string) (*snapshot.Snapshot, error) { return nil, errors.New("no such revision") }
	s.serve(snapshot.FromMap(fleettest.TwoHubs()), "")
	for i := range 100 {
		s.fetch(t.Context(), s.st, fmt.Sprint("revision-", i), nil)
		now = now.Add(fetchInterval)
	}
	if len(s.tried) > 1 {
		t.Errorf("%d revisions are remembered", len(s.tried))
	}
}

// TestDamagedRecordOfAFormerPolicyIsEnded: a damaged record of a policy that the fleet does not
// have does not keep files that no ring needs. (rule 10)
func TestDamagedRecordOfAFormerPolicyIsEnded(t *testing.T) {
	kept, memory := storetest.New()
	memory.Set("rollout-old-v1", []byte("{"))
	records := refresh.NewSnapshots(kept, "rollout-files", 1)
	files := snapshot.FromMap(map[string]string{"README.yaml": "needed: no more\n"})
	left := records.Record(files.Revision)
	if _, err := records.Write(t.Context(), map[string]*snapshot.Snapshot{left: files}); err != nil {
		t.Fatal(err)
	}
	s := newHub(t, kept)
	for range 3 {
		s.serve(snapshot.FromMap(fleettest.TwoHubs()), "")
		s.Look(t.Context())
	}
	if is, _, err := newRecord(kept, "old").Read(t.Context()); err != nil || is == nil || !is.Ended {
		t.Errorf("the record is %+v, %v; expected one that has ended", is, err)
	}
	if names := memory.Names(); slices.Contains(names, left) {
		t.Errorf("%s is still there: %v", left, names)
	}
}
