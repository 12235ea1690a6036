// Package storetest has a store in memory for tests.
package storetest

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/store"
)

// Memory holds objects like an API that replicas share. It serves no request whose context has
// ended. The zero value is empty.
type Memory struct {
	// Max bounds an object; default 1 MiB.
	Max int
	// Fails, if set, is called before each change of an object; the change returns its error.
	Fails func(name string) error
	// Asked, if set, gets a value at each Get, unless it is full.
	Asked chan struct{}

	mu       sync.Mutex
	objects  map[string][]byte
	versions map[string]string
	writes   int
	away     error
	onGet    func(name string) error
}

// New returns a new store in memory.
func New() (*store.Store, *Memory) {
	m := new(Memory)
	return store.New(m), m
}

func (m *Memory) String() string { return "a store in memory" }

// Shared returns true.
func (m *Memory) Shared() bool { return true }

// MaxSize returns Max or its default.
func (m *Memory) MaxSize() int {
	if m.Max == 0 {
		return 1 << 20
	}
	return m.Max
}

// Away makes each operation fail with an error; nil ends that.
func (m *Memory) Away(err error) { m.mu.Lock(); defer m.mu.Unlock(); m.away = err }

// OnGet sets a function that each Get calls and whose error it returns; nil removes it.
func (m *Memory) OnGet(f func(name string) error) { m.mu.Lock(); defer m.mu.Unlock(); m.onGet = f }

// Set replaces an object, or removes it if data is nil.
func (m *Memory) Set(name string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(name, data)
}

func (m *Memory) set(name string, data []byte) {
	if m.objects == nil {
		m.objects, m.versions = map[string][]byte{}, map[string]string{}
	}
	delete(m.objects, name)
	delete(m.versions, name)
	if data != nil {
		m.writes++
		m.objects[name], m.versions[name] = data, strconv.Itoa(m.writes)
	}
}

// Names returns the names of all objects, sorted.
func (m *Memory) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for name := range m.objects {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Object returns an object's data.
func (m *Memory) Object(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.objects[name])
}

// Get returns an object.
func (m *Memory) Get(ctx context.Context, name string) ([]byte, string, error) {
	select {
	case m.Asked <- struct{}{}:
	default:
	}
	m.mu.Lock()
	onGet := m.onGet
	m.mu.Unlock()
	err := ctx.Err()
	if err == nil && onGet != nil {
		err = onGet(name)
	}
	if err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	data, is := m.objects[name]
	switch {
	case m.away != nil:
		return nil, "", m.away
	case !is:
		return nil, "", store.ErrNotFound
	}
	return bytes.Clone(data), m.versions[name], nil
}

// Put creates or replaces an object.
func (m *Memory) Put(ctx context.Context, name string, data []byte, version string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.before(ctx, name); err != nil {
		return "", err
	}
	if m.versions[name] != version {
		return "", store.ErrConflict
	}
	m.set(name, append([]byte{}, data...))
	return m.versions[name], nil
}

// Delete removes an object.
func (m *Memory) Delete(ctx context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.before(ctx, name); err != nil {
		return err
	}
	m.set(name, nil)
	return nil
}

// List returns the names of all objects.
func (m *Memory) List(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away != nil {
		return nil, m.away
	}
	var out []string
	for name := range m.objects {
		out = append(out, name)
	}
	return out, nil
}

// before returns the error with which a change fails. The caller holds the lock.
func (m *Memory) before(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.away == nil && m.Fails != nil {
		return m.Fails(name)
	}
	return m.away
}
