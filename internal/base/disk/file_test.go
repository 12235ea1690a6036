package disk_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/disk"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// number is a file that holds a number, in a folder of its own.
func number(t *testing.T, text string) (path string, o disk.Options[int]) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "number")
	write(t, path, text)
	return path, disk.Options[int]{
		Sources: []disk.Source{{Kind: "number file", Path: path, Limit: 8}},
		Parse: func(contents [][]byte) (int, error) {
			n, err := strconv.Atoi(strings.TrimSpace(string(contents[0])))
			if err != nil {
				return 0, errors.New("no number")
			}
			return n, nil
		},
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestBadFileLeavesLastGoodValue(t *testing.T) {
	var log bytes.Buffer
	path, o := number(t, "1")
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	f, err := disk.Open(o)
	require.NoError(t, err)
	missing := `number file "` + path + `": no such file or directory`
	for _, step := range []struct {
		text    string // "-" removes the file
		value   int
		err     string
		differs bool
	}{
		{"1", 1, "", false},
		{"2", 2, "", true},
		{"two", 2, "no number", true},
		{"three", 2, "no number", false},
		{"-", 2, missing, true},
		{"-", 2, missing, false},
		{"123456789", 2, `number file "` + path + `": larger than 8 bytes`, true},
		{"2", 2, "", true},
		{"3", 3, "", true},
	} {
		if step.text == "-" {
			_ = os.Remove(path)
		} else {
			write(t, path, step.text)
		}
		differs := f.Reload()
		value, err := f.Last()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if value != step.value || text != step.err || differs != step.differs {
			t.Errorf("%q: %d, %q, %t; want %d, %q, %t", step.text, value, text, differs, step.value, step.err, step.differs)
		}
	}
	for text, times := range map[string]int{"cannot be used; the last good one stays in use": 3, "can be used again": 1, "has changed": 2} {
		if n := strings.Count(log.String(), text); n != times {
			t.Errorf("%q is logged %d times; want %d:\n%s", text, n, times, log.String())
		}
	}
}

func TestFilesHaveToBeGoodWhenOpened(t *testing.T) {
	path, o := number(t, "one")
	if _, err := disk.Open(o); err == nil || err.Error() != "no number" {
		t.Errorf("%v", err)
	}
	_ = os.Remove(path)
	if _, err := disk.Open(o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestRecentReadsOnceInAWhile(t *testing.T) {
	path, o := number(t, "1")
	now := time.Unix(1e9, 0)
	o.Now = func() time.Time { return now }
	f, err := disk.Open(o)
	require.NoError(t, err)
	write(t, path, "2")
	for _, step := range []struct {
		later time.Duration
		value int
		read  bool
	}{{time.Second - 1, 1, false}, {1, 2, true}, {0, 2, false}, {-time.Second, 2, true}} { // a clock may be set back
		now = now.Add(step.later)
		if value, read := f.Recent(time.Second); value != step.value || read != step.read {
			t.Errorf("%s later: %d, %t; want %d, %t", step.later, value, read, step.value, step.read)
		}
	}
	write(t, path, "3")
	assert.Equal(t, 3, f.Current(), "current")
}
