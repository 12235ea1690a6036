package access

import (
	"crypto/sha256"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// A request that read the file before a rotation does not bring the old token back (rule 4).
func TestTokenNeverGoesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	rotate := func(n int) {
		require.NoError(t, os.WriteFile(path+".new", []byte("the-token-of-the-generation-"+strconv.Itoa(n)), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	rotate(0)
	tok, err := openTokenFile(path, -1, slog.New(slog.DiscardHandler), time.Now, nil)
	require.NoError(t, err)
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			newest := 0
			for !done.Load() {
				tok.Current()
				last, _ := tok.Last()
				n, _ := strconv.Atoi(strings.TrimPrefix(string(last.value), "the-token-of-the-generation-"))
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

// named is a token that is long enough, of a short one.
func named(text string) string { return text + "-token-of-twenty-characters" }

// A new token counts at once, the old one until the file is read again; nobody makes the service
// read it more often with a token of somebody else.
func TestFileIsReadOnceInAWhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		require.NoError(t, os.WriteFile(path, []byte(named(text)), 0o600))
	}
	write("first")
	now := time.Now()
	f, err := openTokenFile(path, time.Second, slog.New(slog.DiscardHandler), func() time.Time { return now }, nil)
	require.NoError(t, err)
	for _, c := range []struct {
		what      string
		write     string
		after     time.Duration
		token     string
		elsewhere bool
		want      bool
	}{
		{"at the start", "", 0, "first", false, true},
		{"the old one, a moment after", "second", time.Second - 1, "first", false, true},
		{"somebody else's makes nobody read", "", 0, "third", true, false},
		{"the old one still", "", 0, "first", false, true},
		{"the new one", "", 0, "second", false, true},
		{"the old one, after that", "", 0, "first", false, false},
		{"the old one, a second after", "third", time.Second, "second", false, false},
		{"the new one, a second after", "", 0, "third", false, true},
		{"a bad file", "$x", time.Second, "third", false, true},
		{"somebody else's is one of ours now", "fourth", time.Second, "fourth", true, true},
		{"a clock set back", "fifth", -time.Hour, "fourth", false, false},
	} {
		if c.write != "" {
			write(c.write)
		}
		now = now.Add(c.after)
		assert.Equal(t, c.want, f.is(sha256.Sum256([]byte(named(c.token))), c.elsewhere), "%s", c.what)
	}
}
