package adopt

import (
	"context"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Request says which handover to open. All fields but Undo and Apply are required.
type Request struct {
	// Name is the plain ApplicationSet's name.
	Name string
	// Undo reverses the handover. Apply checks the permissions to write.
	Undo, Apply bool
	Normalize   func(Tree) (Tree, error)
	// Begin returns a record where there is none.
	Begin func(Observed) (*Record, []Refusal, error)
}

// Open returns the record of a handover that begins, or continues in the direction of the request.
// It returns nil where an ApplicationSet has nothing to get back. Open writes nothing.
func Open(ctx context.Context, l *Live, q Request) (*Record, []Refusal, error) {
	failed := func(err error) (*Record, []Refusal, error) {
		return nil, nil, problem.Usage([]string{"--context and --namespace say where Argo CD is", "nothing was changed"}, "%w", err)
	}
	if q.Apply {
		denied, err := l.Denied(ctx)
		if err != nil {
			return failed(err)
		}
		if len(denied) > 0 {
			return nil, nil, problem.Usage([]string{"nothing was changed"}, "access denied in namespace %q; allow: %s", l.namespace, strings.Join(denied, ", "))
		}
	}
	records, err := l.Records(ctx)
	if err != nil {
		return failed(err)
	}
	for name, other := range records {
		if name != q.Name && !other.Done {
			return nil, nil, problem.Usage([]string{"argosy adopt --applicationset " + name + " ends it; with --undo, it goes back"}, "the handover of ApplicationSet %q is under way: one at a time", name)
		}
	}
	live, err := l.Observe(ctx)
	if err != nil {
		return failed(err)
	}
	r := records[q.Name]
	switch {
	case r == nil && q.Undo && live.Sets[q.Name] != nil:
		return nil, nil, nil // an undo that was killed after its last step also ends here
	case r == nil && q.Undo:
		return nil, nil, problem.Usage([]string{"its record would be ConfigMap " + RecordName(q.Name)}, "ApplicationSet %q has not been handed over", q.Name)
	case r == nil:
		return q.Begin(live)
	}
	return r, Turn(r, q.Undo, live, q.Normalize), nil
}
