package hierarchy

import (
	"sync/atomic"

	"github.com/argosy-hub/argosy/internal/budget"
)

// Stack is a list of folders, least specific first. Clusters whose first folders are the same share
// the Stack of these folders, so that layers are merged once for all of them.
type Stack struct {
	below    *Stack // the folders before the last, nil for none
	folder   Folder
	id       *StackID
	isShared atomic.Bool
}

// StackID identifies a Stack in a cache, without holding its folders in memory.
type StackID struct{ _ int }

// stackKey is the key by which a Stack is found.
type stackKey struct {
	below  *Stack
	dir    Dir
	folder *indexed
}

// Stack returns the Stack of folders that Folders has found, nil for none.
func (x *Index) Stack(folders []Folder) *Stack {
	x.shared.mu.Lock()
	defer x.shared.mu.Unlock()
	var top *Stack
	for i, f := range folders {
		key := stackKey{top, f.Dir, f.indexed}
		known := x.shared.stacks[key]
		switch {
		case known == nil:
			if len(x.shared.stacks) >= x.shared.stackLimit || x.shared.stale > x.s.Len()+indexSlack {
				x.trimStacks()
			}
			known = &Stack{below: top, folder: f, id: &StackID{}}
			x.shared.stacks[key] = known
		case i == len(folders)-1:
			known.isShared.Store(true)
		}
		if i < len(folders)-1 {
			known.isShared.Store(true)
		}
		top = known
	}
	return top
}

// trimStacks forgets the stacks of folders that have other files now. The caller holds the lock.
func (x *Index) trimStacks() {
	isKnown := func(s *Stack) bool {
		for ; s != nil; s = s.below {
			if x.shared.in[s.folder.Path] != s.folder.indexed {
				return false
			}
		}
		return true
	}
	for key, s := range x.shared.stacks {
		if !isKnown(s) {
			delete(x.shared.stacks, key)
		}
	}
	x.shared.stackLimit, x.shared.stale = 2*len(x.shared.stacks)+indexSlack, 0
}

// Below returns the stack of the folders before the last, nil for none.
func (s *Stack) Below() *Stack { return s.below }

// ID returns the Stack's ID.
func (s *Stack) ID() *StackID { return s.id }

// IsShared reports whether several stacks or clusters have the folders.
func (s *Stack) IsShared() bool { return s.isShared.Load() }

// With returns the stack up to its most specific folder that has a file at a path, nil if none has.
// It reports false where only Resolve can decide: the file's place cannot be read, has a template,
// or is required and has no file.
func (s *Stack) With(file string) (*Stack, bool) {
	if IsTemplate(file) { // the layout names the template itself
		return nil, false
	}
	for ; s != nil; s = s.below {
		f := s.folder
		switch {
		case len(f.broken) > 0, f.templates && f.files[file+TemplateSuffix] != nil:
			return nil, false
		case f.files[file] != nil:
			return s, true
		case f.Required:
			return nil, false
		}
	}
	return nil, true
}

// Layer returns the layer of the file in the last folder, and the cost of reading it, both as
// Resolve has them. It reports false for a file with problems that Resolve reports.
func (s *Stack) Layer(file string, cache *Cache) (Layer, budget.Cost, bool) {
	f := s.folder.files[file]
	doc, err := cache.read(f)
	l := Layer{Level: s.folder.Level, Path: f.Path, Nodes: doc.nodes}
	if err != nil {
		return l, budget.Cost{}, false
	}
	l.Root = doc.doc.Root
	_, bad := NotMap(l)
	return l, doc.cost(), !bad
}
