package fetch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"
)

// maxKept bounds what is left in the cache at the end of a run, in bytes (rule 8).
const maxKept = 2 << 30

// What of the cache's folder may be removed; whatever else is in it is somebody else's.
var (
	shelfName  = regexp.MustCompile(`-[0-9a-f]{16}$`)
	keptName   = regexp.MustCompile(`@[0-9a-f]{64}\.tgz$|^\.new-`)
	valuesName = regexp.MustCompile(`^[0-9a-f]{64}$|^\.new-`)
	mirrorName = regexp.MustCompile(`^git-[0-9a-f]{16}$`)
)

const lockName = "lock"

// lockWait is how long a run waits for another one that removes something.
const lockWait = 10 * time.Second

// use tells other processes that the cache is being used, until the file is closed. Where there is
// no folder, or none that may be written to, there is nothing to be removed.
func (c cache) use() *os.File {
	lock, err := os.OpenFile(filepath.Join(c.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil
	}
	for end := time.Now().Add(lockWait); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			break // a file system without locks has to do without
		}
	}
	return lock
}

// prune removes what has not been used for longest, until there is no more than the limit, unless
// somebody else uses the cache: then that one does it. What cannot be removed stays.
func (c cache) prune(lock *os.File, limit int64) {
	if lock == nil {
		return
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	all := c.used()
	var total int64
	for _, x := range all {
		total += x.size
	}
	slices.SortFunc(all, func(a, b used) int { return a.last.Compare(b.last) })
	for _, x := range all {
		if total <= limit {
			return
		}
		if os.RemoveAll(x.path) == nil {
			total -= x.size
			_ = os.Remove(filepath.Dir(x.path)) // a shelf that is empty now
		}
	}
}

// used is something in the cache.
type used struct {
	path string
	size int64
	last time.Time
}

// used are the charts, the files of values and the mirrors.
func (c cache) used() []used {
	var out []used
	for _, dir := range entries(c.dir, nil) {
		var names *regexp.Regexp
		switch {
		case dir.Name() == mirrors:
			names = mirrorName
		case dir.Name() == files:
			names = valuesName
		case shelfName.MatchString(dir.Name()):
			names = keptName
		default:
			continue
		}
		folder := filepath.Join(c.dir, dir.Name())
		for _, e := range entries(folder, names) {
			if x := (used{path: filepath.Join(folder, e.Name())}); x.measure() {
				out = append(out, x)
			}
		}
	}
	return out
}

// entries are those of a folder whose names match.
func entries(dir string, names *regexp.Regexp) []fs.DirEntry {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return names != nil && !names.MatchString(e.Name()) })
}

// measure finds how large it is, and when it has been used: of a mirror, when its lock was.
func (x *used) measure() bool {
	info, err := os.Lstat(x.path)
	if err != nil {
		return false
	}
	x.size, x.last = info.Size(), info.ModTime()
	if !info.IsDir() {
		return true
	}
	x.size = 0
	_ = filepath.WalkDir(x.path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				x.size += info.Size()
			}
		}
		return nil
	})
	if lock, err := os.Stat(filepath.Join(x.path, lockName)); err == nil {
		x.last = lock.ModTime()
	}
	return true
}

// touch notes that a file has been used. One that cannot be noted is as old as it was.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}
