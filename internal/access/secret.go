package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

const maxToken = 4096

// ReferenceHint explains a token that begins with "$": Argo CD sends the text of the reference when the Secret has no
// such key (argo-cd's applicationset/services/plugin/plugin_service.go with util/settings, v2.14).
const ReferenceHint = `it begins with "$", a reference to a Secret's key that Argo CD could not resolve; see the key "token" of the plugin's ConfigMap`

// file is a token of a file, which is read anew once in a while: it is small, and neither size nor times tell reliably that
// a mounted Secret has changed.
type file struct {
	path   string
	log    *slog.Logger
	reload time.Duration // how long it is not read again, at most
	now    func() time.Time

	mu      sync.Mutex
	read    time.Time
	value   []byte // the last good one
	hash    [sha256.Size]byte
	problem string // of the file when it was read
}

func newFile(path string, reload time.Duration, log *slog.Logger) (*file, error) {
	f := &file{path: path, log: log, reload: reload, now: time.Now}
	f.read = f.now()
	value, err := f.look()
	f.take(value)
	return f, err
}

func (f *file) take(value []byte) { f.value, f.hash = value, sha256.Sum256(value) }

func (f *file) look() ([]byte, error) {
	opened, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("token file %q: %w", f.path, cause(err))
	}
	defer opened.Close()
	value, err := readSecret(opened)
	if err != nil {
		return nil, fmt.Errorf("token file %q: %w", f.path, err)
	}
	return value, nil
}

// readSecret is the token that a file holds.
func readSecret(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxToken+1))
	value := bytes.TrimRight(data, "\r\n")
	switch {
	case err != nil:
		return nil, cause(err)
	case len(data) > maxToken:
		return nil, fmt.Errorf("larger than %d bytes", maxToken)
	case len(value) == 0:
		return nil, errors.New("it is empty")
	case value[0] == '$':
		return nil, errors.New(ReferenceHint)
	case bytes.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("a token is one line of ASCII characters without spaces")
	}
	return value, nil
}

// cause is a file's error without its operation and path.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// is tells whether a hash is that of the token, in constant time. A value that nobody else has, either, may be a new token:
// then the file is read again first, so that who rotates a token waits for nobody.
func (f *file) is(hash [sha256.Size]byte, elsewhere bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	read := f.refresh(false)
	same := func() bool { return subtle.ConstantTimeCompare(f.hash[:], hash[:]) == 1 }
	return same() || !elsewhere && !read && f.refresh(true) && same()
}

// current is the token now; the last good one while the file is bad (rule 6).
func (f *file) current() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh(true)
	return f.value
}

// refresh reads the file, if it has to, or if that is too long ago, and tells whether it has. The caller holds the lock: what
// was read first must not be taken for the newest.
func (f *file) refresh(now bool) bool {
	at := f.now()
	if !now && f.reload > 0 && at.Sub(f.read) < f.reload && !at.Before(f.read) {
		return false
	}
	f.read = at
	value, err := f.look()
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case text == f.problem:
	case text == "":
		f.log.Info("token file is good again")
	default:
		f.log.Error("token file cannot be used; the last good token stays valid", "error", text)
	}
	f.problem = text
	if err == nil && !bytes.Equal(value, f.value) {
		f.log.Info("token has been rotated")
		f.take(value)
	}
	return true
}
