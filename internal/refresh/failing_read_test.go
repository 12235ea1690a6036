package refresh

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/state"
	"github.com/argosy-hub/argosy/internal/state/statetest"
)

// failing is a store of which a test decides the reads that fail.
type failing struct {
	*statetest.Memory
	fails func(name string) bool
}

func (f *failing) Get(ctx context.Context, name string) ([]byte, string, error) {
	if f.fails != nil && f.fails(name) {
		return nil, "", errors.New("etcdserver: request timed out")
	}
	return f.Memory.Get(ctx, name)
}

// Rule 10: the first replica says what the last known good snapshots are, also if the store fails
// the other one while it reads them.
func TestFirstReplicaDecidesWhateverFails(t *testing.T) {
	objects := &failing{Memory: new(statetest.Memory)}
	store := state.New(objects)
	other := newCheckpoint(store)
	newest, lkg := saveExample(t, store)
	failed := false
	objects.fails = func(name string) bool {
		is := !failed && strings.HasPrefix(name, other.snapshots.prefix)
		failed = failed || is
		return is
	}
	if _, err := other.write(t.Context(), newest, keptMembers{}); err == nil || !failed {
		t.Fatal("no read has failed")
	}
	theirs, err := other.write(t.Context(), newest, keptMembers{})
	if err != nil || theirs == nil || !maps.EqualFunc(theirs.lastKnownGood, lkg, same) {
		t.Errorf("%v, %v", theirs, err)
	}
}
