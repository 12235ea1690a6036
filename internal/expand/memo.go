package expand

import "sync"

// Limits of what is remembered: an Application with its values is a few kilobytes; what a chart makes takes some ten
// times its text, which is what counts, in bytes.
const (
	maxRendered = 4096
	maxText     = 24 << 20
)

// Memo remembers what has been rendered, for all Hubs that share it. The zero value is ready for use.
type Memo struct {
	mu           sync.Mutex
	applications map[string]Tree
	charts       map[string][]Manifest
	text         int // of charts, in bytes
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
	return remembered(m, &m.applications, key, render, func(Tree) {
		m.rendered++
		if len(m.applications) >= maxRendered {
			m.applications = nil
		}
	})
}

func (m *Memo) chart(key string, render func() ([]Manifest, error)) ([]Manifest, error) {
	return remembered(m, &m.charts, key, render, func(found []Manifest) {
		m.templated++
		size := 1 << 10 // a chart that makes nothing is remembered, too
		for _, x := range found {
			size += x.Size
		}
		if m.text += size; m.text > maxText {
			m.charts, m.text = nil, size
		}
	})
}

// remembered is what is known under a key, or else found; failures are found again each time. What is found while
// somebody else finds the same is thrown away. room makes room for it.
func remembered[V any](m *Memo, in *map[string]V, key string, find func() (V, error), room func(V)) (V, error) {
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
	if known, ok := (*in)[key]; ok {
		return known, nil
	}
	room(found)
	if *in == nil {
		*in = map[string]V{}
	}
	(*in)[key] = found
	return found, nil
}
