package tree

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// Endless is more than any limit allows.
const Endless = math.MaxInt64

// Weight is how much of something (entries, files, bytes) a folder has. Folders may share one
// Weight, as Git's trees with one id do: an endless folder then costs only one visit.
type Weight struct {
	own, total int64
	below      map[string]*Weight
}

// Add adds n to the folder itself.
func (w *Weight) Add(n int64) {
	w.own = plus(w.own, n)
	w.total = plus(w.total, n)
}

// Put adds a folder with a name.
func (w *Weight) Put(name string, folder *Weight) {
	if w.below == nil {
		w.below = map[string]*Weight{}
	}
	w.below[name] = folder
	w.total = plus(w.total, folder.total)
}

// AddBelow adds n to a folder below.
func (w *Weight) AddBelow(folder string, n int64) {
	for at := folder; ; {
		w.total = plus(w.total, n)
		if at == "" {
			w.own = plus(w.own, n)
			return
		}
		var name string
		name, at, _ = strings.Cut(at, "/")
		next := w.below[name]
		if next == nil {
			next = &Weight{}
			w.Put(name, next)
		}
		w = next
	}
}

// plus adds weights up to Endless.
func plus(a, b int64) int64 {
	if a > Endless-b {
		return Endless
	}
	return a + b
}

// leastShare is the part of a limit below which a folder is left out as a whole instead of in
// parts. So only few folders are left out.
const leastShare = 1000

// Excess returns the folders to leave out, so that a repository stays within a limit, and their
// weights. It divides the limit from the root down. At each folder the light parts get what they
// need, and the heavy ones equal shares of the rest. So a folder is left out for its own weight,
// never for a neighbour's. The root itself, "", means that nothing can be left out.
func (w *Weight) Excess(limit int64) map[string]int64 {
	out := map[string]int64{}
	w.share("", limit, max(1, limit/leastShare), out)
	return out
}

func (w *Weight) share(at string, limit, least int64, out map[string]int64) {
	if w.total <= limit {
		return
	}
	// The files of the folder itself are one part, its folders are the others.
	names := slices.SortedFunc(maps.Keys(w.below), func(a, b string) int {
		return cmp.Or(cmp.Compare(w.below[a].total, w.below[b].total), strings.Compare(a, b))
	})
	rest, parts := limit, int64(len(names)+1)
	own := w.own
	light := 0
	for {
		share := rest / parts
		next := int64(Endless)
		if light < len(names) {
			next = w.below[names[light]].total
		}
		switch {
		case own >= 0 && own <= next && own <= share:
			rest, parts, own = rest-own, parts-1, -1
		case next <= share:
			rest, parts, light = rest-next, parts-1, light+1
		default:
			if own >= 0 || share < least { // its own files are too many, or its folders are
				out[at] = w.total
				return
			}
			for _, name := range names[light:] {
				w.below[name].share(join(at, name), share, least, out)
			}
			return
		}
	}
}

func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

// tooHeavy returns the entries of folders that are left out, by path.
func tooHeavy(excess map[string]int64, what string, limit int64) []*snapshot.File {
	out := make([]*snapshot.File, 0, len(excess))
	for _, p := range slices.Sorted(maps.Keys(excess)) {
		actual := excess[p]
		if actual == Endless {
			actual = -1
		}
		out = append(out, snapshot.TooHeavy(p, what, actual, limit))
	}
	return out
}
