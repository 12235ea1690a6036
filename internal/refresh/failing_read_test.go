package refresh

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// Rule 10: the first replica says what the last known good snapshots are, also if the store fails
// the other one while it reads them.
func TestFirstReplicaDecidesWhateverFails(t *testing.T) {
	store, objects := storetest.New()
	other := newCheckpoint(store)
	newest, lkg := saveExample(t, store)
	failed := false
	objects.OnGet(func(name string) error {
		if failed || !strings.HasPrefix(name, other.snapshots.prefix) {
			return nil
		}
		failed = true
		return errors.New("etcdserver: request timed out")
	})
	if _, err := other.write(t.Context(), newest, keptMembers{}); err == nil || !failed {
		t.Fatal("no read has failed")
	}
	theirs, err := other.write(t.Context(), newest, keptMembers{})
	if err != nil || theirs == nil || !maps.EqualFunc(theirs.lastKnownGood, lkg, same) {
		t.Errorf("%v, %v", theirs, err)
	}
}
