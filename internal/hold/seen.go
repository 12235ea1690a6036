package hold

import (
	"sync"
	"time"
)

// Seen remembers since when holds are there whose mechanism does not say it. The zero value is
// ready; several goroutines may use it.
type Seen struct {
	mu    sync.Mutex
	first map[scope]time.Time
}

// scope names a hold, whatever its detail.
type scope struct {
	reason                                 Reason
	hub, tenant, cluster, group, component string
}

// Date sets Since of holds that have none. Holds that it is not called with any more are forgotten.
func (s *Seen) Date(holds []Hold, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := map[scope]time.Time{}
	for i, h := range holds {
		if !h.Since.IsZero() {
			continue
		}
		key := scope{h.Reason, h.Hub, h.Tenant, h.Cluster, h.Group, h.Component}
		since, known := s.first[key]
		if !known {
			since = now.UTC().Truncate(time.Millisecond)
		}
		first[key], holds[i].Since = since, since
	}
	s.first = first
}
