package guard

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/state"
)

const (
	// format is the first word of a record, version the second: what a later version writes, an earlier one leaves unread.
	format  = "argosy-baseline"
	version = "1"
	// maxRecords and maxHeld bound what is remembered, maxRecordBytes what is read of one record.
	maxRecords     = 4096
	maxHeld        = 1_000_000
	maxRecordBytes = 64 << 20

	recordSuffix = ".baseline"
	tempPrefix   = ".baseline-"
)

// store remembers the last good answers, each by its question: cluster, component and release of each set. With a folder,
// each is a file that is written in one step and has a checksum.
type store struct {
	dir    string
	shared *shared // in place of a folder; nil without a room
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	records map[question]*record
	held    int    // of all records
	turn    uint64 // counts uses
	figures Stats
	loaded  bool   // the room has been read
	changes uint64 // counts what Run has to write
	problem string // with the room

	writing sync.Mutex // so that what was put last is written last
}

// record is what a question was answered last.
type record struct {
	had []had
	// spent is what earlier answers to it have lost without approval, and does not have again.
	spent []spent
	sum   [sha256.Size]byte
	used  uint64
	// saved tells that the folder has it.
	saved bool
	// revision is of which state; at, when it was answered, in nanoseconds.
	revision string
	at       int64
	// gone tells that it is to be forgotten, by replicas too.
	gone bool
}

// content is a record in its file.
type content struct {
	Question question `json:"question"`
	Revision string   `json:"revision"`
	// Had are cluster, group, component and release.
	Had [][4]string `json:"had"`
	// Spent are cluster, group, component and the time, in nanoseconds since 1970.
	Spent [][4]string `json:"spent,omitempty"`
}

// openStore reads a folder's records; without a folder there are none.
func openStore(o Options) (*store, error) {
	dir, log := o.Dir, o.Logger
	s := &store{dir: dir, log: log, now: o.Now, records: map[question]*record{}}
	if o.State != nil {
		s.dir, s.shared = "", &shared{room: o.State, quiet: sharedQuiet, dirty: make(chan struct{}, 1)}
		return s, nil
	}
	s.loaded = true
	if dir == "" {
		return s, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), tempPrefix): // of a process that ended while it wrote
			_ = os.Remove(path)
		case strings.HasSuffix(e.Name(), recordSuffix):
			if err := s.read(path); err != nil {
				s.figures.Damaged++
				log.Error("a remembered answer cannot be used: the next answer to its question is compared with nothing", "file", path, "error", err)
			}
		}
	}
	return s, nil
}

// read takes a record in, whole or not at all.
func (s *store) read(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > maxRecordBytes {
		return fmt.Errorf("it has %d bytes; the limit is %d", info.Size(), maxRecordBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, body, _ := bytes.Cut(data, []byte{'\n'})
	words := strings.Fields(string(head))
	switch {
	case len(words) != 3 || words[0] != format:
		return errors.New("it is no record")
	case words[1] != version:
		return fmt.Errorf("it is of format %q; expected %q", words[1], version)
	case words[2] != checksum(body):
		return errors.New("its checksum is wrong")
	}
	var c content
	if err := state.Unmarshal(body, &c); err != nil {
		return err
	}
	if filepath.Base(path) != fileOf(c.Question) {
		return errors.New("it has another question's name")
	}
	r, err := c.record()
	if err != nil {
		return err
	}
	r.saved = true
	s.add(c.Question, r)
	return nil
}

// record is what a content says, all of it or nothing.
func (c content) record() (*record, error) {
	if c.Had == nil {
		return nil, errors.New("it has no answer")
	}
	r := &record{had: make([]had, len(c.Had)), revision: c.Revision}
	for i, h := range c.Had {
		r.had[i] = had{cluster: h[0], group: h[1], component: h[2], release: h[3]}
	}
	for _, x := range c.Spent {
		at, err := strconv.ParseInt(x[3], 10, 64)
		if err != nil || strconv.FormatInt(at, 10) != x[3] {
			return nil, fmt.Errorf("what was lost has time %q", x[3])
		}
		r.spent = append(r.spent, spent{had{cluster: x[0], group: x[1], component: x[2]}, time.Unix(0, at)})
	}
	r.sum = sumOf(r.had)
	return r, nil
}

// content is a record as it is written.
func (r *record) content(q question) content {
	c := content{Question: q, Revision: r.revision, Had: make([][4]string, len(r.had))}
	for i, h := range r.had {
		c.Had[i] = [4]string{h.cluster, h.group, h.component, h.release}
	}
	for _, x := range r.spent {
		c.Spent = append(c.Spent, [4]string{x.cluster, x.group, x.component, strconv.FormatInt(x.at.UnixNano(), 10)})
	}
	return c
}

// ready tells that what was kept has been read.
func (s *store) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// get is what a question was answered last; it must not be changed.
func (s *store) get(q question) []had {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[q]
	if r == nil || r.gone {
		return nil
	}
	s.turn++
	r.used = s.turn
	return r.had
}

// registered are all members of a hub as they were answered last, and those that were lost since.
func (s *store) registered(hub string, since time.Time) []had {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []had
	for q, r := range s.records {
		if !r.gone && q.asksForMembers(hub) {
			out = append(out, r.had...)
			for _, x := range r.spent {
				if x.at.After(since) {
					out = append(out, x.had)
				}
			}
		}
	}
	return out
}

// put remembers what a question is answered. What cannot be written is remembered in memory.
func (s *store) put(q question, revision string, subjects []generator.Subject, lost []spent) {
	r := &record{had: make([]had, 0, len(subjects)), revision: revision, at: s.now().UnixNano(), spent: lost}
	for _, x := range subjects {
		r.had = append(r.had, had{cluster: x.Cluster, group: x.Group, component: x.Component, release: x.Release})
	}
	r.sum = sumOf(r.had)
	s.mu.Lock()
	if last := s.records[q]; last != nil && last.sum == r.sum && !last.gone && slices.Equal(last.spent, r.spent) {
		r.saved, r.at, r.revision = last.saved, last.at, last.revision
	}
	s.add(q, r)
	saved := r.saved
	s.mu.Unlock()
	switch {
	case saved:
	case s.dir != "":
		s.save(q)
	case s.shared != nil:
		s.mu.Lock()
		r.saved = true // what is not written is told by Run
		s.changes++
		s.mu.Unlock()
		s.shared.changed()
	}
}

// drop forgets what a question was answered.
func (s *store) drop(q question) {
	s.mu.Lock()
	r := s.records[q]
	switch {
	case r == nil || r.gone:
		s.mu.Unlock()
		return
	case s.shared != nil:
		s.add(q, &record{gone: true, at: s.now().UnixNano()})
		s.changes++
		s.shared.changed()
	default:
		s.held -= len(r.had)
		delete(s.records, q)
	}
	s.mu.Unlock()
	if s.dir != "" {
		s.writing.Lock()
		defer s.writing.Unlock()
		_ = os.Remove(filepath.Join(s.dir, fileOf(q)))
	}
}

// save writes what a question was answered last.
func (s *store) save(q question) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	r := s.records[q]
	s.mu.Unlock()
	if r == nil {
		return
	}
	err := s.write(q, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.figures.Failures++
		s.log.Error("an answer cannot be remembered across a restart", "folder", s.dir, "error", err)
		return
	}
	r.saved = true
}

// add takes a record in; when there is no more room, the ones that were not used for the longest time go. The caller
// holds the lock, or is alone.
func (s *store) add(q question, r *record) {
	if old := s.records[q]; old != nil {
		s.held -= len(old.had)
	}
	s.turn++
	r.used = s.turn
	s.records[q] = r
	s.held += len(r.had)
	if len(s.records) <= maxRecords && s.held <= maxHeld {
		return
	}
	oldest := make([]question, 0, len(s.records))
	for other := range s.records {
		oldest = append(oldest, other)
	}
	slices.SortFunc(oldest, func(a, b question) int { return cmp.Compare(s.records[a].used, s.records[b].used) })
	for _, other := range oldest {
		if other == q || len(s.records) <= maxRecords*9/10 && s.held <= maxHeld*9/10 {
			break
		}
		s.held -= len(s.records[other].had)
		delete(s.records, other)
		s.figures.Evicted++
		if s.dir != "" {
			_ = os.Remove(filepath.Join(s.dir, fileOf(other)))
		}
	}
	s.log.Error("too many answers to remember: the next answers to some questions are compared with nothing", "records", maxRecords, "sets", maxHeld)
}

// write writes a record in one step.
func (s *store) write(q question, r *record) error {
	body, err := json.Marshal(r.content(q))
	if err != nil {
		return err
	}
	head := fmt.Appendf(nil, "%s %s %s\n", format, version, checksum(body))
	return state.WriteFile(filepath.Join(s.dir, fileOf(q)), tempPrefix, head, body)
}

func (s *store) stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.figures
	out.Problem = s.problem
	for _, r := range s.records {
		if !r.gone {
			out.Baselines++
		}
	}
	return out
}

func fileOf(q question) string { return checksum([]byte(q))[:32] + recordSuffix }

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sumOf tells whether two answers are about the same.
func sumOf(all []had) (out [sha256.Size]byte) {
	h := sha256.New()
	for _, x := range all {
		for _, text := range []string{x.cluster, x.group, x.component, x.release} {
			h.Write([]byte(text))
			h.Write([]byte{0})
		}
	}
	h.Sum(out[:0])
	return out
}
