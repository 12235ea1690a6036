package refresh_test

import (
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
)

// forgetter is a provider that notes what it is to forget.
type forgetter struct {
	*known
	called chan func(name string) bool
}

func (f forgetter) Forget(isMember func(name string) bool) { f.called <- isMember }

// L1: after each commit the provider forgets clusters that have no member file any more, with a
// store and without.
func TestProviderForgetsFormerMembers(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		f := forgetter{newKnown(true, cluster("a"), cluster("b")), make(chan func(string) bool, 100)}
		var kept *store.Store
		if dir != "" {
			kept = folder(t, dir)
		}
		h := startWith(t, f, kept)
		first := fleet(nil)
		h.say(first, nil)
		h.serving(first)
		second := fleet(map[string]string{"fleet/fleet-members/hub-1/a.yaml": ""})
		h.say(second, nil)
		h.serving(second)
		for last := time.After(time.Minute); ; {
			select {
			case isMember := <-f.called:
				if isMember("a") {
					continue // of the first commit
				}
				if !isMember("b") {
					t.Error("b is a member")
				}
			case <-last:
				t.Error("the provider is not called")
			}
			break
		}
	}
}
