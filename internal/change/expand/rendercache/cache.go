// Package rendercache keeps rendered Applications and charts for revisions that share them.
package rendercache

import (
	"sync"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// The limits of the cache. An Application with its values takes a few kilobytes. A chart's objects
// take some ten times their text; the cache counts the text, in bytes.
const (
	maxRendered = 4096
	maxText     = 24 << 20
)

// Cache reuses rendered Applications and charts. The zero value is ready for use.
type Cache struct {
	mu           sync.Mutex
	applications map[string]manifest.Tree
	charts       map[string][]manifest.Manifest
	text         int // of charts, in bytes
	// rendered and templated count the Applications and charts that were not in the cache.
	rendered, templated int
}

// Counts returns how many Applications and charts have been rendered.
func (m *Cache) Counts() (applications, charts int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rendered, m.templated
}

// Application returns the Application of a key, or renders it. Failures are not cached.
func (m *Cache) Application(key string, render func() (manifest.Tree, error)) (manifest.Tree, error) {
	return cached(m, &m.applications, key, render, func(manifest.Tree) {
		m.rendered++
		if len(m.applications) >= maxRendered {
			m.applications = nil
		}
	})
}

// Chart is Application for the objects of a chart.
func (m *Cache) Chart(key string, render func() ([]manifest.Manifest, error)) ([]manifest.Manifest, error) {
	return cached(m, &m.charts, key, render, func(found []manifest.Manifest) {
		m.templated++
		size := 1 << 10 // a chart that makes nothing is cached, too
		for _, x := range found {
			size += x.Size
		}
		if m.text += size; m.text > maxText {
			m.charts, m.text = nil, size
		}
	})
}

// cached returns the value of a key, or finds it; it does not cache failures. If two goroutines
// find the same value, the second result is dropped. room makes room for a value.
func cached[V any](m *Cache, in *map[string]V, key string, find func() (V, error), room func(V)) (V, error) {
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
