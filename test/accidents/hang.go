package accidents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Hanger is a Hub whose Git server can hang.
type Hanger interface {
	// Hang has the Git server hang while the service reads from it, and meanwhile does something.
	Hang(meanwhile func() error) error
}

// maybeHang has the Git server hang, at first and now and then, and Argo CD ask meanwhile: the
// service goes on with what it has decided.
func (c *Campaign) maybeHang() error {
	hub, can := c.hub.(Hanger)
	if !can || c.Hangs > 0 && c.hangs.IntN(8) != 0 {
		return nil
	}
	c.Hangs++
	c.history = append(c.history, "the Git server hung")
	return hub.Hang(c.reconcile)
}

// Hang has whoever reads a repository's references by Git hang: they are read from a pipe in which
// nothing comes. Read has somebody read them; when they hang, meanwhile is called. Afterwards they
// go on.
func Hang(repo string, read, meanwhile func() error) (err error) {
	refs := filepath.Join(repo, ".git", "packed-refs")
	pipe, good := refs+".pipe", refs+".good"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		return fmt.Errorf("make %s: %w", pipe, err)
	}
	if err := os.Link(refs, good); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(pipe, refs); err != nil {
		return err
	}
	end := func() error {
		err := os.Rename(good, refs)
		if errors.Is(err, fs.ErrNotExist) {
			err = os.Remove(refs)
		}
		return err
	}
	if err := read(); err != nil {
		return errors.Join(err, end())
	}
	var writer *os.File
	for deadline := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		// It opens when somebody reads, who then hangs until it is closed.
		if writer, err = os.OpenFile(refs, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("nobody reads from the Git server: %w", err), end())
		}
	}
	err = meanwhile()
	return errors.Join(err, end(), writer.Close())
}
