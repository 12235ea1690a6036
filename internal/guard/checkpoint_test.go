package guard

import (
	"bytes"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

func newTestBaselines(t testing.TB, s *store.Store) *baselines {
	t.Helper()
	return newBaselines(Options{Store: s, Logger: quiet, Now: func() time.Time { return now }})
}

func (b *baselines) sync(t testing.TB) {
	t.Helper()
	b.checkpoint.Exchange(t.Context())
}

// putExamples remembers a response that has lost something, and an empty one.
func putExamples(b *baselines) {
	b.put(`{"Engine":"argocd"}`, "r1", []lifecycle.Item{{Cluster: "c1", Group: "addons", Component: "dns", Release: "default"}},
		[]spent{{lifecycle.Item{Cluster: "c2", Group: "addons", Component: "dns"}, now, ""}}, terms{Revision: "r1"})
	b.put(`{"Engine":"flux"}`, "r1", nil, nil, terms{})
}

// Rule 9: replicas have the newest response to each query, and a record that one of them dropped
// stays dropped.
func TestReplicasShareLastResponses(t *testing.T) {
	s, _ := storetest.New()
	first, second := newTestBaselines(t, s), newTestBaselines(t, s)
	if first.isReady() {
		t.Error("ready before the store has been read")
	}
	first.sync(t)
	putExamples(first)
	first.sync(t)
	second.sync(t)
	if !second.isReady() || len(second.of(`{"Engine":"argocd"}`)) != 1 {
		t.Errorf("%+v", second.stats())
	}
	later := func() time.Time { return now.Add(time.Second) }
	first.now, second.now = later, later
	second.drop(`{"Engine":"argocd"}`)
	second.sync(t)
	first.sync(t)
	if first.of(`{"Engine":"argocd"}`) != nil || first.stats().Baselines != 1 {
		t.Errorf("dropped, and not forgotten: %+v", first.stats())
	}
}

// FuzzResponses (rule 9): of a forged record with the right checksum all is taken in or nothing,
// and damage is reported once. Nothing of it is from the future.
func FuzzResponses(f *testing.F) {
	name := store.Name("responses", 3)
	good, _ := storetest.New()
	b := newTestBaselines(f, good)
	putExamples(b)
	b.sync(f)
	record, _, err := good.Read(f.Context(), name)
	require.NoError(f, err)
	f.Add(record)
	for _, change := range [][2]string{
		{`"dns","default"`, `"dns"`},
		{`\"flux\"`, `\"argocd\"`},
		{`"at":1`, `"at":9`},
		{`"at":1`, `"at":-1`},
		{`"item":["c2",`, `"item":[`},
		{`}}`, `}}{}`},
		{`"revision":"r1"`, `"revision":"r1","more":1`},
		{`"items":[]`, `"items":[],"dropped":true`},
	} {
		changed := bytes.Replace(record, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(changed, record) {
			f.Fatalf("%s is not in %s", change[0], record)
		}
		f.Add(changed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _ := storetest.New()
		if _, err := s.Write(t.Context(), name, data, ""); err != nil {
			t.Fatal(err)
		}
		b := newTestBaselines(t, s)
		b.sync(t)
		if b.stats().Damaged > 0 && (len(b.byQuery) > 0 || b.items > 0 || b.stats().Damaged > 1) {
			t.Fatalf("%q: half of it is taken in, or it is reported %d times", data, b.stats().Damaged)
		}
		for q, r := range b.byQuery {
			if r.at > now.UnixNano() || r.dropped && b.of(q) != nil {
				t.Fatalf("%q: %q is of %s", data, q, time.Unix(0, r.at))
			}
		}
	})
}
