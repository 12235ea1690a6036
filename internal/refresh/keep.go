package refresh

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// kept is what is written down: it is written again when it is something else.
type kept struct {
	revision string
	homes    []home
	written  map[string]bool // revisions of homes whose files are there, and good
}

// home is the last snapshot that some members could be computed from; those without one have no revision.
type home struct {
	Revision string      `json:"revision,omitempty"`
	Members  [][2]string `json:"members"` // hub and name
}

// homesOf are the homes, by revision.
func homesOf(homes generator.Homes) []home {
	members := map[string][][2]string{}
	for id, s := range homes {
		revision := ""
		if s != nil {
			revision = s.Revision
		}
		members[revision] = append(members[revision], [2]string{id.Hub, id.Name})
	}
	var out []home
	for _, revision := range slices.Sorted(maps.Keys(members)) {
		slices.SortFunc(members[revision], func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
		out = append(out, home{revision, members[revision]})
	}
	return out
}

// checkHomes reports what no list of homes can say: nothing of a member, two things of one, or no name.
func checkHomes(homes []home) error {
	revisions, members := map[string]bool{}, map[[2]string]bool{}
	for _, h := range homes {
		if revisions[h.Revision] || len(h.Members) == 0 {
			return fmt.Errorf("revision %q is there twice, or without members", h.Revision)
		}
		revisions[h.Revision] = true
		for _, m := range h.Members {
			if members[m] || m[0] == "" || m[1] == "" {
				return fmt.Errorf("member %q of hub %q is there twice, or has no name", m[1], m[0])
			}
			members[m] = true
		}
	}
	return nil
}

func (h home) equal(g home) bool {
	return h.Revision == g.Revision && slices.Equal(h.Members, g.Members)
}

// homeFile is where the snapshot of a home is kept, beside the state file.
func homeFile(path, revision string) string {
	sum := sha256.Sum256([]byte(revision))
	return path + homeInfix + hex.EncodeToString(sum[:8]) + ".tar"
}

const homeInfix = ".home-"

// save writes down a snapshot and the homes of its members that cannot be computed. The snapshots of homes come first,
// each in a file of its own; then, in one step, the accepted one, which names them: whoever reads finds the state of
// before or this one.
func save(path string, s *snapshot.Snapshot, homes generator.Homes, k *kept) error {
	named := homesOf(homes)
	if k.revision == s.Revision && slices.EqualFunc(k.homes, named, home.equal) {
		return nil
	}
	written := map[string]bool{}
	for _, h := range homes {
		if h == nil || written[h.Revision] {
			continue
		}
		if !k.written[h.Revision] {
			if err := writeFile(homeFile(path, h.Revision), h, nil); err != nil {
				return err
			}
		}
		written[h.Revision] = true
	}
	if err := writeFile(path, s, named); err != nil {
		return err
	}
	k.revision, k.homes, k.written = s.Revision, named, written
	return removeHomes(path, written)
}

// removeHomes removes the files of homes but for those of some revisions.
func removeHomes(path string, but map[string]bool) error {
	needed := map[string]bool{}
	for revision := range but {
		needed[filepath.Base(homeFile(path, revision))] = true
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+homeInfix) && !needed[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(path), e.Name())))
		}
	}
	return err
}

// writeFile writes a snapshot into a file, in one step: whoever reads it finds the old one or the new one.
func writeFile(path string, s *snapshot.Snapshot, homes []home) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".accepted-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	b := bufio.NewWriterSize(f, 1<<20)
	err = errors.Join(write(b, s, homes), b.Flush(), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// restore reads what save has written; nil when there is nothing. A home that cannot be read is an error beside what can
// be used: its members are as at a first start.
func restore(path string, k *kept) (*snapshot.Snapshot, generator.Homes, error) {
	accepted, named, err := readKept(path)
	if err != nil || accepted == nil {
		return nil, nil, err
	}
	homes := generator.Homes{}
	k.revision, k.homes, k.written = accepted.Revision, named, map[string]bool{}
	for _, h := range named {
		var s *snapshot.Snapshot
		if h.Revision != "" {
			var failure error
			if s, _, failure = readKept(homeFile(path, h.Revision)); failure == nil && (s == nil || s.Revision != h.Revision) {
				failure = errors.New("it is not there")
			}
			if failure != nil {
				err = errors.Join(err, fmt.Errorf("revision %s, which %d members were last computed from, in %s: %w", h.Revision, len(h.Members), homeFile(path, h.Revision), failure))
				k.revision = "" // to be written again, without it
				continue
			}
			k.written[h.Revision] = true
		}
		for _, m := range h.Members {
			homes[generator.ID{Hub: m[0], Name: m[1]}] = s
		}
	}
	return accepted, homes, err
}

// readKept reads what writeFile has written; nil when there is nothing.
func readKept(path string) (*snapshot.Snapshot, []home, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, nil, err
	} else if info.Size() > maxArchive {
		return nil, nil, fmt.Errorf("it has %d bytes; the limit is %d", info.Size(), maxArchive)
	}
	return readArchive(bufio.NewReaderSize(f, 1<<20))
}
