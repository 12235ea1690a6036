package server_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/server"
	"github.com/argosy-hub/argosy/internal/state"
)

// TestPolicyThatComesBackBeginsAnew: while there was no policy, all members got the newest commit.
// A policy of the same name, as a revert brings it, does not take them back to what its rings had
// before. (G7)
func TestPolicyThatComesBackBeginsAnew(t *testing.T) {
	folder, err := state.NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h, first := steady(t, nil, func(o *server.Options) { o.Store = state.New(folder) })
	h.ring("canary", h.say(inRings(map[string]string{valuesOfAll: "replicas: 7\n"})).Revision)
	h.ring("prod", first)
	var last string
	for n := range 20 {
		last = h.say(repository(map[string]string{valuesOfAll: "replicas: 2" + strconv.Itoa(n) + "\n"})).Revision
		h.looks()
	}
	h.healthy("dns-b", "dns-hub-1")
	// So that prod does not take the next commit.
	h.health(false, "dns-a")
	now := h.say(inRings(map[string]string{valuesOfAll: "replicas: 219\n"})).Revision // nothing but the policy
	h.answers()
	h.ring("canary", now)
	h.ring("prod", last)
	if now := h.texts(); !strings.Contains(now["b"], "replicas: 219") {
		t.Errorf("b goes back: %s", now["b"])
	}
}

// TestRenamedPolicyKeepsItsRings: another name for the file of a policy is not a way past its gate.
// (G7)
func TestRenamedPolicyKeepsItsRings(t *testing.T) {
	for name, change := range map[string]func(t *testing.T) []func(*server.Options){
		"in memory": func(*testing.T) []func(*server.Options) { return nil },
		"in a store": func(t *testing.T) []func(*server.Options) {
			folder, err := state.NewFolder(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			return []func(*server.Options){func(o *server.Options) { o.Store = state.New(folder) }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, first := steady(t, nil, change(t)...)
			second := h.say(inRings(map[string]string{valuesOfAll: "replicas: 7\n"})).Revision
			h.ring("canary", second)
			h.ring("prod", first)
			h.say(repository(map[string]string{valuesOfAll: "replicas: 7\n", "fleet/rollouts/other.yaml": twoRings}))
			h.looks()
			h.answers()
			h.ring("prod", first)
			if now := h.texts(); strings.Contains(now["b"], "replicas: 7") {
				t.Errorf("b has a commit that was never healthy: %s", now["b"])
			}
		})
	}
}
