package generator

import (
	"bufio"
	"io"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/argosy-hub/argosy/internal/fleet"
)

// Told is an answer, and what it is about. It never changes, but for its notes; and it shares with the answers of other
// states what they have in common.
type Told struct {
	opening, closing string
	revision         []byte // what belongs into holes
	parts            []*part
	total
	to    asker
	whole atomic.Pointer[[]byte] // all of it, when it is small and has been asked for
	notes sync.Map
}

// maxWhole is the size of an answer that is kept as a whole, in bytes. It is a matter of microseconds to put it together;
// those of a large fleet would take as much memory again.
const maxWhole = 512 << 10

// newTold is an answer of parts.
func (st *State) newTold(opening string, parts []*part, closing string) *Told {
	t := &Told{opening: opening, closing: closing, revision: revisionField(st.Revision), parts: parts}
	for _, p := range parts {
		t.add(p.total)
	}
	return t
}

// Len is the answer's size, in bytes.
func (t *Told) Len() int {
	return len(t.opening) + t.size + t.holes*len(t.revision) + max(0, t.sets-1) + len(t.closing)
}

// Sets is the number of its parameter sets.
func (t *Told) Sets() int { return t.sets }

// Bytes are the answer. They must not be changed.
func (t *Told) Bytes() []byte {
	if whole := t.whole.Load(); whole != nil {
		return *whole
	}
	out := make([]byte, 0, t.Len())
	t.pieces(func(piece []byte) { out = append(out, piece...) })
	if len(out) <= maxWhole {
		t.whole.Store(&out)
	}
	return out
}

// buffers are for WriteTo.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 256<<10) }}

// WriteTo writes the answer; a large one is never in memory as a whole.
func (t *Told) WriteTo(w io.Writer) (int64, error) {
	if t.Len() <= maxWhole {
		n, err := w.Write(t.Bytes())
		return int64(n), err
	}
	counted := &counter{w: w}
	b, _ := buffers.Get().(*bufio.Writer)
	defer buffers.Put(b)
	b.Reset(counted)
	t.pieces(func(piece []byte) { _, _ = b.Write(piece) }) // Flush has the error
	err := b.Flush()
	b.Reset(nil)
	return counted.n, err
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// pieces are the answer's bytes, in order.
func (t *Told) pieces(write func([]byte)) {
	write([]byte(t.opening))
	first, comma := true, []byte{','}
	for e := range t.all() {
		if !first {
			write(comma)
		}
		first = false
		if e.hole > 0 {
			write(e.text[:e.hole])
			write(t.revision)
		}
		write(e.text[e.hole:])
	}
	write([]byte(t.closing))
}

// all goes through the answer's sets.
func (t *Told) all() iter.Seq[encodedSet] {
	return func(yield func(encodedSet) bool) {
		for _, p := range t.parts {
			for _, s := range p.said {
				for _, e := range s.sets {
					if !yield(e) {
						return
					}
				}
			}
		}
	}
}

// Texts are its sets as JSON, in order, without the revision. They must not be changed.
func (t *Told) Texts() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for e := range t.all() {
			if !yield(e.text) {
				return
			}
		}
	}
}

// Subjects are those of its sets, in order.
func (t *Told) Subjects() []Subject {
	out := make([]Subject, 0, t.sets)
	for e := range t.all() {
		out = append(out, e.subject)
	}
	return out
}

// again is the answer without notes.
func (t *Told) again() *Told {
	out := &Told{opening: t.opening, closing: t.closing, revision: t.revision, parts: t.parts, total: t.total, to: t.to}
	out.whole.Store(t.whole.Load())
	return out
}

// Subject is what one parameter set is about.
type Subject struct {
	// Name is the Application's name, and Cluster where it is deployed to.
	Name, Cluster string
	// Group and Component are what is deployed: what registers a member is fleet/fleet-secret, its agent fleet/agent. Of a
	// release there is no component.
	Group, Component string
	// Release is the release's type; empty in views Members and Agents.
	Release string
	// Clusters are those on the release, in view Releases.
	Clusters []string
	// Leaves tells that the set is answered for its removal alone: with deletion cascade (D3).
	Leaves bool
}

// subject is that of a set.
func subject(s ParameterSet) Subject {
	c := s.common()
	out := Subject{Name: c.ApplicationName, Cluster: c.Name}
	switch s := s.(type) {
	case *ComponentSet:
		out.Group, out.Component, out.Release, out.Leaves = s.Group, s.Component, s.Release, s.Deletion == fleet.Cascade
	case *MemberSet:
		out.Group, out.Component, out.Leaves = FleetGroup, Registration, s.Deletion == fleet.Cascade
	case *AgentSet:
		out.Group, out.Component, out.Leaves = FleetGroup, Agent, s.Deletion == fleet.Cascade
	case *GrantSet:
		out.Group = s.Group // no component's: what runs is not in it
	case *ReleaseSet:
		release, _ := s.Release["type"].(string)
		out.Group, out.Release, out.Clusters = s.Group, release, s.Clusters
	}
	return out
}

// Note is what somebody has put down for an answer, as long as the answer is remembered. An answer that is taken over
// into the next state has none.
func (t *Told) Note(key any) (any, bool) { return t.notes.Load(key) }

// SetNote puts something down for an answer.
func (t *Told) SetNote(key, value any) { t.notes.Store(key, value) }
