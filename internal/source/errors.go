package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Reason is a stable code for why a source has no new snapshot; it labels a metric.
type Reason string

// The reasons. Each is also an error for errors.Is.
const (
	Unreachable    Reason = "unreachable"     // host not found, refused, timed out, certificate not trusted
	Authentication Reason = "authentication"  // credentials missing or refused, host key unknown
	NotFound       Reason = "not-found"       // no such repository or folder
	UnknownRef     Reason = "unknown-ref"     // the repository has no such branch, tag or commit
	AmbiguousRef   Reason = "ambiguous-ref"   // the ref is a branch and a tag
	Unreadable     Reason = "unreadable"      // permission denied, disk error
	Empty          Reason = "empty"           // no file that the resolver reads
	Unsigned       Reason = "unsigned"        // no allowed signer has signed the commit
	LimitExceeded  Reason = "limit-exceeded"  // a limit of Limits is exceeded
	Unstable       Reason = "unstable"        // files vanish while they are being read
	GitMissing     Reason = "git-missing"     // no git command
	GitFailed      Reason = "git-failed"      // any other error of git
	InvalidOptions Reason = "invalid-options" // options that New rejects
	Canceled       Reason = "canceled"        // the caller's context has ended
)

func (r Reason) Error() string { return string(r) }

// IsKnown reports whether r is one of the reasons above.
func (r Reason) IsKnown() bool {
	switch r {
	case Unreachable, Authentication, NotFound, UnknownRef, AmbiguousRef, Unreadable, Empty, Unsigned, LimitExceeded, Unstable,
		GitMissing, GitFailed, InvalidOptions, Canceled:
		return true
	}
	return false
}

// Error says why a source has no new snapshot: `source: what; hint`.
type Error struct {
	Reason Reason
	Source string // the source's String
	Detail string
	Hint   string // what to do, may be empty
	Err    error  // the cause, if errors.Is can use it
}

func (e *Error) Error() string {
	s := e.Source + ": " + e.Detail
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Is makes errors.Is(err, source.Unreachable) work.
func (e *Error) Is(target error) bool {
	r, ok := target.(Reason)
	return ok && r == e.Reason
}

// Unwrap returns the cause: an error of a context or of io/fs, else nil.
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the reason of a source's error, "" for nil.
func ReasonOf(err error) Reason {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Reason
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Canceled
	}
	return GitFailed
}

// LimitError returns the error of a snapshot that is beyond a limit.
func LimitError(source, what string, actual, limit int64) *Error {
	return &Error{Reason: LimitExceeded, Source: source, Detail: fmt.Sprintf("%s: %d, at most %d", what, actual, limit)}
}

// EmptyError returns the error of a snapshot without a file that the resolver reads.
func EmptyError(source string) *Error {
	return &Error{Reason: Empty, Source: source, Detail: "no .yaml, .yml, .json or .gotmpl file in it"}
}

// FileError returns a file system's error without absolute paths. at is the path inside the folder,
// "" for the folder itself. An *Error is returned unchanged.
func FileError(source, at string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	e = &Error{Reason: Unreadable, Source: source, Err: err}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		e.Err = pe.Err
	}
	what := e.Err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Reason, e.Err, what = NotFound, fs.ErrNotExist, "no such folder"
		if at != "" {
			e.Reason, what = Unstable, "vanished while being read"
		}
	case errors.Is(err, fs.ErrPermission):
		e.Err, what = fs.ErrPermission, "permission denied"
	}
	if at != "" {
		what = fmt.Sprintf("read %q: %s", at, what)
	}
	e.Detail = strings.TrimSpace(what)
	return e
}
