package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// asNobody calls f without the right to read whatever is another user's, also when the tests run as root.
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

// G4, G5: what must not be read is an error for the whole look, never a snapshot without it.
func TestG4_FolderPermissions(t *testing.T) {
	for p, read := range map[string]string{"a.yaml": "a.yaml", "b": "b", "": ""} {
		t.Run("at "+p, func(t *testing.T) {
			base := t.TempDir()
			check(t, os.Chmod(filepath.Dir(base), 0o755)) // made for this user alone
			dir := filepath.Join(base, "repo")
			write(t, dir, map[string]string{"a.yaml": "a: 1\n", "b/c.yaml": "c: 1\n", "d.yaml": "d: 1\n"})
			f := openFolder(t, dir)
			check(t, os.Chmod(filepath.Join(dir, p), 0))
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, p), 0o755) })
			want := fmt.Sprintf("folder %q: read %q: permission denied", dir, read)
			if p == "" {
				want = fmt.Sprintf("folder %q: permission denied", dir)
			}
			asNobody(t, func() {
				for range 2 {
					s, err := f.Snapshot(testContext(t))
					if s != nil || !errors.Is(err, Unreadable) || !errors.Is(err, fs.ErrPermission) || err.Error() != want {
						t.Errorf("got %v, %v, want %s", s, err, want)
					}
				}
			})
		})
	}
}
