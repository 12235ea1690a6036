package refresh

import (
	"sync/atomic"
	"time"

	"github.com/argosy-hub/argosy/internal/trigger"
)

// The first and the longest pause before a checkpoint that the store has not taken is written
// again. A store that hangs holds up the worker meanwhile, so the pauses grow.
const (
	firstRewrite = 10 * time.Second
	maxRewrite   = 5 * time.Minute
)

// rewriting has a checkpoint written again that the store has not taken. It belongs to the worker.
type rewriting struct {
	pause time.Duration
	timer *time.Timer // nil before the first
	isDue atomic.Bool
}

// begin makes the checkpoint due after a pause, and has the worker run then.
func (w *rewriting) begin(worker trigger.Trigger) {
	w.pause = min(max(2*w.pause, firstRewrite), maxRewrite)
	w.timer = time.AfterFunc(w.pause, func() {
		w.isDue.Store(true)
		worker.Fire()
	})
}

// end forgets what is due.
func (w *rewriting) end() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.isDue.Store(false)
}
