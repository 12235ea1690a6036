package refresh_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
