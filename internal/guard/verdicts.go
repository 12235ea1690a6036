package guard

import (
	"sync"
	"time"
	"weak"

	"github.com/argosy-hub/argosy/internal/generator"
)

// maxVerdicts bounds how many verdicts are remembered.
const maxVerdicts = 8192

// verdicts remembers that responses of the newest judged state may be given, and until when. The zero value is ready.
type verdicts struct {
	mu    sync.Mutex
	state *generator.State
	until map[verdictKey]time.Time
}

// verdictKey names a verdict: ApplicationSets that ask alike share responses, but not Applications. It keeps no response in
// memory that the cache has dropped.
type verdictKey struct {
	response       weak.Pointer[generator.Response]
	applicationSet string
}

func (a ask) verdictKey() verdictKey { return verdictKey{weak.Make(a.told), a.r.ApplicationSet} }

// get is until when a response may be given, the zero time for as long as its state is the newest.
func (v *verdicts) get(a ask) (time.Time, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != a.st {
		return time.Time{}, false
	}
	until, ok := v.until[a.verdictKey()]
	return until, ok
}

func (v *verdicts) put(a ask, until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != a.st || len(v.until) >= maxVerdicts {
		v.state, v.until = a.st, map[verdictKey]time.Time{}
	}
	v.until[a.verdictKey()] = until
}
