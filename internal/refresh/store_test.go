package refresh_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// TestAcceptedStateIsWrittenOnceTheStoreTakesIt: a store that refuses writes while a commit is
// accepted gets it later, without another commit: a restart goes on from what was served last. The
// store is tried at intervals. (G4)
func TestAcceptedStateIsWrittenOnceTheStoreTakesIt(t *testing.T) {
	for name, second := range map[string]map[string]string{
		"a good commit":                          {"README.yaml": "a: 1\n"},
		"a commit that a member stays behind at": {"fleet/fleet-members/hub-1/a.yaml": broken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, memory := storetest.New()
				var refuses atomic.Bool
				var refused atomic.Int64
				memory.Fails = func(string) error {
					if !refuses.Load() {
						return nil
					}
					refused.Add(1)
					return errors.New("forbidden")
				}
				h := startWith(t, refresh.StaticFacts{}, store)
				h.say(fleet(nil), nil)
				time.Sleep(time.Second)
				refuses.Store(true)
				s := fleet(second)
				h.say(s, nil)
				time.Sleep(time.Hour)
				if st := h.r.Status(); st.Revision != s.Revision || !strings.Contains(st.StoreProblem, "forbidden") {
					t.Fatalf("%+v", st)
				}
				if n := refused.Load(); n < 5 || n > 60 {
					t.Errorf("the store was tried %d times in an hour", n)
				}
				refuses.Store(false)
				time.Sleep(10 * time.Minute)
				if st := h.r.Status(); st.StoreProblem != "" {
					t.Errorf("the accepted state is not written: %s", st.StoreProblem)
				}
				again := startWith(t, refresh.StaticFacts{}, store)
				again.say(nil, errors.New("unreachable"))
				time.Sleep(time.Second)
				if st := again.r.Status(); st.Revision != s.Revision {
					t.Errorf("a restart serves revision %q; expected %q", st.Revision, s.Revision)
				}
			})
		})
	}
}

// TestStoreThatIsAwayIsLoggedOnce: a service that waits for its store says so once, and not at each
// look: a log would fill a disk with it. Status says it all the time.
func TestStoreThatIsAwayIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, memory := storetest.New()
		memory.Away(errors.New("connection refused"))
		var log bytes.Buffer
		h := startWith(t, refresh.StaticFacts{}, store, func(o *refresh.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "connection refused") {
			t.Errorf("%d lines in an hour, such as %.200s", n, log.String())
		}
		if st := h.r.Status(); !strings.Contains(st.Waiting, "connection refused") {
			t.Errorf("%+v", st)
		}
	})
}

// TestStoreHoldsUpNobody: who follows the served states hears of a commit when it is served, and
// not when the store has taken it, which may be slow. (rule 2)
func TestStoreHoldsUpNobody(t *testing.T) {
	store, memory := storetest.New()
	var heard, isLate, isWritten atomic.Bool
	memory.Fails = func(string) error {
		isWritten.Store(true)
		if !heard.Load() {
			isLate.Store(true)
		}
		return nil
	}
	h := startWith(t, nil, store, func(o *refresh.Options) {
		o.Observe = func(o refresh.Outcome) { heard.Store(o.Swapped) }
	})
	h.takes(fleet(nil))
	if err := h.r.Stop(); err != nil { // it has written all by then
		t.Fatal(err)
	}
	if !isWritten.Load() || isLate.Load() {
		t.Errorf("written: %t, before anybody has heard of the commit: %t", isWritten.Load(), isLate.Load())
	}
}

// forgetter is a provider that notes what it is to forget.
type forgetter struct {
	*known
	called chan func(name string) bool
}

func (f forgetter) Forget(isMember func(name string) bool) { f.called <- isMember }

// L1: after each commit the provider forgets clusters that have no member file any more, with a
// store and without.
func TestProviderForgetsFormerMembers(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		f := forgetter{newKnown(true, cluster("a"), cluster("b")), make(chan func(string) bool, 100)}
		var kept *store.Store
		if dir != "" {
			kept = folder(t, dir)
		}
		h := startWith(t, f, kept)
		h.takes(fleet(nil))
		h.takes(fleet(map[string]string{"fleet/fleet-members/hub-1/a.yaml": ""}))
		for last := time.After(time.Minute); ; {
			select {
			case isMember := <-f.called:
				if isMember("a") {
					continue // of the first commit
				}
				if !isMember("b") {
					t.Error("b is a member")
				}
			case <-last:
				t.Error("the provider is not called")
			}
			break
		}
	}
}
