// Package failure has the error of a command: what failed, the problems found, and hints how to go
// on.
package failure

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/problem"
)

// Error ends a command. Problems, if there are any, are printed instead of Err.
type Error struct {
	Err      error
	Hints    []string
	Problems []problem.Problem
	// Findings means that the repository is at fault, not the use of the command.
	Findings bool
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Usage is wrong usage, or input or output that fails.
func Usage(hints []string, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Hints: hints}
}

// Findings are the problems of an error: its own, or one with a default reason and position.
func Findings(err error, reason problem.Reason, pos problem.Pos, hints ...string) error {
	return &Error{Err: err, Problems: problem.From(err, reason, pos), Hints: hints, Findings: true}
}

// CheckChoice refuses a flag's value that is not among the choices.
func CheckChoice(flag, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	hints := problem.Nearest(value, choices)
	if len(hints) == 0 {
		hints = []string{fmt.Sprintf("expected one of %v", choices)}
	}
	return Usage(hints, "--%s: unknown value %q", flag, value)
}
