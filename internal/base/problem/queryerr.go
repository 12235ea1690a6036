package problem

import (
	"fmt"
	"strings"
)

// ErrorKind tells whose fault an Error is.
type QueryErrorKind int

const (
	// KindBadRequest means that the request itself cannot be answered.
	KindBadRequest QueryErrorKind = iota + 1
	// KindUnavailable means that the fleet cannot be computed as it is.
	KindUnavailable
)

// maxMessage bounds an error's text, in bytes: it becomes a condition of the ApplicationSet, and
// varying text makes Argo CD reconcile in a loop (rule G5; argo-cd#21887).
const maxMessage = 600

// Error is why a request has no answer.
type QueryError struct {
	Kind     QueryErrorKind
	Message  string
	Problems []Problem
}

// Error is the message, at most maxMessage bytes, the same for the same cause.
func (e *QueryError) Error() string {
	return Truncate(e.Message, maxMessage)
}

// BadRequest is the error of a query that cannot be answered as it is.
func BadRequest(format string, args ...any) *QueryError {
	return &QueryError{Kind: KindBadRequest, Message: fmt.Sprintf(format, args...)}
}

// Unavailable is the error of members that cannot be computed.
func Unavailable(ps []Problem) *QueryError {
	ps = Sorted(ps)
	first := ps[0]
	message := first.Error()
	if first.Cluster != "" && !strings.Contains(message, fmt.Sprintf("%q", first.Cluster)) {
		message = fmt.Sprintf("member %q of hub %q: %s", first.Cluster, first.Hub, message)
	}
	if len(ps) > 1 {
		message += fmt.Sprintf(" (and %d more)", len(ps)-1)
	}
	return &QueryError{Kind: KindUnavailable, Message: message, Problems: ps}
}

// Hint suggests the nearest known name: a comma and the suggestion, or nothing.
func Hint(name string, known []string) string {
	if h := Nearest(name, known); len(h) > 0 {
		return ", " + h[0]
	}
	return ""
}
