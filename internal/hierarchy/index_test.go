package hierarchy

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// TestIndexOfSuccessiveSnapshots: what indexes share is what an index of the snapshot alone finds,
// whichever of them is asked, in any order.
func TestIndexOfSuccessiveSnapshots(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 7))
	dirs := []Dir{{Path: "."}, {Path: "a"}, {Path: "a/b"}, {Path: "c"}, {Path: "none"}}
	files := map[string]*snapshot.File{}
	var snapshots []*snapshot.Snapshot
	var indexes []*Index
	for step := range 200 {
		files = maps.Clone(files)
		p := []string{"x", "a/x", "a/b/x", "a/b/y", "c/x", "ab/x"}[r.IntN(6)]
		if files[p] = snapshot.NewFile(p, fmt.Append(nil, step), 100); r.IntN(3) == 0 {
			delete(files, p)
		}
		s := snapshot.New(fmt.Sprint(step), files)
		next := NewIndex(s)
		if len(indexes) > 0 {
			next = indexes[r.IntN(len(indexes))].Next(s)
		}
		snapshots, indexes = append(snapshots, s), append(indexes, next)
		i := r.IntN(len(indexes))
		d := dirs[r.IntN(len(dirs))]
		got, want := indexes[i].Folders([]Dir{d})[0].files, NewIndex(snapshots[i]).Folders([]Dir{d})[0].files
		if !maps.Equal(got, want) {
			t.Fatalf("step %d, folder %s: %v, want %v", step, d.Path, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
}

// TestIndexForgetsWhatIsGone: a service that runs for months keeps no folders of clusters that are
// no more.
func TestIndexForgetsWhatIsGone(t *testing.T) {
	t.Parallel()
	x := NewIndex(snapshot.FromMap(nil))
	for step := range 4 * indexSlack {
		dir := fmt.Sprint("clusters/", step)
		x = x.Next(snapshot.FromMap(map[string]string{"defaults/x": "1", dir + "/x": "2"}))
		if got := x.Folders([]Dir{{Path: "defaults"}, {Path: dir}}); len(got[0].files) != 1 || len(got[1].files) != 1 {
			t.Fatal(step, got)
		}
	}
	if n := len(x.shared.in); n > 2*indexSlack {
		t.Errorf("%d folders are known, of which two are there", n)
	}
}

// TestStacksForgetWhatIsGone: nor does it keep stacks of folders with files that are no more.
func TestStacksForgetWhatIsGone(t *testing.T) {
	t.Parallel()
	x := NewIndex(snapshot.FromMap(nil))
	for step := range 4 * indexSlack {
		dir := fmt.Sprint("clusters/", step%3)
		x = x.Next(snapshot.FromMap(map[string]string{"defaults/x": fmt.Sprint(step / 2), dir + "/x": fmt.Sprint(step)}))
		folders := x.Folders([]Dir{{Path: "defaults"}, {Path: dir}})
		s := x.Stack(folders)
		if s != x.Stack(folders) || !s.Below().IsShared() || s.Below() != x.Stack(folders[:1]) {
			t.Fatal(step)
		}
	}
	if n := len(x.shared.stacks); n > 2*indexSlack {
		t.Errorf("%d stacks are known, of which two are there", n)
	}
}

// TestStacksHoldNoFilesOfEarlierSnapshots: of a large folder that changes again and again, stacks
// hold no more earlier states in memory than the snapshot has files.
func TestStacksHoldNoFilesOfEarlierSnapshots(t *testing.T) {
	t.Parallel()
	const files = 2 * indexSlack
	contents := map[string]string{"small/x": "1"}
	for i := range files {
		contents[fmt.Sprint("large/", i)] = "1"
	}
	x := NewIndex(snapshot.FromMap(contents))
	for step := range 10 {
		contents["large/0"] = fmt.Sprint(step)
		x = x.Next(snapshot.FromMap(contents))
		x.Stack(x.Folders([]Dir{{Path: "large"}, {Path: "small"}}))
		held := 0
		for key := range x.shared.stacks {
			held += len(key.folder.list)
		}
		if held > 3*files+indexSlack+10 {
			t.Fatalf("step %d: %d files are held, and the snapshot has %d", step, held, files)
		}
	}
}
