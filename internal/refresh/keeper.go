package refresh

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/state"
)

// keeper keeps what a restart goes on from.
type keeper interface {
	// restore is what was kept last, nil when there is nothing. An error beside a snapshot is of homes that cannot be used.
	restore(ctx context.Context) (*snapshot.Snapshot, generator.Homes, error)
	// save keeps a snapshot with its homes. If a replica has kept the same snapshot with others, those are returned.
	save(ctx context.Context, s *snapshot.Snapshot, homes generator.Homes) (theirs generator.Homes, err error)
	String() string
}

// fileKeeper keeps it in a file, and others beside it.
type fileKeeper struct {
	path string
	kept kept
}

func (k *fileKeeper) restore(context.Context) (*snapshot.Snapshot, generator.Homes, error) {
	return restore(k.path, &k.kept)
}

func (k *fileKeeper) save(_ context.Context, s *snapshot.Snapshot, homes generator.Homes) (generator.Homes, error) {
	return nil, save(k.path, s, homes, &k.kept)
}

func (k *fileKeeper) String() string { return k.path }

const (
	// acceptedRecord names the accepted revision and the homes; snapshotPrefix begins the names of the snapshots' own records.
	acceptedRecord  = "accepted"
	snapshotPrefix  = "snapshot-"
	acceptedVersion = 1
	// roomTries bounds how often it is tried to be the one who writes.
	roomTries = 5
	// roomTimeout bounds one use of the room: the next state waits for it.
	roomTimeout = 30 * time.Second
)

// roomKeeper keeps it in a room that replicas share. The snapshots come first, each a record of its own that never changes;
// then, in one step, the record that names them.
type roomKeeper struct {
	room state.Room
	// version is that of the record which this process has read or written last.
	version string
}

// acceptedState is the record that names all others.
type acceptedState struct {
	Version  int    `json:"version"`
	Revision string `json:"revision"`
	Homes    []home `json:"homes,omitempty"`
}

func snapshotRecord(revision string) string {
	sum := sha256.Sum256([]byte(revision))
	return snapshotPrefix + hex.EncodeToString(sum[:10])
}

func (k *roomKeeper) String() string { return k.room.String() }

// read is the record; nil when there is none, or with an error when it cannot be used.
func (k *roomKeeper) read(ctx context.Context) (*acceptedState, string, error) {
	data, version, err := k.room.Read(ctx, acceptedRecord)
	if errors.Is(err, state.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, version, err
	}
	var a acceptedState
	if err = state.UnmarshalVersion(data, acceptedVersion, &a); err == nil {
		err = checkHomes(a.Homes)
	}
	if err != nil {
		return nil, version, &state.Damaged{Record: acceptedRecord, Why: err.Error()}
	}
	return &a, version, nil
}

func (k *roomKeeper) restore(ctx context.Context) (*snapshot.Snapshot, generator.Homes, error) {
	a, version, err := k.read(ctx)
	if err != nil || a == nil {
		return nil, nil, err
	}
	accepted, err := k.snapshot(ctx, a.Revision)
	if err != nil {
		return nil, nil, err
	}
	homes, err := k.homes(ctx, *a)
	if err != nil && !state.IsDamaged(err) {
		return nil, nil, err
	}
	k.version = version
	return accepted, homes, err
}

// homes are those of a record. What is damaged is an error beside the others; what cannot be reached is one alone.
func (k *roomKeeper) homes(ctx context.Context, a acceptedState) (generator.Homes, error) {
	out := generator.Homes{}
	var damaged error
	for _, h := range a.Homes {
		var s *snapshot.Snapshot
		if h.Revision != "" {
			var err error
			if s, err = k.snapshot(ctx, h.Revision); err != nil {
				if !state.IsDamaged(err) {
					return nil, err
				}
				damaged = errors.Join(damaged, fmt.Errorf("revision %s, which %d members were last computed from: %w", h.Revision, len(h.Members), err))
				continue
			}
		}
		for _, m := range h.Members {
			out[generator.ID{Hub: m[0], Name: m[1]}] = s
		}
	}
	return out, damaged
}

// snapshot is that of a revision. One that is not there is damage: a record names it.
func (k *roomKeeper) snapshot(ctx context.Context, revision string) (*snapshot.Snapshot, error) {
	name := snapshotRecord(revision)
	data, _, err := k.room.Read(ctx, name)
	if errors.Is(err, state.ErrNotFound) {
		return nil, &state.Damaged{Record: name, Why: "it is not there"}
	}
	if err != nil {
		return nil, err
	}
	s, _, err := readArchive(bytes.NewReader(data))
	if err == nil && s.Revision != revision {
		err = errors.New("it is of another revision")
	}
	if err != nil {
		return nil, &state.Damaged{Record: name, Why: err.Error()}
	}
	return s, nil
}

func (k *roomKeeper) save(ctx context.Context, s *snapshot.Snapshot, homes generator.Homes) (generator.Homes, error) {
	want := acceptedState{acceptedVersion, s.Revision, homesOf(homes)}
	for range roomTries {
		is, version, err := k.read(ctx)
		if err != nil && !state.IsDamaged(err) {
			return nil, err
		}
		if is != nil && is.Revision == want.Revision {
			if slices.EqualFunc(is.Homes, want.Homes, home.equal) {
				k.version = version
				return nil, nil
			}
			if version != k.version { // a replica has come to it before: what it says is what all answer
				theirs, err := k.homes(ctx, *is)
				if err == nil {
					k.version = version
					return theirs, nil
				}
				if !state.IsDamaged(err) {
					return nil, err
				}
			}
		}
		if k.version, err = k.write(ctx, s, homes, want, version); !errors.Is(err, state.ErrConflict) {
			return nil, err
		}
	}
	return nil, state.ErrConflict
}

// write writes the snapshots that are not there, the record, and then removes what it does not name. A replica may have
// removed a snapshot before the record named it: so they are looked for once more.
func (k *roomKeeper) write(ctx context.Context, s *snapshot.Snapshot, homes generator.Homes, want acceptedState, version string) (string, error) {
	if _, err := k.writeSnapshots(ctx, s, homes); err != nil {
		return "", err
	}
	text, err := json.Marshal(want)
	if err != nil {
		return "", err
	}
	if version, err = k.room.Write(ctx, acceptedRecord, text, version); err != nil {
		return "", err
	}
	there, err := k.writeSnapshots(ctx, s, homes)
	if err != nil {
		return version, err
	}
	needed := map[string]bool{snapshotRecord(want.Revision): true}
	for _, h := range want.Homes {
		needed[snapshotRecord(h.Revision)] = true
	}
	for _, name := range there {
		if strings.HasPrefix(name, snapshotPrefix) && !needed[name] {
			err = errors.Join(err, k.room.Remove(ctx, name))
		}
	}
	return version, err
}

// writeSnapshots writes those that are not there, and returns the names of all records that were.
func (k *roomKeeper) writeSnapshots(ctx context.Context, s *snapshot.Snapshot, homes generator.Homes) ([]string, error) {
	there, err := k.room.Names(ctx)
	if err != nil {
		return nil, err
	}
	written := map[string]bool{}
	for _, name := range there {
		written[name] = true
	}
	all := []*snapshot.Snapshot{s}
	for _, h := range homes {
		all = append(all, h)
	}
	for _, h := range all {
		if h == nil || written[snapshotRecord(h.Revision)] {
			continue
		}
		var b bytes.Buffer
		if err := write(&b, h, nil); err != nil {
			return nil, err
		}
		if _, err := k.room.Write(ctx, snapshotRecord(h.Revision), b.Bytes(), ""); err != nil && !errors.Is(err, state.ErrConflict) {
			return nil, err
		}
		written[snapshotRecord(h.Revision)] = true
	}
	return there, nil
}
