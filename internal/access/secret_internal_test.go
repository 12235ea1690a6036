package access

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// A request that read the file before a rotation does not bring the old token back (rule 4).
func TestTokenNeverGoesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	rotate := func(n int) {
		if err := os.WriteFile(path+".new", []byte(strconv.Itoa(n)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	rotate(0)
	tok, err := newFile(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			newest := 0
			for !done.Load() {
				tok.current()
				tok.mu.Lock()
				n, _ := strconv.Atoi(string(tok.value))
				tok.mu.Unlock()
				if n < newest {
					t.Errorf("token %d after %d", n, newest)
					return
				}
				newest = n
			}
		})
	}
	for n := range 500 {
		rotate(n)
	}
	done.Store(true)
	readers.Wait()
}
