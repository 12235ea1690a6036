package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/race"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const childArgument = "__child"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		os.Exit(Serve(hostile{}, os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// hostile does in the child what a chart's name says.
type hostile struct{}

func (hostile) Template(c source.Chart) ([]manifest.Manifest, error) {
	text := func(format string, args ...any) ([]manifest.Manifest, error) {
		return []manifest.Manifest{manifest.New("a.yaml", manifest.Tree{"text": fmt.Sprintf(format, args...)}, 1)}, nil
	}
	switch c.Name {
	case "file":
		_, err := os.ReadFile("/proc/self/status")
		return text("%v", err != nil)
	case "write":
		return text("%v", os.WriteFile("argosy-sandbox", nil, 0o600) != nil)
	case "connection":
		_, err := net.DialTimeout("tcp", string(c.Files[0].Data), time.Second)
		return text("%v", err != nil)
	case "environment":
		return text("%v", os.Environ())
	case "memory":
		var all [][]byte
		for {
			all = append(all, make([]byte, 64<<20))
			for i := range all[len(all)-1] {
				all[len(all)-1][i] = 1
			}
		}
	case "time":
		time.Sleep(time.Hour)
	case "exit":
		os.Exit(3)
	case "panic":
		panic("no such thing")
	case "output":
		return text("%s", strings.Repeat("x", maxMade))
	case "beyond":
		return nil, source.NotFollowed{Text: "a", Hint: "b"}
	case "pid":
		return text("%d", os.Getpid())
	case "definition":
		return []manifest.Manifest{manifest.New("crds/x.yaml", manifest.Tree{"kind": "X"}, 0)}, nil
	}
	return text("%s %d", c.ReleaseName, len(c.Files))
}

func sandboxed(t *testing.T) *Charts {
	t.Helper()
	t.Setenv("CANARY", "canary")
	s := New(func() (*exec.Cmd, error) { return exec.Command(os.Args[0], childArgument), nil })
	t.Cleanup(s.Close)
	return s
}

func made1(t *testing.T, s *Charts, name string, files ...*snapshot.File) string {
	t.Helper()
	out, err := s.Template(source.Chart{Name: name, ReleaseName: "release", Files: files})
	require.NoError(t, err, "%s", name)
	text, _ := out[0].Tree["text"].(string)
	return text
}

// Rule 1: a child opens no file and no connection, and has nothing in its environment.
func TestChildReachesNothing(t *testing.T) {
	s := sandboxed(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	for name, want := range map[string]string{"file": "true", "write": "true", "connection": "true", "environment": "[TZ=UTC]"} {
		assert.Equal(t, want, made1(t, s, name, snapshot.NewFile("address", []byte(listener.Addr().String()), 100)), "%s", name)
	}
}

// Rule 2: what passes a limit ends its child, is refused with the limit, and the next chart is
// rendered.
func TestLimitRefusesThatChartAlone(t *testing.T) {
	if race.Slack > 1 {
		t.Skip("the race detector's own memory passes the limit of a child")
	}
	s := sandboxed(t)
	s.timeout = 20 * time.Second
	for name, want := range map[string]string{
		"memory": "ends the process that renders (exit status 2); its limits are 1073741824 bytes of memory and 20s",
		"output": "chart output: it makes more than 67108864 bytes, which is the limit",
		"exit":   "chart exit: rendering it ends the process that renders (exit status 3); its limits are 1073741824 bytes of memory and 20s",
		"panic":  "Helm panics: no such thing",
	} {
		if _, err := s.Template(source.Chart{Name: name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		assert.Equal(t, "release 0", made1(t, s, "good"), "after %s", name)
	}
	s.timeout = 100 * time.Millisecond
	if _, err := s.Template(source.Chart{Name: "time"}); err == nil || err.Error() != "chart time: rendering it takes more than 100ms, which is the limit" {
		t.Errorf("time: %v", err)
	}
}

// slowly reads after a pause.
type slowly struct {
	io.Reader
	pause time.Duration
}

func (s *slowly) Read(p []byte) (int, error) {
	time.Sleep(s.pause)
	s.pause = 0
	return s.Reader.Read(p)
}

// Rule 2: a child whose response is read as its time ends has been killed. It renders no other
// chart, which would fail for it.
func TestChildThatIsLateIsGone(t *testing.T) {
	s := sandboxed(t)
	made1(t, s, "good")
	c := <-s.idle
	c.out.R = &slowly{c.out.R, time.Second}
	s.idle <- c
	s.timeout = 500 * time.Millisecond
	if _, err := s.Template(source.Chart{Name: "good"}); err == nil || err.Error() != "chart good: rendering it takes more than 500ms, which is the limit" {
		t.Error(err)
	}
	s.timeout = maxTime
	assert.Equal(t, "release 0", made1(t, s, "good"))
}

// Rule 3: one child renders many charts.
func TestChildIsReused(t *testing.T) {
	s := sandboxed(t)
	file := snapshot.NewFile("Chart.yaml", []byte("name: x"), 100)
	first := made1(t, s, "pid", file)
	if again := made1(t, s, "pid", file); again != first {
		t.Errorf("children %s and %s", first, again)
	}
	for range 2 {
		out, err := s.Template(source.Chart{Name: "definition"})
		if err != nil || !cmp.Equal(out[0].Tree, manifest.Tree{"kind": "X"}) || out[0].Size != 0 || out[0].Template != "crds/x.yaml" {
			t.Errorf("%v %v", out, err)
		}
	}
	var beyond source.NotFollowed
	if _, err := s.Template(source.Chart{Name: "beyond"}); !errors.As(err, &beyond) || beyond.Hint != "b" {
		t.Error(err)
	}
}
