package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/argosy-hub/argosy/internal/source"
)

const (
	// maxMemory bounds the memory that a git process allocates. Of two similar blobs of 500 MB a
	// server sends 1 MB, and git needs both at once.
	maxMemory = 384 << 20
	// maxFetch bounds one fetch on disk, also of files that are not read.
	maxFetch = 1 << 30
	// maxIndex bounds what git writes beside files: folders and indexes.
	maxIndex = 64 << 20
	// damagedSuffix marks a mirror that a new one replaces.
	damagedSuffix = ".damaged"
)

// maxFile returns the limit of a file that git writes, 0 for any size. It ends a fetch that grows
// faster than limitGrowth measures.
func (r *Repository) maxFile() int64 {
	if r.maxFetch == 0 {
		return 0
	}
	return r.maxFetch + maxIndex
}

// limitGrowth runs a fetch, and ends it when the mirror grows beyond its limit.
func (r *Repository) limitGrowth(ctx context.Context, fetch func(context.Context) error) error {
	if r.maxFetch == 0 {
		return fetch(ctx)
	}
	before := sizeBelow(r.mirror)
	tooMuch := func() error {
		if n := sizeBelow(r.mirror) - before; n > r.maxFetch {
			return &source.Error{Reason: source.LimitExceeded, Source: r.name, Detail: fmt.Sprintf("more than %d bytes are to be fetched, which is the limit", r.maxFetch)}
		}
		return nil
	}
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for tick := time.NewTicker(growthInterval); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				if err := tooMuch(); err != nil {
					cancel(err)
				}
			}
		}
	}()
	err := fetch(bounded)
	close(done)
	<-watched
	var limit *source.Error
	if errors.As(context.Cause(bounded), &limit) {
		return limit
	}
	if err == nil {
		err = tooMuch()
	}
	return err
}

// sizeBelow returns the bytes of the files in a folder. A file that vanishes meanwhile counts as
// empty.
func sizeBelow(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}

// removeTemporary removes the files of a fetch that was ended: each further one would add more.
func (r *Repository) removeTemporary() {
	for _, pattern := range []string{"pack/tmp_*", "pack/.tmp-*", "tmp_objdir-*", "incoming-*", "??/tmp_obj_*"} {
		left, _ := filepath.Glob(filepath.Join(r.mirror, "objects", pattern))
		for _, path := range left {
			_ = os.RemoveAll(path)
		}
	}
}

// rebuild runs again with a new mirror, after the old one was found damaged. If that fails, it
// restores the old one, which may have the last good commit.
func (r *Repository) rebuild(again func() error) error {
	old := r.mirror + damagedSuffix
	if err := errors.Join(os.RemoveAll(old), os.Rename(r.mirror, old)); err != nil {
		return source.FileError(r.name, "", err)
	}
	err := again()
	if err == nil {
		_ = os.RemoveAll(old) // the next rebuild removes what is left
		return nil
	}
	if failed := os.RemoveAll(r.mirror); failed == nil {
		_ = os.Rename(old, r.mirror)
	}
	return err
}
