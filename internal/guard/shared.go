package guard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/state"
)

const (
	answersRecord  = "answers"
	answersVersion = 1
	// sharedQuiet is how long changes are collected before they are written; sharedInterval, how often the room is read that
	// replicas write to; sharedTimeout bounds either.
	sharedQuiet    = time.Second
	sharedInterval = 10 * time.Second
	sharedTimeout  = 30 * time.Second
	// buried is how long it is known that a record was dropped.
	buried = 24 * time.Hour
	// sharedTries bounds how often it is tried to be the one who writes.
	sharedTries = 5
)

// shared is the room in which replicas keep what they answered last, in one record together (rule 9). Of each question the
// newest answer counts, whoever gave it.
type shared struct {
	room  state.Room
	quiet time.Duration
	dirty chan struct{}

	// Of Run alone: the version of the record that was read or written last, and what it was.
	version string
	data    []byte
	changes uint64 // those of the store that have been written
}

// sharedContent is the record.
type sharedContent struct {
	Version int             `json:"version"`
	Answers []sharedAnswers `json:"answers"`
}

// sharedAnswers is what one question was answered; nothing if that is to be forgotten.
type sharedAnswers struct {
	content
	At   int64 `json:"at"` // in nanoseconds since 1970
	Gone bool  `json:"gone,omitempty"`
}

// errUnread is the answer to all questions before the room has been read.
var errUnread = &generator.Error{Kind: generator.Unavailable, Message: "not ready: what was answered last has not been read from the state yet"}

// Run keeps the room up to date until the context ends, when it is written once more. Without a room there is nothing to do.
func (g *Guard) Run(ctx context.Context) {
	s := g.store
	if s.shared == nil {
		return
	}
	ticker := time.NewTicker(sharedInterval)
	defer ticker.Stop()
	for {
		g.sync(ctx)
		select {
		case <-ctx.Done():
			g.sync(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
		case <-s.shared.dirty:
			timer := time.NewTimer(s.shared.quiet)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			timer.Stop()
		}
	}
}

// sync reads the room, and writes what it does not have.
func (g *Guard) sync(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	s := g.store
	err := state.ErrConflict
	for range sharedTries {
		if err = s.exchange(ctx, g.o.Now()); !errors.Is(err, state.ErrConflict) {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
		s.figures.Failures++
		if s.problem != text {
			s.log.Error("what is answered cannot be kept for a restart", "state", s.shared.room.String(), "error", err)
		}
	}
	s.problem = text
}

func (s *store) exchange(ctx context.Context, now time.Time) error {
	data, version, err := s.shared.room.Read(ctx, answersRecord)
	switch {
	case errors.Is(err, state.ErrNotFound):
		data = nil
	case state.IsDamaged(err):
		s.tellDamaged(err)
		data = nil
	case err != nil:
		return err
	case version == s.shared.version:
		if s.unchanged() {
			return nil
		}
	default:
		if err := s.take(data, now); err != nil {
			s.tellDamaged(err)
			data = nil
		}
	}
	s.shared.version, s.shared.data = version, data
	s.mu.Lock()
	s.loaded = true
	changes := s.changes
	s.mu.Unlock()
	next, err := s.text(now)
	if err != nil {
		return err
	}
	if bytes.Equal(next, data) {
		s.shared.changes = changes
		return nil
	}
	if version, err = s.shared.room.Write(ctx, answersRecord, next, version); err != nil {
		return err
	}
	s.shared.version, s.shared.data, s.shared.changes = version, next, changes
	return nil
}

// unchanged reports whether there is nothing to be written.
func (s *store) unchanged() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded && s.changes == s.shared.changes
}

func (s *store) tellDamaged(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures.Damaged++
	s.log.Error("remembered answers cannot be used: the next answers to their questions are compared with nothing", "state", s.shared.room.String(), "error", err)
}

// take takes in what replicas have answered since, all of it or nothing.
func (s *store) take(data []byte, now time.Time) error {
	var c sharedContent
	if err := state.UnmarshalVersion(data, answersVersion, &c); err != nil {
		return err
	}
	records := make([]*record, len(c.Answers))
	for i, a := range c.Answers {
		if i > 0 && c.Answers[i-1].Question >= a.Question {
			return fmt.Errorf("question %q is there twice, or not in its place", a.Question)
		}
		r, err := a.record()
		if err != nil {
			return err
		}
		r.at, r.gone, r.saved = min(a.At, now.UnixNano()), a.Gone, true // a clock that was ahead does not count for ever
		records[i] = r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range c.Answers {
		if old := s.records[a.Question]; old == nil || old.at < records[i].at {
			s.add(a.Question, records[i])
		}
	}
	return nil
}

// text is the record that holds all; the same is the same bytes. What was dropped long ago is forgotten.
func (s *store) text(now time.Time) ([]byte, error) {
	s.mu.Lock()
	c := sharedContent{Version: answersVersion, Answers: []sharedAnswers{}}
	for q, r := range s.records {
		if r.gone && now.Sub(time.Unix(0, r.at)) > buried {
			s.held -= len(r.had)
			delete(s.records, q)
			continue
		}
		c.Answers = append(c.Answers, sharedAnswers{r.content(q), r.at, r.gone})
	}
	s.mu.Unlock()
	slices.SortFunc(c.Answers, func(a, b sharedAnswers) int {
		return cmp.Or(strings.Compare(string(a.Question), string(b.Question)))
	})
	return json.Marshal(c)
}

// changed makes Run write, soon.
func (s *shared) changed() {
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}
