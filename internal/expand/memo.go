package expand

import "sync"

// Limits of what is remembered: an Application with its values is a few kilobytes.
const (
	maxRendered = 4096
	maxCharts   = 2048
)

// Memo remembers what has been rendered, for all Hubs that share it. The zero value is ready for use.
type Memo struct {
	mu           sync.Mutex
	applications map[string]Tree
	charts       map[string][]Manifest
	// Rendered counts Applications, and Templated charts, that were not remembered.
	rendered, templated int
}

// Counts are how many Applications and charts have been rendered.
func (m *Memo) Counts() (applications, charts int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rendered, m.templated
}

func (m *Memo) application(key string, render func() (Tree, error)) (Tree, error) {
	return remembered(m, &m.applications, &m.rendered, maxRendered, key, render)
}

func (m *Memo) chart(key string, render func() ([]Manifest, error)) ([]Manifest, error) {
	return remembered(m, &m.charts, &m.templated, maxCharts, key, render)
}

// remembered is what is known under a key, or else found; failures are found again each time. What is found while
// somebody else finds the same is thrown away.
func remembered[V any](m *Memo, in *map[string]V, count *int, limit int, key string, find func() (V, error)) (V, error) {
	m.mu.Lock()
	known, ok := (*in)[key]
	m.mu.Unlock()
	if ok {
		return known, nil
	}
	found, err := find()
	if err != nil {
		return found, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	*count++
	if *in == nil || len(*in) >= limit {
		*in = map[string]V{}
	}
	(*in)[key] = found
	return found, nil
}
