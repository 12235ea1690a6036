package report

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// A command of two seconds shows nothing. A longer one shows what it does and for how long, in one
// line, which is gone before anything else is written, and in the end.
func TestProgressShowsAfterTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var terminal bytes.Buffer
		p := NewProgress(&terminal)
		p.Say("reading")
		time.Sleep(patience)
		synctest.Wait()
		if terminal.Len() > 0 {
			t.Errorf("%q is shown at once", terminal.String())
		}
		p.Say("comparing %d Applications", 1000)
		time.Sleep(step + time.Second)
		synctest.Wait()
		const line = "\r\x1b[Kcomparing 1000 Applications (3s)"
		if got := terminal.String(); got[max(0, len(got)-len(line)):] != line {
			t.Errorf("%q does not end with %q", got, line)
		}
		terminal.Reset()
		p.Clear()
		p.Clear()
		assert.Equal(t, "\r\x1b[K", terminal.String(), "clearing writes")
		time.Sleep(step)
		synctest.Wait()
		terminal.Reset()
		p.Done()
		p.Done()
		assert.Equal(t, "\r\x1b[K", terminal.String(), "the end writes")
	})
}

// Without a terminal, nothing is shown.
func TestProgressWithoutTerminal(t *testing.T) {
	t.Parallel()
	p := NewProgress(nil)
	p.Say("reading")
	p.Clear()
	p.Done()
}
