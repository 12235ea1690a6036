package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	tailLines   = 15
	tailBytes   = 16 << 10
	searchBytes = 4 << 20 // of the log are searched for Spec.ReadyLog
)

// logFile is one process's log from one of its starts on.
type logFile struct {
	path string
	file *os.File
	from int64 // where this start's lines begin
}

func openLog(path string) (*logFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &logFile{path: path, file: file}, nil
}

// note writes a line of this package's into the log.
func (l *logFile) note(format string, args ...any) {
	// What a log lacks is no reason to end what it tells of.
	_, _ = fmt.Fprintf(l.file, "=== %s %s\n", time.Now().UTC().Format(time.RFC3339), fmt.Sprintf(format, args...))
}

// begin notes the start; what follows is this start's.
func (l *logFile) begin(format string, args ...any) error {
	l.note(format, args...)
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	l.from = info.Size()
	return nil
}

// end is what was written since this start, or the last bytes of it, at most so many.
func (l *logFile) end(limit int64) (text []byte, whole bool) {
	file, err := os.Open(l.path)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, false
	}
	from := max(l.from, info.Size()-limit)
	text, err = io.ReadAll(io.NewSectionReader(file, from, max(0, info.Size()-from)))
	if err != nil {
		return nil, false
	}
	return text, from == l.from
}

// has reports whether the process wrote the text since this start.
func (l *logFile) has(text string) bool {
	written, _ := l.end(searchBytes)
	return bytes.Contains(written, []byte(text))
}

// tail is the last lines that the process wrote since this start.
func (l *logFile) tail() []string {
	text, whole := l.end(tailBytes)
	if !whole { // it begins within a line
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && !strings.HasPrefix(line, "=== ") {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-tailLines):]
}

var taken = regexp.MustCompile(`(?i)(\S*:\d{1,5}): (?:bind: )?address already in use`)

// explain puts the log's end behind an error's text, and a hint where the log gives the reason.
func explain(cause error, log string, lines []string) error {
	text := strings.Join(lines, "\n  | ")
	hint := ""
	if m := taken.FindStringSubmatch(text); m != nil {
		hint = fmt.Sprintf("; hint: %s is taken by another process", m[1])
	}
	if text == "" {
		return fmt.Errorf("%w%s; %s has nothing of it", cause, hint, log)
	}
	return fmt.Errorf("%w%s; the end of %s:\n  | %s", cause, hint, log, text)
}
