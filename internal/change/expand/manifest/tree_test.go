package manifest_test

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// A policy that is switched off, as Argo CD 3.5 does while an ApplicationSet syncs in steps, is
// none.
func TestAutomatedPolicySwitchedOffIsNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy manifest.Tree
		want   bool
	}{
		{nil, false},
		{manifest.Tree{"retry": manifest.Tree{}}, false},
		{manifest.Tree{"automated": nil}, false},
		{manifest.Tree{"automated": manifest.Tree{}}, true},
		{manifest.Tree{"automated": manifest.Tree{"enabled": true}}, true},
		{manifest.Tree{"automated": manifest.Tree{"enabled": false, "prune": true}}, false},
	} {
		assert.Equal(t, c.want, manifest.IsAutomated(manifest.Tree{"spec": manifest.Tree{"syncPolicy": c.policy}}), "%v", c.policy)
	}
}
