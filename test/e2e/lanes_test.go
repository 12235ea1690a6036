package e2e

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// lanes run as many tests at a time as -parallel says, which is one for each core: a test with a
// hub of its own mostly waits. The longest begins first, since what begins last runs alone. What
// would go on after the time of the variable UNTIL, in seconds since 1970, is left out by name.
type lanes struct {
	until   time.Time // zero for no end
	mu      sync.Mutex
	free    int
	waiting []lane
}

// lane is a test that waits for its turn.
type lane struct {
	seconds int
	turn    chan struct{}
}

var hubs lanes

// open takes over -parallel from the testing package, which resumes tests in any order. It lets all
// of them resume, and they wait here.
func (l *lanes) open() (err error) {
	flag.Parse()
	if until := os.Getenv("UNTIL"); until != "" {
		seconds, err := strconv.ParseInt(until, 10, 64)
		if err != nil {
			return fmt.Errorf("UNTIL: %w", err)
		}
		l.until = time.Unix(seconds, 0)
	}
	parallel := flag.Lookup("test.parallel").Value
	if l.free, err = strconv.Atoi(parallel.String()); err != nil {
		return err
	}
	return parallel.Set("1000")
}

// beside lets a test that takes some seconds run beside others.
func (l *lanes) beside(t *testing.T, seconds int) {
	t.Helper()
	turn := make(chan struct{})
	l.mu.Lock()
	l.waiting = append(l.waiting, lane{seconds, turn}) // before Parallel: the first to resume knows all
	l.mu.Unlock()
	t.Parallel()
	l.next(0)
	<-turn
	began := time.Now()
	t.Cleanup(func() { // the last one of the test's: its hub has stopped
		t.Logf("%s took %.1f s; the time below has its wait, too", t.Name(), time.Since(began).Seconds())
		l.next(1)
	})
	l.inTime(t, seconds)
}

// inTime leaves a test out that takes some seconds and would not end in time.
func (l *lanes) inTime(t *testing.T, seconds int) {
	t.Helper()
	if !l.until.IsZero() && time.Now().Add(time.Duration(seconds)*time.Second).After(l.until) {
		t.Skipf("left out: it takes some %d s, and all ends at %s", seconds, l.until.UTC().Format("15:04:05"))
	}
}

// next gives free lanes to the longest of those that wait.
func (l *lanes) next(freed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free += freed
	slices.SortStableFunc(l.waiting, func(a, b lane) int { return b.seconds - a.seconds })
	for ; l.free > 0 && len(l.waiting) > 0; l.free-- {
		close(l.waiting[0].turn)
		l.waiting = l.waiting[1:]
	}
}
