package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/argosy-hub/argosy/internal/source"
)

// limitGrowth runs a fetch, and ends it when the mirror has grown by more than it may.
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

// sizeBelow is how many bytes the files of a folder have; what vanishes meanwhile has none.
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
