package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// asNobody calls f without the right to read whatever is another user's, also when the tests run as
// root.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0); errno != 0 {
			t.Error(errno)
			return
		}
		f()
	}()
	<-done
}

// G1: what must not be read is an error for its readers, never taken for absent. A folder of which
// nothing can be read is an error for the whole poll (G4, G5).
func TestUnreadableFileBreaksItsReaders(t *testing.T) {
	for _, c := range []struct{ at, reads, want string }{
		{"a.yaml", "a.yaml", "a.yaml: file cannot be read: permission denied"},
		{"b", "b/c.yaml", "b: folder cannot be read: permission denied"},
		{"b", "b/not/there.yaml", "b: folder cannot be read: permission denied"},
		{"b", "l/c.yaml", `l: symbolic link to "b" leads into a folder that cannot be read`},
		{"", "", ""},
	} {
		t.Run("at "+c.at+" reading "+c.reads, func(t *testing.T) {
			base := t.TempDir()
			sourcetest.Check(t, os.Chmod(filepath.Dir(base), 0o755)) // made for this user alone
			dir := filepath.Join(base, "repo")
			sourcetest.Write(t, dir, map[string]string{"a.yaml": "a: 1\n", "b/c.yaml": "c: 1\n", "d.yaml": "d: 1\n", "l": "-> b"})
			f := openFolder(t, dir)
			sourcetest.Check(t, os.Chmod(filepath.Join(dir, c.at), 0))
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, c.at), 0o755) })
			asNobody(t, func() {
				s, err := f.Snapshot(sourcetest.Context(t))
				if c.at == "" {
					want := fmt.Sprintf("folder %q: permission denied", dir)
					if s != nil || !errors.Is(err, source.Unreadable) || !errors.Is(err, fs.ErrPermission) || err.Error() != want {
						t.Errorf("got %v, %v, want %s", s, err, want)
					}
					return
				}
				sourcetest.Check(t, err)
				if file := s.File(c.reads); file == nil || !strings.HasPrefix(sourcetest.ErrorText(file.Err), c.want) {
					t.Errorf("%s is %+v, want %s", c.reads, file, c.want)
				}
				if d := s.File("d.yaml"); d == nil || d.Err != nil {
					t.Errorf("d.yaml is %+v", d)
				}
				if again, err := f.Snapshot(sourcetest.Context(t)); again != s || err != nil {
					t.Errorf("nothing has changed, and there is another snapshot: %v", err)
				}
			})
		})
	}
}

// H8, under a race: a folder whose place a link to the outside takes, again and again while it is
// looked at, never gives a file of the outside.
func TestFolderThatBecomesALinkIsNotRead(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "repo")
	sourcetest.Write(t, base, map[string]string{"outside/b/c.yaml": "outside\n", "outside/a.yaml": "outside\n"})
	sourcetest.Write(t, dir, map[string]string{"start.yaml": "start\n", "x/a/b/c.yaml": "inside\n", "x/a/a.yaml": "inside\n"})
	place := filepath.Join(dir, "x", "a")
	sourcetest.Check(t, os.Symlink(filepath.Join(base, "outside"), filepath.Join(dir, "link")))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default: // the two change places in one step
				_ = unix.Renameat2(unix.AT_FDCWD, place, unix.AT_FDCWD, filepath.Join(dir, "link"), unix.RENAME_EXCHANGE)
			}
		}
	}()
	both := map[string]bool{}
	for range 500 {
		s, err := openFolder(t, dir).Snapshot(sourcetest.Context(t))
		if err != nil && !errors.Is(err, source.Unstable) {
			t.Errorf("unexpected: %v", err)
		}
		for _, p := range s.Paths() {
			both[string(s.File(p).Data)] = true
		}
	}
	close(stop)
	<-done
	if both["outside\n"] || !both["inside\n"] {
		t.Errorf("contents seen: %v", both)
	}
}
