package guard

import (
	"sync"
	"time"
	"weak"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/response"
)

// maxVerdicts bounds how many verdicts are cached.
const maxVerdicts = 8192

// verdicts caches that responses of the newest judged state may be given, and until when. They rest
// on the baselines, which replicas change. The zero value is ready.
type verdicts struct {
	mu    sync.Mutex
	state *fleetstate.State
	taken uint64
	until map[verdictKey]time.Time
}

// verdictKey names a verdict: ApplicationSets with the same query share responses, but not
// Applications. It keeps no response in memory that the cache of responses has dropped.
type verdictKey struct {
	response       weak.Pointer[response.Response]
	applicationSet string
}

func (p proposal) verdictKey() verdictKey {
	return verdictKey{weak.Make(p.response), p.query.ApplicationSet}
}

// get returns until when a response may be given: the zero time for as long as its state is the
// newest, and no replica has given another one.
func (v *verdicts) get(p proposal, taken uint64) (time.Time, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != p.st || v.taken != taken {
		return time.Time{}, false
	}
	until, ok := v.until[p.verdictKey()]
	return until, ok
}

func (v *verdicts) put(p proposal, taken uint64, until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != p.st || v.taken != taken || len(v.until) >= maxVerdicts {
		v.state, v.taken, v.until = p.st, taken, map[verdictKey]time.Time{}
	}
	v.until[p.verdictKey()] = until
}
