package e2e

import (
	"flag"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// lanes run as many tests at a time as -parallel says, which is one for each core: a test with a
// hub of its own mostly waits. The longest begins first, since what begins last runs alone.
type lanes struct {
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
