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
	objectsFormat = "argosy-state/1"
	// MaxChunk is how much of a record is in one object: a ConfigMap holds 1 MiB.
	MaxChunk = 768 << 10
	// MaxRecord bounds a compressed record, maxPlain an uncompressed one.
	MaxRecord = 32 << 20
	maxPlain  = 512 << 20
)

// Object is one small object of a shared API, such as a ConfigMap: the head of a record, or one of
// its chunks.
type Object struct {
	Name string
	// Version is the API's resource version; "" creates the object.
	Version string
	// Record, Generation and Chunk say what the object is part of. The Chunk of a head is -1.
	Record            string
	Generation, Chunk int
	// Meta describes the record; only heads have it.
	Meta map[string]string
	Data []byte
}

// ObjectAPI is where Objects are. Errors are ErrNotFound, ErrConflict, or that the API cannot be
// reached.
type ObjectAPI interface {
	Get(ctx context.Context, name string) (Object, error)
	// Put creates an object, or replaces that of its version, and returns the new version. A chunk
	// is immutable.
	Put(ctx context.Context, o Object) (version string, err error)
	Delete(ctx context.Context, name string) error
	// List returns all objects, without Data and Meta.
	List(ctx context.Context) ([]Object, error)
	String() string
}

// Objects is a store of small objects that replicas share (rule 3).
type Objects struct {
	api          ObjectAPI
	chunk, limit int

	mu   sync.Mutex
	seen map[string]int // the newest generation of each record
}

// NewObjects makes a store of an API's objects.
func NewObjects(api ObjectAPI) *Objects {
	return &Objects{api: api, chunk: MaxChunk, limit: MaxRecord, seen: map[string]int{}}
}

func (s *Objects) String() string { return s.api.String() }

// Shared is true: each replica writes to the same objects.
func (s *Objects) Shared() bool { return true }

// head describes a record.
type head struct {
	generation, size, chunks int
	sum                      string
}

const (
	metaFormat, metaSize, metaChunks, metaSum = "format", "size", "chunks", "checksum"
)

func (h head) meta() map[string]string {
	return map[string]string{
		metaFormat: objectsFormat, metaSize: strconv.Itoa(h.size),
		metaChunks: strconv.Itoa(h.chunks), metaSum: h.sum,
	}
}

func (s *Objects) headOf(name string, o Object) (head, error) {
	if f := o.Meta[metaFormat]; f != objectsFormat {
		return head{}, &Damaged{name, fmt.Sprintf("it is of format %q; expected %q", f, objectsFormat)}
	}
	h := head{generation: o.Generation, sum: o.Meta[metaSum]}
	var sizeErr, chunksErr error
	h.size, sizeErr = strconv.Atoi(o.Meta[metaSize])
	h.chunks, chunksErr = strconv.Atoi(o.Meta[metaChunks])
	if sizeErr != nil || chunksErr != nil || o.Record != name || o.Chunk >= 0 || h.generation <= 0 ||
		h.size < 0 || h.size > s.limit || h.chunks < 0 || h.chunks > s.limit/s.chunk+1 {
		return head{}, &Damaged{name, "its head is invalid"}
	}
	return h, nil
}

func chunkName(name string, h head, i int) string {
	return fmt.Sprintf("%s-%d-%.8s-%d", name, h.generation, h.sum, i)
}

// Read returns a record from its head and its chunks. It starts anew when another process replaces
// the record meanwhile. A damaged record has a version, too, by which it can be replaced.
func (s *Objects) Read(ctx context.Context, name string) ([]byte, string, error) {
	var missing error
	version := ""
	for range attempts {
		o, err := s.api.Get(ctx, name)
		if err != nil {
			return nil, "", err
		}
		version = o.Version
		h, err := s.headOf(name, o)
		if err != nil {
			return nil, version, err
		}
		packed := o.Data
		if h.chunks > 0 {
			packed = make([]byte, 0, h.size)
		}
		missing = nil
		for i := range h.chunks {
			part, err := s.api.Get(ctx, chunkName(name, h, i))
			if errors.Is(err, ErrNotFound) {
				missing = &Damaged{name, fmt.Sprintf("chunk %d of %d is missing", i+1, h.chunks)}
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
			continue // another process may just have written the next generation
		}
		data, err := s.open(name, h, packed)
		return data, version, err
	}
	return nil, version, missing
}

// open checks the data by its head, and unpacks it.
func (s *Objects) open(name string, h head, packed []byte) ([]byte, error) {
	switch {
	case len(packed) != h.size:
		return nil, &Damaged{name, fmt.Sprintf("it has %d bytes; expected %d", len(packed), h.size)}
	case checksum(packed) != h.sum:
		return nil, &Damaged{name, "its checksum is wrong"}
	}
	s.mu.Lock()
	seen := s.seen[name]
	s.seen[name] = max(seen, h.generation)
	s.mu.Unlock()
	if h.generation < seen {
		return nil, &Damaged{name, fmt.Sprintf("it is of generation %d, but generation %d was read before", h.generation, seen)}
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

// Write writes the chunks, then the head, and then removes the chunks of earlier generations.
func (s *Objects) Write(ctx context.Context, name string, data []byte, version string) (string, error) {
	packed, err := pack(data)
	if err != nil {
		return "", err
	}
	if len(packed) > s.limit {
		return "", &TooLarge{name, len(packed), s.limit}
	}
	generation, err := s.next(ctx, name, version)
	if err != nil {
		return "", err
	}
	h := head{generation: generation, size: len(packed), sum: checksum(packed)}
	o := Object{Name: name, Version: version, Record: name, Generation: generation, Chunk: -1}
	if len(packed) <= s.chunk {
		o.Data = packed
	} else {
		for part := range slices.Chunk(packed, s.chunk) {
			_, err := s.api.Put(ctx, Object{
				Name: chunkName(name, h, h.chunks), Record: name, Generation: generation, Chunk: h.chunks, Data: part,
			})
			if err != nil && !errors.Is(err, ErrConflict) { // a replica has written the same chunk
				return "", err
			}
			h.chunks++
		}
	}
	o.Meta = h.meta()
	version, err = s.api.Put(ctx, o)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	s.seen[name] = max(s.seen[name], generation)
	s.mu.Unlock()
	_ = s.sweep(ctx, name, generation) // the next Write removes what is left
	return version, nil
}

// next returns the generation after that of a version. It replaces an invalid head, too, by a
// generation that none of its chunks has.
func (s *Objects) next(ctx context.Context, name, version string) (int, error) {
	o, err := s.api.Get(ctx, name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	if o.Version != version {
		return 0, ErrConflict
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(o.Generation, s.seen[name], 0) + 1, nil
}

// sweep removes the chunks of earlier generations of a record.
func (s *Objects) sweep(ctx context.Context, name string, generation int) error {
	all, err := s.api.List(ctx)
	for _, o := range all {
		if o.Record == name && o.Chunk >= 0 && o.Generation < generation {
			err = errors.Join(err, s.api.Delete(ctx, o.Name))
		}
	}
	return err
}

// Remove removes a record, its head first: without it the chunks are part of nothing.
func (s *Objects) Remove(ctx context.Context, name string) error {
	all, err := s.api.List(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.seen, name)
	s.mu.Unlock()
	slices.SortStableFunc(all, func(a, b Object) int { return a.Chunk - b.Chunk })
	for _, o := range all {
		if o.Record == name {
			err = errors.Join(err, s.api.Delete(ctx, o.Name))
		}
	}
	return err
}

// Names lists the records that have a head.
func (s *Objects) Names(ctx context.Context) ([]string, error) {
	all, err := s.api.List(ctx)
	var out []string
	for _, o := range all {
		if o.Chunk < 0 {
			out = append(out, o.Record)
		}
	}
	slices.Sort(out)
	return out, err
}

// pack compresses data. Equal data gives equal bytes.
func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, failed := z.Write(data)
	err := errors.Join(failed, z.Close())
	return b.Bytes(), err
}
