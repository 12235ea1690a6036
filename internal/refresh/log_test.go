package refresh_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

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
