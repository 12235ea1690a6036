package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// replica is a process that shares a set of names with others.
type replica struct {
	*store.Replicated[map[string]bool]
	names    map[string]bool
	complete bool
	asked    int // how often it was to say what to write
	log      bytes.Buffer
}

func newReplica(s *store.Store) *replica {
	r := &replica{names: map[string]bool{}, complete: true}
	r.Replicated = store.Replicate(s, "names", 1, store.Options[map[string]bool]{
		Log: slog.New(slog.NewTextHandler(&r.log, nil)), Loss: "names are lost",
		Merge: func(theirs *map[string]bool) { maps.Copy(r.names, *theirs) },
		Value: func() (map[string]bool, bool) {
			r.asked++
			return maps.Clone(r.names), r.complete
		},
	})
	return r
}

func (r *replica) add(name string) {
	r.names[name] = true
	r.Changed()
}

// A process writes what it has changed, and what the record of another one may lack.
func TestReplicasWriteTheirChangesAlone(t *testing.T) {
	s, memory := storetest.New()
	first, second := newReplica(s), newReplica(s)
	if !first.Exchange(t.Context()) || first.asked != 0 || len(memory.Names()) != 0 {
		t.Errorf("without a change: %v written, %d times", memory.Names(), first.asked)
	}
	first.complete = false
	first.add("a")
	if first.Exchange(t.Context()); len(memory.Names()) != 0 {
		t.Errorf("an incomplete value is written: %v", memory.Names())
	}
	first.complete = true
	first.Exchange(t.Context())
	second.add("b")
	second.Exchange(t.Context())
	first.Exchange(t.Context())
	if want := map[string]bool{"a": true, "b": true}; !maps.Equal(first.names, want) || !maps.Equal(second.names, want) {
		t.Errorf("first has %v, second %v", first.names, second.names)
	}
	asked := first.asked
	if first.Exchange(t.Context()); first.asked != asked {
		t.Error("a value is made again without a change")
	}
}

// A damaged record is replaced. A store that is away is reported once, and counted; the change is
// written when it is back.
func TestTroubleOfAReplicaEnds(t *testing.T) {
	s, memory := storetest.New()
	r := newReplica(s)
	memory.Set(store.Name("names", 1), []byte("x"))
	r.complete = false
	r.Exchange(t.Context())
	if got := r.Trouble(); got.Damaged != 1 || !store.IsDamaged(got.Problem) || !strings.Contains(r.log.String(), "names are lost") {
		t.Errorf("%+v\n%s", got, &r.log)
	}
	r.complete = true
	if r.Exchange(t.Context()); r.Trouble() != (store.Trouble{Damaged: 1}) {
		t.Errorf("it is not replaced: %+v", r.Trouble())
	}
	memory.Away(errors.New("away"))
	r.add("a")
	for range 2 {
		if r.Exchange(t.Context()) {
			t.Error("a store that is away is reached")
		}
	}
	if got := r.Trouble(); got.Failures != 2 || got.Problem == nil || strings.Count(r.log.String(), "the store cannot be read or written") != 1 {
		t.Errorf("%+v\n%s", got, &r.log)
	}
	memory.Away(nil)
	r.Exchange(t.Context())
	other := newReplica(s)
	if other.Exchange(t.Context()); r.Trouble().Problem != nil || !other.names["a"] {
		t.Errorf("%+v; another process has %v", r.Trouble(), other.names)
	}
}

// What has changed a moment before the end is written, also while changes are collected, and where
// the end breaks a write off.
func TestLastChangeIsWrittenAtTheEnd(t *testing.T) {
	for name, breaksOff := range map[string]bool{"while changes are collected": false, "while the record is written": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				kept, memory := storetest.New()
				if breaksOff {
					memory.Fails = func(string) error {
						memory.Fails = nil
						end()
						return context.Canceled
					}
				}
				r := newReplica(kept)
				r.Quiet = time.Minute
				var running sync.WaitGroup
				running.Go(func() { r.Run(ctx) })
				synctest.Wait()
				r.add("a")
				synctest.Wait()
				if !breaksOff {
					end()
				}
				running.Wait()
				other := newReplica(kept)
				if other.Exchange(t.Context()); !other.names["a"] {
					t.Errorf("the store has %v; the log:\n%s", memory.Names(), &r.log)
				}
			})
		})
	}
}
