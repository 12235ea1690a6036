package refresh

import (
	"time"

	"github.com/argosy-hub/argosy/internal/base/run"
)

// The first and the longest pause before a checkpoint that the store has not taken is written
// again. A store that hangs holds up the worker meanwhile, so the pauses grow.
const (
	firstRewrite = 10 * time.Second
	maxRewrite   = 5 * time.Minute
)

// rewriting has a checkpoint written again that the store has not taken, or that another replica
// may have completed. It belongs to the worker. The zero value has nothing to write.
type rewriting struct {
	pause time.Duration
	due   time.Time
}

// begin has the checkpoint written again after a pause, for which the worker runs then.
func (w *rewriting) begin(worker run.Trigger) {
	w.pause = min(max(2*w.pause, firstRewrite), maxRewrite)
	w.due = time.Now().Add(w.pause)
	time.AfterFunc(w.pause, worker.Fire)
}

// isDue reports whether the pause has ended.
func (w *rewriting) isDue() bool { return w.pause > 0 && !time.Now().Before(w.due) }
