package generator

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// encoded is a set as its answer has it.
func encoded(s ParameterSet, revision string) ([]byte, error) {
	e, failure := encode(s)
	if failure != nil {
		return nil, failure
	}
	out := Told{revision: revisionField(revision), parts: []*part{newPart(nil, []*said{{sets: []encodedSet{e}}})}}
	return out.Bytes(), nil
}

// TestSaidAgainIsComputedAnew is rule G6 on random fleets: whatever changes, what is said again of the previous answer, and
// the trees and texts that states share, give the bytes of a state that knows nothing of before.
func TestSaidAgainIsComputedAnew(t *testing.T) {
	t.Parallel()
	seeds, steps := uint64(6), 25
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		o := fleettest.Options{Clusters: 5 + r.IntN(20), Components: 2 + r.IntN(4), Tenants: 1 + r.IntN(3), Overrides: 1 + r.IntN(3), Seed: seed + 1}
		contents := fleettest.Files(o)
		paths := sortedKeys(contents)
		files := map[string]*snapshot.File{}
		for _, p := range paths {
			files[p] = snapshot.NewFile(p, []byte(contents[p]), snapshot.MaxFileSize)
		}
		var st *State
		said, computed := 0, 0
		live := facts.Set{}
		for step := range steps {
			next := map[string]*snapshot.File{}
			for p, f := range files {
				next[p] = f
			}
			for range r.IntN(3) {
				p := paths[r.IntN(len(paths))]
				switch r.IntN(5) {
				case 0:
					delete(next, p)
				case 1:
					next[p] = snapshot.NewFile(p, []byte(contents[p]+"[broken"), snapshot.MaxFileSize)
				default:
					next[p] = snapshot.NewFile(p, fmt.Appendf(nil, "%s# %d\n", contents[p], step), snapshot.MaxFileSize)
				}
			}
			if r.IntN(5) == 0 {
				live = facts.NewSet(false, facts.Cluster{Name: fleettest.Cluster(r.IntN(o.Clusters)), Labels: map[string]string{"step": fmt.Sprint(step)}})
			}
			files = next
			s := snapshot.New(fmt.Sprintf("%d\"%d", seed, step), files)
			built, err := Build(st, s, live)
			if err != nil {
				files = filesOfSnapshot(st, files)
				continue // the repository as a whole: the next change may mend it
			}
			previous := st
			st = built
			fresh, err := Restore(snapshot.New(s.Revision, files), live, st.Homes())
			if err != nil {
				t.Fatal(err)
			}
			for i := range o.Components {
				request := Request{View: Components, Hub: fleettest.Hub, Group: fleettest.Group, Component: fleettest.Component(i)}
				switch i {
				case 0:
					request.Component = ""
				case 1:
					request = Request{View: Members, Hub: fleettest.Hub}
				}
				if r.IntN(4) == 0 {
					continue // not asked in every state
				}
				key, _ := request.key()
				if st.answers.before[key] != nil {
					said++
				}
				got, gotErr := st.Told(request)
				want, wantErr := fresh.Told(request)
				if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
					t.Fatalf("seed %d, step %d: %v; computed anew: %v", seed, step, gotErr, wantErr)
				}
				if gotErr != nil {
					continue
				}
				computed++
				if !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Fatalf("seed %d, step %d: the answer differs from one that is computed anew:\n%s\n%s", seed, step, got.Bytes(), want.Bytes())
				}
				if got.Len() != len(want.Bytes()) || got.Sets() != want.Sets() || got.Fingerprint() != want.Fingerprint() {
					t.Fatalf("seed %d, step %d: %d bytes, %d sets, computed anew %d, %d", seed, step, got.Len(), got.Sets(), want.Len(), want.Sets())
				}
				var written bytes.Buffer
				if n, err := got.WriteTo(&written); err != nil || n != int64(written.Len()) || !bytes.Equal(written.Bytes(), want.Bytes()) {
					t.Fatalf("seed %d, step %d: otherwise written: %v", seed, step, err)
				}
				if fmt.Sprint(got.Subjects()) != fmt.Sprint(want.Subjects()) {
					t.Fatalf("seed %d, step %d: subjects %v, computed anew %v", seed, step, got.Subjects(), want.Subjects())
				}
				if subjects, err := fresh.Subjects(request); err != nil || fmt.Sprint(subjects) != fmt.Sprint(want.Subjects()) {
					t.Fatalf("seed %d, step %d: subjects alone %v, of the answer %v: %v", seed, step, subjects, want.Subjects(), err)
				}
				if previous == nil {
					continue
				}
				before, beforeErr := previous.Told(request)
				was, is, err := Both(previous, st, request)
				if (err == nil) != (beforeErr == nil) || err == nil && (!bytes.Equal(was.Bytes(), before.Bytes()) || !bytes.Equal(is.Bytes(), want.Bytes())) {
					t.Fatalf("seed %d, step %d: both answers are not those of each state: %v, %v", seed, step, err, beforeErr)
				}
			}
		}
		if said < computed/4 {
			t.Errorf("seed %d: %d of %d answers had one of before: the test does not test much", seed, said, computed)
		}
	}
}

// filesOfSnapshot are the files that a state was built from, or those given when there is none.
func filesOfSnapshot(st *State, files map[string]*snapshot.File) map[string]*snapshot.File {
	if st == nil {
		return files
	}
	out := map[string]*snapshot.File{}
	for _, p := range st.resolver.Snapshot.Paths() {
		out[p] = st.resolver.Snapshot.File(p)
	}
	return out
}

// TestOnlyWhatChangedIsComputed: after a commit of one cluster's file, an answer computes that cluster's sets alone.
func TestOnlyWhatChangedIsComputed(t *testing.T) {
	t.Parallel()
	o := fleettest.Options{Clusters: 20, Components: 3, Tenants: 2, Overrides: 1, Seed: 1}
	contents := fleettest.Files(o)
	request := Request{View: Components, Hub: fleettest.Hub, Group: fleettest.Group, Component: fleettest.Component(0)}
	file := fmt.Sprintf("addons/tenants/%s/clusters/%s/%s/%s/values.yaml", o.Tenant(0), fleettest.Cluster(0), fleettest.Group, fleettest.Component(0))
	st, err := Build(nil, snapshot.FromMap(contents), facts.Set{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := st.Told(request)
	if err != nil {
		t.Fatal(err)
	}
	contents[file] += "more: 1\n"
	next, err := Build(st, snapshot.FromMap(contents), facts.Set{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := next.Told(request)
	if err != nil {
		t.Fatal(err)
	}
	was := map[*said]bool{}
	for _, p := range before.parts {
		for _, s := range p.said {
			was[s] = true
		}
	}
	anew := 0
	for _, p := range after.parts {
		for _, s := range p.said {
			if !was[s] {
				anew++
			}
		}
	}
	if anew != 1 {
		t.Errorf("%d clusters are computed anew, want 1", anew)
	}
	if n := before.Sets(); n != o.Clusters+1 && n != o.Clusters {
		t.Errorf("%d sets", n)
	}
}
