package state

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
)

const (
	chunkedFormat = "argosy-state/1"
	// MaxChunk is how much of a record is in one object: a ConfigMap holds 1 MiB.
	MaxChunk = 768 << 10
	// MaxRecord bounds a record when it is compressed, maxPlain when it is not.
	MaxRecord = 32 << 20
	maxPlain  = 512 << 20
	// tries bounds how often a record is looked at again that is replaced while it is being read.
	tries = 5
)

// Object is a small thing of a store. What it says of itself is in Meta.
type Object struct {
	Name string
	// Version is the store's, by which it knows whether somebody else has written meanwhile; "" for one to be made.
	Version string
	// Record, Generation and Chunk say what it is part of: of a head, Chunk is -1.
	Record            string
	Generation, Chunk int
	// Meta are a head's further words.
	Meta map[string]string
	Data []byte
}

// Objects is a store of objects. Errors are ErrNotFound, ErrConflict, or that the store cannot be reached.
type Objects interface {
	Get(ctx context.Context, name string) (Object, error)
	// Put makes an object, or replaces that of its version, and returns the new version. A chunk is immutable.
	Put(ctx context.Context, o Object) (version string, err error)
	Delete(ctx context.Context, name string) error
	// List are all, without Data and Meta.
	List(ctx context.Context) ([]Object, error)
	String() string
}

// Chunked is a room of objects (rule 3).
type Chunked struct {
	objects      Objects
	chunk, limit int

	mu   sync.Mutex
	seen map[string]int // the newest generation of each record
}

// NewChunked makes a room of a store.
func NewChunked(o Objects) *Chunked {
	return &Chunked{objects: o, chunk: MaxChunk, limit: MaxRecord, seen: map[string]int{}}
}

func (c *Chunked) String() string { return c.objects.String() }

// head is what the head of a record says.
type head struct {
	generation, size, chunks int
	sum                      string
}

const (
	metaFormat, metaSize, metaChunks, metaSum = "format", "size", "chunks", "checksum"
)

func (h head) meta() map[string]string {
	return map[string]string{metaFormat: chunkedFormat, metaSize: strconv.Itoa(h.size), metaChunks: strconv.Itoa(h.chunks), metaSum: h.sum}
}

func (c *Chunked) headOf(name string, o Object) (head, error) {
	if f := o.Meta[metaFormat]; f != chunkedFormat {
		return head{}, &Damaged{name, fmt.Sprintf("it is of format %q; expected %q", f, chunkedFormat)}
	}
	h := head{generation: o.Generation, sum: o.Meta[metaSum]}
	var sizeErr, chunksErr error
	h.size, sizeErr = strconv.Atoi(o.Meta[metaSize])
	h.chunks, chunksErr = strconv.Atoi(o.Meta[metaChunks])
	if sizeErr != nil || chunksErr != nil || o.Record != name || o.Chunk >= 0 || h.generation <= 0 || h.size < 0 || h.size > c.limit ||
		h.chunks < 0 || h.chunks > c.limit/c.chunk+1 {
		return head{}, &Damaged{name, "its head makes no sense"}
	}
	return h, nil
}

func chunkName(name string, h head, i int) string {
	return fmt.Sprintf("%s-%d-%.8s-%d", name, h.generation, h.sum, i)
}

// Read is a record, from its head and its chunks. One that is replaced meanwhile is looked at again. One that is damaged has
// a version all the same, by which it can be replaced.
func (c *Chunked) Read(ctx context.Context, name string) ([]byte, string, error) {
	var missing error
	version := ""
	for range tries {
		o, err := c.objects.Get(ctx, name)
		if err != nil {
			return nil, "", err
		}
		version = o.Version
		h, err := c.headOf(name, o)
		if err != nil {
			return nil, version, err
		}
		packed := o.Data
		if h.chunks > 0 {
			packed = make([]byte, 0, h.size)
		}
		missing = nil
		for i := range h.chunks {
			part, err := c.objects.Get(ctx, chunkName(name, h, i))
			if errors.Is(err, ErrNotFound) {
				missing = &Damaged{name, fmt.Sprintf("chunk %d of %d is not there", i+1, h.chunks)}
				break
			}
			if err != nil {
				return nil, "", err
			}
			packed = append(packed, part.Data...)
			if len(packed) > h.size {
				break
			}
		}
		if missing != nil {
			continue // somebody may just have written the next generation
		}
		data, err := c.open(name, h, packed)
		return data, version, err
	}
	return nil, version, missing
}

// open checks what a head is about, and unpacks it.
func (c *Chunked) open(name string, h head, packed []byte) ([]byte, error) {
	switch {
	case len(packed) != h.size:
		return nil, &Damaged{name, fmt.Sprintf("it has %d bytes; expected %d", len(packed), h.size)}
	case checksum(packed) != h.sum:
		return nil, &Damaged{name, "its checksum is wrong"}
	}
	c.mu.Lock()
	seen := c.seen[name]
	c.seen[name] = max(seen, h.generation)
	c.mu.Unlock()
	if h.generation < seen {
		return nil, &Damaged{name, fmt.Sprintf("it is of generation %d, and %d was there before", h.generation, seen)}
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, &Damaged{name, err.Error()}
	}
	data, err := io.ReadAll(io.LimitReader(z, maxPlain+1))
	if err != nil {
		return nil, &Damaged{name, err.Error()}
	}
	if len(data) > maxPlain {
		return nil, &Damaged{name, fmt.Sprintf("it has more than %d bytes when it is unpacked", maxPlain)}
	}
	return data, nil
}

// Write writes the chunks, then the head, then removes what is of earlier generations.
func (c *Chunked) Write(ctx context.Context, name string, data []byte, version string) (string, error) {
	packed, err := pack(data)
	if err != nil {
		return "", err
	}
	if len(packed) > c.limit {
		return "", &TooLarge{name, len(packed), c.limit}
	}
	generation, err := c.next(ctx, name, version)
	if err != nil {
		return "", err
	}
	h := head{generation: generation, size: len(packed), sum: checksum(packed)}
	o := Object{Name: name, Version: version, Record: name, Generation: generation, Chunk: -1}
	if len(packed) <= c.chunk {
		o.Data = packed
	} else {
		for part := range slices.Chunk(packed, c.chunk) {
			_, err := c.objects.Put(ctx, Object{Name: chunkName(name, h, h.chunks), Record: name, Generation: generation, Chunk: h.chunks, Data: part})
			if err != nil && !errors.Is(err, ErrConflict) { // a replica has written the same
				return "", err
			}
			h.chunks++
		}
	}
	o.Meta = h.meta()
	version, err = c.objects.Put(ctx, o)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.seen[name] = max(c.seen[name], generation)
	c.mu.Unlock()
	_ = c.sweep(ctx, name, generation) // what is left is removed the next time
	return version, nil
}

// next is the generation after the one that a version is of. A head that makes no sense is written over, by a generation
// that none of its chunks has.
func (c *Chunked) next(ctx context.Context, name, version string) (int, error) {
	o, err := c.objects.Get(ctx, name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	if o.Version != version {
		return 0, ErrConflict
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(o.Generation, c.seen[name], 0) + 1, nil
}

// sweep removes the chunks of a record that are of earlier generations.
func (c *Chunked) sweep(ctx context.Context, name string, generation int) error {
	all, err := c.objects.List(ctx)
	for _, o := range all {
		if o.Record == name && o.Chunk >= 0 && o.Generation < generation {
			err = errors.Join(err, c.objects.Delete(ctx, o.Name))
		}
	}
	return err
}

// Remove removes a record, its head first: what is left then is no part of anything.
func (c *Chunked) Remove(ctx context.Context, name string) error {
	all, err := c.objects.List(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	delete(c.seen, name)
	c.mu.Unlock()
	slices.SortStableFunc(all, func(a, b Object) int { return a.Chunk - b.Chunk })
	for _, o := range all {
		if o.Record == name {
			err = errors.Join(err, c.objects.Delete(ctx, o.Name))
		}
	}
	return err
}

// Names are the records that have a head.
func (c *Chunked) Names(ctx context.Context) ([]string, error) {
	all, err := c.objects.List(ctx)
	var out []string
	for _, o := range all {
		if o.Chunk < 0 {
			out = append(out, o.Record)
		}
	}
	slices.Sort(out)
	return out, err
}

// pack compresses; the same data is the same bytes.
func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, failed := z.Write(data)
	err := errors.Join(failed, z.Close())
	return b.Bytes(), err
}
