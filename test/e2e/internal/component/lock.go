package component

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lock takes the cache's lock, which the kernel gives back when its holder ends, however it ends.
func (b *builder) lock(ctx context.Context) (unlock func(), err error) {
	path := filepath.Join(b.cache, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the cache of built components: %w", err)
	}
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for waits := false; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !waits {
			waits = true
			b.progress("waiting for another run that is building components")
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for another run that is building components: %w", context.Cause(ctx))
		}
	}
}
