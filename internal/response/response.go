package response

import (
	"bufio"
	"io"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// Response is what an ApplicationSet gets, and what its sets are about. It never changes, and
// shares with the responses of other states what they have in common.
type Response struct {
	opening, closing string
	revision         []byte // what belongs into holes
	parts            []*part
	total
	to    requester
	holds string                 // what manual holds keep (Merging.Holds)
	whole atomic.Pointer[[]byte] // all of it, when it is small and has been asked for
}

// maxWhole is the size of an answer that is kept as a whole, in bytes. It is a matter of
// microseconds to put it together; those of a large fleet would take as much memory again.
const maxWhole = 512 << 10

// newResponse is an answer of parts.
func newResponse(st *fleetstate.State, opening string, parts []*part, closing string) *Response {
	t := &Response{opening: opening, closing: closing, revision: revisionField(st.Revision), parts: parts}
	for _, p := range parts {
		t.add(p.total)
	}
	return t
}

// Len is the answer's size, in bytes.
func (t *Response) Len() int {
	return len(t.opening) + t.size + t.holes*len(t.revision) + max(0, t.Tally.Sets-1) + len(t.closing)
}

// Sets is the number of its parameter sets.
func (t *Response) Sets() int { return t.Tally.Sets }

// Bytes are the answer. They must not be changed.
func (t *Response) Bytes() []byte {
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
func (t *Response) WriteTo(w io.Writer) (int64, error) {
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
func (t *Response) pieces(write func([]byte)) {
	write([]byte(t.opening))
	first, comma := true, []byte{','}
	for e := range t.all() {
		if !first {
			write(comma)
		}
		first = false
		if e.hole > 0 {
			write(e.text[:e.hole])
			write(e.revisionIn(t))
		}
		write(e.text[e.hole:])
	}
	write([]byte(t.closing))
}

// all goes through the answer's sets.
func (t *Response) all() iter.Seq[encodedSet] {
	return func(yield func(encodedSet) bool) {
		for _, p := range t.parts {
			for i, c := range p.clusters {
				for _, e := range c.sets {
					if !yield(p.set(i, e)) {
						return
					}
				}
			}
		}
	}
}

// Texts are its sets as JSON, in order, without the revision. They must not be changed.
func (t *Response) Texts() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for e := range t.all() {
			if !yield(e.text) {
				return
			}
		}
	}
}

// WithHold returns the response with a hold's reason beside the revision of its sets. Neither is in
// a set's digest.
func (t *Response) WithHold(reason string) *Response {
	out := &Response{opening: t.opening, closing: t.closing, parts: t.parts, to: t.to}
	out.revision = slices.Concat(t.revision, holdField(reason))
	out.total = t.total
	return out
}
