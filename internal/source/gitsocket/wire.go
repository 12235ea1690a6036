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
	// protocol is the version that both sides must have: they are from one image.
	protocol = 2
	// maxLine bounds a request and a frame, in bytes.
	maxLine = 128 << 10
	// maxText bounds a text for people, in bytes; problems and errors are shorter.
	maxText = 1 << 10
	// maxTextsOfFile bounds the average size of a file's name and fault, in bytes.
	maxTextsOfFile = snapshot.MaxPath + 1<<9
	// maxReason bounds a reason; the longest has 19 bytes.
	maxReason = 40
	// maxHints bounds the hints of a problem.
	maxHints = 8
)

// The times of a conversation.
const (
	busyInterval = 2 * time.Second  // how often a polling server sends a busy frame
	silence      = 30 * time.Second // after so long without a byte, a process counts as hanging
	maxPoll      = time.Hour        // more than a poll takes, with every repetition of its fetches
)

// request is the one line that a client sends.
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
	Base     string   `json:"base,omitempty"` // the revision that the files are a difference to
	Error    *failure `json:"error,omitempty"`
	// Commit says who made the revision, for people.
	Commit snapshot.Commit `json:"commit,omitzero"`
}

// failure is a source.Error.
type failure struct {
	Reason source.Reason `json:"reason"`
	Detail string        `json:"detail"`
	Hint   string        `json:"hint,omitempty"`
}

// file is a file of the snapshot; Size bytes follow the frame. A file with a fault has no content,
// and may stand for a whole folder that cannot be read. A path is bytes: in Git it may have any
// encoding.
type file struct {
	Path   []byte `json:"path"`
	Size   int64  `json:"size,omitempty"`
	Folder bool   `json:"folder,omitempty"`
	Fault  *fault `json:"fault,omitempty"`
	// Obstacle says that this is not a file of the snapshot but an obstacle (package snapshot).
	Obstacle bool `json:"obstacle,omitempty"`
}

// fault says why a file has no content: the parts of a problem.Problem that its source sets.
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

// readLine reads one line into a value, and rejects fields that the value does not have. The
// reader's buffer bounds the line.
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

// nonsense is the error of an invalid message from the other side.
type nonsense string

func (n nonsense) Error() string { return string(n) }

func invalid(format string, args ...any) error { return nonsense(fmt.Sprintf(format, args...)) }

var (
	revision   = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	reasonCode = regexp.MustCompile(`^[a-z]+(-[a-z]+){0,5}$`)
)

func isReason(s string) bool { return len(s) <= maxReason && reasonCode.MatchString(s) }

// text makes a text printable, and bounds its length.
func text(s string) string {
	s = problem.Truncate(strings.ToValidUTF8(s, "?"), maxText)
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// problem returns the problem of a file, with printable texts.
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

// faultOf returns the fault of a file that has no content.
func faultOf(err error) *fault {
	var p problem.Problem
	if !errors.As(err, &p) {
		p = problem.Problem{Reason: problem.InvalidValue, Found: err.Error()}
	}
	return &fault{p.Reason, text(p.Subject), text(p.Found), text(p.Expected), p.Hints}
}
