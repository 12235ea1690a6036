package gitsocket

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
)

const (
	// protocol is the version that both sides have to speak: they are of one image.
	protocol = 2
	// maxLine bounds a request and a frame, in bytes.
	maxLine = 128 << 10
	// maxText bounds a text for people, in bytes; problems and errors are shorter.
	maxText = 1 << 10
	// maxTextsOfFile bounds a file's name and fault, in bytes on average.
	maxTextsOfFile = snapshot.MaxPath + 1<<9
	// maxReason bounds a reason; the longest has 19 bytes.
	maxReason = 40
	// maxHints bounds the hints of a problem.
	maxHints = 8
)

// The times of a conversation.
const (
	busyInterval = 2 * time.Second  // a server that polls says so this often
	silence      = 30 * time.Second // after so long without a byte, a process is taken for hanging
	maxPoll      = time.Hour        // more than a poll takes, with every repetition of its fetches
)

// request is what a client says: the one line that it sends.
type request struct {
	Protocol int    `json:"protocol"`
	Source   string `json:"source"` // the name of the repository that the client expects
	Ref      string `json:"ref"`
	Have     string `json:"have,omitempty"` // the revision of the client's snapshot
}

// frame is one line of a response; one field is set.
type frame struct {
	Busy  bool   `json:"busy,omitempty"`
	Start *start `json:"start,omitempty"`
	File  *file  `json:"file,omitempty"`
	Gone  []byte `json:"gone,omitempty"` // a path of the base that the snapshot does not have
	End   bool   `json:"end,omitempty"`
}

// start begins the result of a poll. Without a revision there is no snapshot, only an error.
type start struct {
	Revision string   `json:"revision,omitempty"`
	Base     string   `json:"base,omitempty"` // the revision that the files are the difference to
	Error    *failure `json:"error,omitempty"`
	// Commit is who made the revision, for people.
	Commit snapshot.Commit `json:"commit,omitzero"`
}

// failure is a source.Error.
type failure struct {
	Reason source.Reason `json:"reason"`
	Detail string        `json:"detail"`
	Hint   string        `json:"hint,omitempty"`
}

// file is a file of the snapshot; Size bytes follow the frame. One with a fault has no content, and
// may stand for a whole folder that cannot be read. A path is bytes: Git's may be of any encoding.
type file struct {
	Path   []byte `json:"path"`
	Size   int64  `json:"size,omitempty"`
	Folder bool   `json:"folder,omitempty"`
	Fault  *fault `json:"fault,omitempty"`
	// Obstacle says that it is no file of the snapshot: what is there and cannot be what its name
	// says.
	Obstacle bool `json:"obstacle,omitempty"`
}

// fault is why a file has no content: what of a problem.Problem its source says.
type fault struct {
	Reason   problem.Reason `json:"reason"`
	Subject  string         `json:"subject,omitempty"`
	Found    string         `json:"found,omitempty"`
	Expected string         `json:"expected,omitempty"`
	Hints    []string       `json:"hints,omitempty"`
}

// writeLine writes a value as one line.
func writeLine(w io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if len(line) >= maxLine {
		return fmt.Errorf("a line of %d bytes; the limit is %d", len(line), maxLine)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// readLine reads one line into a value, which has to have all of its fields. The reader's buffer
// bounds the line.
func readLine(r *bufio.Reader, value any) error {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return invalid("a line is longer than %d bytes", r.Size())
	}
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(value); err != nil {
		return invalid("a line is no frame of protocol %d", protocol)
	}
	if d.InputOffset() != int64(len(line)-1) {
		return invalid("a line has more than one frame")
	}
	return nil
}

// nonsense says what is wrong with what the other side has sent.
type nonsense string

func (n nonsense) Error() string { return string(n) }

func invalid(format string, args ...any) error { return nonsense(fmt.Sprintf(format, args...)) }

var (
	revision   = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	reasonCode = regexp.MustCompile(`^[a-z]+(-[a-z]+){0,5}$`)
)

func isReason(s string) bool { return len(s) <= maxReason && reasonCode.MatchString(s) }

// text makes a text fit for people: printable, and of bounded length.
func text(s string) string {
	s = problem.Truncate(strings.ToValidUTF8(s, "?"), maxText)
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// problem makes the problem with a file, its texts fit for people.
func (f fault) problem(path string) problem.Problem {
	var hints []string
	for _, hint := range f.Hints[:min(len(f.Hints), maxHints)] {
		hints = append(hints, text(hint))
	}
	return problem.Problem{
		Reason: f.Reason, Severity: problem.Error, Pos: problem.Pos{File: path},
		Subject: text(f.Subject), Found: text(f.Found), Expected: text(f.Expected), Hints: hints,
	}
}

// faultOf is the fault of a file that has no content.
func faultOf(err error) *fault {
	var p problem.Problem
	if !errors.As(err, &p) {
		p = problem.Problem{Reason: problem.InvalidValue, Found: err.Error()}
	}
	return &fault{p.Reason, text(p.Subject), text(p.Found), text(p.Expected), p.Hints}
}
