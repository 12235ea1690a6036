package problem

import (
	"fmt"
	"slices"
)

// Failure is an error that ends a command. Problems, if there are any, are printed instead of Err.
type Failure struct {
	Err      error
	Hints    []string
	Problems []Problem
	// Findings means that the repository is at fault, not the use of the command.
	Findings bool
}

func (e *Failure) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Failure) Unwrap() error { return e.Err }

// Usage returns the error of wrong usage, or of input or output that fails.
func Usage(hints []string, format string, args ...any) error {
	return &Failure{Err: fmt.Errorf(format, args...), Hints: hints}
}

// FailureOf returns a Failure with the problems of an error: its own, or one with a default reason
// and position.
func FailureOf(err error, reason Reason, pos Pos, hints ...string) error {
	return &Failure{Err: err, Problems: From(err, reason, pos), Hints: hints, Findings: true}
}

// CheckChoice returns an error for a flag's value that is not among the choices.
func CheckChoice(flag, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	hints := Nearest(value, choices)
	if len(hints) == 0 {
		hints = []string{fmt.Sprintf("expected one of %v", choices)}
	}
	return Usage(hints, "--%s: unknown value %q", flag, value)
}
