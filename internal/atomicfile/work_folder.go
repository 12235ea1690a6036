package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// workFolder is the folder beside its destination in which WriteFolder works: "new" is the folder
// it fills, "old" the previous one until the new one is in place. The process holds the lock of the
// file "lock" as long as it lives, and the kernel releases it however the process ends: a work
// folder whose lock is free is a leftover. On a file system without locks, leftovers stay.
type workFolder struct {
	path string
	lock *os.File
}

func (w *workFolder) fresh() string { return filepath.Join(w.path, "new") }
func (w *workFolder) old() string   { return filepath.Join(w.path, "old") }

// workPrefix and then workSuffix characters without a hyphen are the name of a work folder.
func workPrefix(dir string) string { return ".argosy-new-" + filepath.Base(dir) + "-" }

const workSuffix = 8

// newWorkFolder makes a work folder.
func newWorkFolder(dir string) (*workFolder, error) {
	w := &workFolder{path: filepath.Join(filepath.Dir(dir), workPrefix(dir)+rand.Text()[:workSuffix])}
	if err := os.Mkdir(w.path, 0o755); err != nil { //nolint:gosec // as any folder of a repository
		return nil, err
	}
	switch err := w.take(); {
	case errors.Is(err, errTaken): // before its lock was ours
		return nil, err
	case w.lock == nil:
		return nil, errors.Join(err, os.RemoveAll(w.path))
	}
	return w, nil
}

// errTaken means that another process uses the work folder, or has removed it.
var errTaken = errors.New("another argosy writes it")

// take takes the lock. Without locks in the file system there is an error, and the file open all
// the same.
func (w *workFolder) take() error {
	name := filepath.Join(w.path, "lock")
	lock, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600) // which a repository may bring
	if errors.Is(err, fs.ErrNotExist) {
		return errTaken
	}
	if err != nil {
		return err
	}
	w.lock = lock
	switch err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = errTaken
	case err == nil && !hasItsName(lock): // another process has removed it meanwhile
		err = errTaken
	}
	if errors.Is(err, errTaken) {
		_ = lock.Close()
	}
	return err
}

// hasItsName reports whether an open file still has its name.
func hasItsName(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(f.Name())
	return err == nil && os.SameFile(open, there)
}

// end removes the work folder. If its destination is missing, it restores the previous folder.
func (w *workFolder) end(dir string) error {
	defer w.lock.Close()
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(w.old(), dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_ = os.Rename(w.old(), filepath.Join(w.path, "gone")) // half removed, it must not be restored
	return os.RemoveAll(w.path)
}

// removeLeftovers removes the work folders of killed processes that wrote the same folder.
func removeLeftovers(dir string) error {
	return eachLeftover(dir, func(w *workFolder) error { return w.end(dir) })
}

// eachLeftover calls end, which removes it, for each work folder of a killed process.
func eachLeftover(dir string, end func(*workFolder) error) error {
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), workPrefix(dir))
		if !ok || !e.IsDir() || len(suffix) != workSuffix || strings.Contains(suffix, "-") {
			continue
		}
		w := &workFolder{path: filepath.Join(filepath.Dir(dir), e.Name())}
		if err := w.take(); err != nil {
			if w.lock != nil {
				_ = w.lock.Close()
			}
			continue
		}
		if err := end(w); err != nil {
			return fmt.Errorf("remove what a killed argosy has left: %w", err)
		}
	}
	return nil
}
