package generator

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// A State that succeeds many others remembers little more than the first did (H10), and answers as if it were alone.
func TestMemoOutlivesNoFiles(t *testing.T) {
	o := fleettest.Options{Clusters: 10, Components: 5, Tenants: 2, Overrides: 3, Seed: 1}
	files := map[string]*snapshot.File{}
	for p, text := range fleettest.Files(o) {
		files[p] = snapshot.NewFile(p, []byte(text), snapshot.MaxFileSize)
	}
	build := func(previous *State, s *snapshot.Snapshot) (*State, []byte) {
		st, err := Build(previous, s, facts.Set{})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := st.Answer(Request{View: Components, Hub: fleettest.Hub, Group: fleettest.Group})
		if err != nil {
			t.Fatal(err)
		}
		return st, answer
	}
	var st *State
	largest, first, dropped := 0, 0, false
	for i := range 40 {
		next := make(map[string]*snapshot.File, len(files))
		for p, f := range files {
			next[p] = f
		}
		for c := range o.Components {
			p := fmt.Sprintf("addons/defaults/%s/%s/values.yaml", fleettest.Group, fleettest.Component(c))
			next[p] = snapshot.NewFile(p, append(files[p].Data[:len(files[p].Data):len(files[p].Data)], fmt.Sprintf("\ncommit: %d\n", i)...), snapshot.MaxFileSize)
		}
		s := snapshot.New(fmt.Sprint(i), next)
		before := st
		var answer []byte
		st, answer = build(before, s)
		dropped = dropped || before != nil && before.resolver.memo != st.resolver.memo
		if i == 0 {
			first = st.resolver.memo.size()
		}
		largest = max(largest, st.resolver.memo.size())
		if i%10 == 9 {
			if _, alone := build(nil, s); !bytes.Equal(answer, alone) {
				t.Fatalf("commit %d: another answer than without predecessors", i)
			}
		}
	}
	if limit := 3*first + memoSlack; !dropped || largest > limit {
		t.Errorf("the memory was dropped: %v; it held %d entries at most, the first State's had %d (limit %d)", dropped, largest, first, limit)
	}
}
