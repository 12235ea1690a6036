package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	recordFormat = "argosy-record/3"
	// maxRecord bounds a compressed record, maxPlain an uncompressed one.
	maxRecord = 32 << 20
	maxPlain  = 512 << 20
	// headSize is the space in an object that is reserved for the head.
	headSize = 1 << 10
	// attempts bounds the repetitions of a read or write that other processes overtake.
	attempts = 5
)

// Store reads and writes named records. Several goroutines may use it.
type Store struct {
	objects Objects
	keys    [][]byte

	generations generations
}

// New makes a store. The first key authenticates the records that it writes, and any key the
// records that it reads. Without keys, records are not authenticated.
func New(o Objects, keys ...[]byte) *Store {
	return &Store{objects: o, keys: keys, generations: generations{seen: map[string]int{}}}
}

// String returns the place of the records.
func (s *Store) String() string { return s.objects.String() }

// Shared reports whether other processes write to the store, too.
func (s *Store) Shared() bool { return s.objects.Shared() }

// head is the first line of a record. It describes the content that follows, or the chunks.
type head struct {
	Format     string `json:"format"`
	Generation int    `json:"generation"`
	Size       int    `json:"size"`
	Chunks     int    `json:"chunks,omitempty"`
	Sum        string `json:"sha256"`
	MAC        string `json:"hmac,omitempty"`
}

// mac returns the HMAC of a record's name, generation and checksum.
func (h head) mac(key []byte, name string) string {
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s\n%s\n%d\n%s", h.Format, name, h.Generation, h.Sum)
	return hex.EncodeToString(m.Sum(nil))
}

// chunk returns a chunk's name. Names of records have no dot.
func (h head) chunk(name string, i int) string {
	return fmt.Sprintf("%s.%d.%.16s.%d", name, h.Generation, h.Sum, i)
}

// parseHead returns the head of a record, and the data after it.
func (s *Store) parseHead(name string, data []byte) (head, []byte, error) {
	var h head
	line, rest, _ := bytes.Cut(data, []byte{'\n'})
	if err := json.Unmarshal(line, &h); err != nil || h.Format != recordFormat {
		return head{}, nil, &Damaged{name, "it is not in the format " + recordFormat}
	}
	if h.Generation <= 0 || h.Size < 0 || h.Size > maxRecord || h.Chunks < 0 || h.Chunks > h.Size {
		return head{}, nil, &Damaged{name, "its head is invalid"}
	}
	if !slices.ContainsFunc(s.keys, func(key []byte) bool { return hmac.Equal([]byte(h.mac(key, name)), []byte(h.MAC)) }) && len(s.keys) > 0 {
		return head{}, nil, &Damaged{name, "no key of the store has signed it"}
	}
	return h, rest, nil
}

// Read returns a record and its version, with which Write can replace it, even if it is damaged. It
// starts again when another process replaces the record meanwhile, and signs a record of an older
// key again.
func (s *Store) Read(ctx context.Context, name string) (data []byte, version string, err error) {
	for range attempts {
		data, version, err = s.objects.Get(ctx, name)
		if err != nil {
			return nil, version, err
		}
		h, packed, err := s.parseHead(name, data)
		if err == nil {
			err = s.check(name, h.Generation)
		}
		if err != nil {
			return nil, version, err
		}
		if h.Chunks > 0 {
			packed, err = s.readChunks(ctx, name, h)
		}
		switch {
		case errors.Is(err, ErrNotFound):
			continue // another process may just have written the next generation
		case err != nil:
			return nil, version, err
		}
		data, err = unpack(h, packed)
		if err != nil {
			return nil, version, &Damaged{name, err.Error()}
		}
		if len(s.keys) > 0 && h.MAC != h.mac(s.keys[0], name) {
			if signed, err := s.Write(ctx, name, data, version); err == nil {
				version = signed
			}
		}
		return data, version, nil
	}
	return nil, version, &Damaged{name, "a chunk is missing"}
}

func (s *Store) readChunks(ctx context.Context, name string, h head) ([]byte, error) {
	packed := make([]byte, 0, h.Size)
	for i := 0; i < h.Chunks && len(packed) <= h.Size; i++ {
		part, _, err := s.objects.Get(ctx, h.chunk(name, i))
		if err != nil {
			return nil, err
		}
		packed = append(packed, part...)
	}
	return packed, nil
}

// unpack checks the data against its head, and uncompresses it.
func unpack(h head, packed []byte) ([]byte, error) {
	if len(packed) != h.Size {
		return nil, fmt.Errorf("it has %d bytes; expected %d", len(packed), h.Size)
	}
	if checksum(packed) != h.Sum {
		return nil, errors.New("its checksum is wrong")
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(z, maxPlain+1))
	if err == nil && len(data) > maxPlain {
		err = fmt.Errorf("it has more than %d bytes when it is unpacked", maxPlain)
	}
	return data, err
}

// pack compresses data. Equal data gives equal bytes.
func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, failed := z.Write(data)
	err = errors.Join(failed, z.Close())
	return b.Bytes(), err
}

// Write replaces a record of a version, "" for a new one, and returns the new version. It writes
// the chunks, then the head, and then removes the chunks of earlier generations.
func (s *Store) Write(ctx context.Context, name string, data []byte, version string) (string, error) {
	if len(data) > maxPlain {
		return "", fmt.Errorf("record %q has %d bytes before it is compressed; the limit is %d", name, len(data), maxPlain)
	}
	packed, err := pack(data)
	if err != nil {
		return "", err
	}
	if len(packed) > maxRecord {
		return "", fmt.Errorf("record %q has %d bytes; the limit is %d", name, len(packed), maxRecord)
	}
	h := head{Format: recordFormat, Size: len(packed), Sum: checksum(packed)}
	if h.Generation, err = s.nextGeneration(ctx, name, version); err != nil {
		return "", err
	}
	if len(s.keys) > 0 {
		h.MAC = h.mac(s.keys[0], name)
	}
	if room := s.objects.MaxSize() - headSize; len(packed) > room {
		for part := range slices.Chunk(packed, room) {
			_, err := s.objects.Put(ctx, h.chunk(name, h.Chunks), part, "")
			if err != nil && !errors.Is(err, ErrConflict) { // else a replica has written the same chunk
				return "", err
			}
			h.Chunks++
		}
		packed = nil
	}
	line, err := json.Marshal(h)
	if err != nil {
		return "", err
	}
	if version, err = s.objects.Put(ctx, name, slices.Concat(line, []byte{'\n'}, packed), version); err != nil {
		return "", err
	}
	_ = s.removeChunks(ctx, name, h.Generation) // the next Write removes what is left
	return version, s.check(name, h.Generation)
}

// nextGeneration returns a generation above the generations of a version and of chunks without a
// head. Another process that removes the record may still be removing such chunks.
func (s *Store) nextGeneration(ctx context.Context, name, version string) (int, error) {
	data, now, err := s.objects.Get(ctx, name)
	if err != nil && !errors.Is(err, ErrNotFound) && !IsDamaged(err) {
		return 0, err
	}
	if now != version {
		return 0, ErrConflict
	}
	last := s.generations.highest(name)
	if h, _, err := s.parseHead(name, data); err == nil {
		return max(h.Generation, last) + 1, nil
	}
	chunks, err := s.chunks(ctx, name)
	for _, generation := range chunks {
		if generation < math.MaxInt32 { // else another program has written it
			last = max(last, generation)
		}
	}
	return last + 1, err
}

// chunks returns the generations of a record's chunks, by their names.
func (s *Store) chunks(ctx context.Context, name string) (map[string]int, error) {
	all, err := s.objects.List(ctx)
	out := map[string]int{}
	for _, object := range all {
		if rest, is := strings.CutPrefix(object, name+"."); is {
			text, _, _ := strings.Cut(rest, ".")
			if generation, failed := strconv.Atoi(text); failed == nil {
				out[object] = generation
			}
		}
	}
	return out, err
}

// removeChunks removes a record's chunks of earlier generations than before. A replica may be
// writing chunks of a later one.
func (s *Store) removeChunks(ctx context.Context, name string, before int) error {
	chunks, err := s.chunks(ctx, name)
	for chunk, generation := range chunks {
		if generation < before {
			err = errors.Join(err, s.objects.Delete(ctx, chunk))
		}
	}
	return err
}

// Remove removes a record, its head first: without it the chunks are unused. A record that another
// process writes meanwhile is whole or absent.
func (s *Store) Remove(ctx context.Context, name string) error {
	data, _, err := s.objects.Get(ctx, name)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil && !IsDamaged(err) {
		return err
	}
	last := math.MaxInt - 1 // the chunks of a damaged head are not read
	if h, _, err := s.parseHead(name, data); err == nil {
		last = h.Generation
	}
	if err := s.objects.Delete(ctx, name); err != nil {
		return err
	}
	return s.removeChunks(ctx, name, last+1)
}

// Names returns the names of all records, sorted.
func (s *Store) Names(ctx context.Context) ([]string, error) {
	all, err := s.objects.List(ctx)
	all = slices.DeleteFunc(all, func(name string) bool { return strings.Contains(name, ".") })
	slices.Sort(all)
	return all, err
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
