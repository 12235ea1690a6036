package problem

import (
	"fmt"
	"strings"
)

// QueryErrorKind says who caused a QueryError.
type QueryErrorKind int

const (
	// KindBadRequest means that the query itself is wrong.
	KindBadRequest QueryErrorKind = iota + 1
	// KindUnavailable means that the fleet repository cannot be computed.
	KindUnavailable
)

// maxMessage bounds an error's text, in bytes: it becomes a condition of the ApplicationSet, and
// varying text makes Argo CD reconcile in a loop (argo-cd#21887).
const maxMessage = 600

// QueryError is why a query has no response.
type QueryError struct {
	Kind     QueryErrorKind
	Message  string
	Problems []Problem
}

// Error returns the message, at most maxMessage bytes, the same for the same cause.
func (e *QueryError) Error() string {
	return Truncate(e.Message, maxMessage)
}

// BadRequest returns the error of a query that is wrong.
func BadRequest(format string, args ...any) *QueryError {
	return &QueryError{Kind: KindBadRequest, Message: fmt.Sprintf(format, args...)}
}

// Unavailable returns the error of members that cannot be computed.
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

// Hint returns a comma and a suggestion of the nearest known name, or nothing.
func Hint(name string, known []string) string {
	if h := Nearest(name, known); len(h) > 0 {
		return ", " + h[0]
	}
	return ""
}
