package memo

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// stackKey is a file in a stack of folders, and what its layers are merged onto.
type stackKey struct {
	stack *hierarchy.StackID
	file  string
	onto  *hierarchy.Tree
	scope string // as in treeKey
}

// stackValues are the merged values, and what reading the files costs.
type stackValues struct {
	tree    *hierarchy.Tree
	charged *budget.Account
	isPlain bool
}

// File is a file to merge in each folder of a stack.
type File struct {
	Path  string
	Rules hierarchy.Rules
	Scope string // the component that the rules concern
}

// MergeStack merges a file's layers of all folders onto a tree, nil for none, as Merge does with
// the layers of hierarchy.Resolve, and charges the account for them as Resolve does. It reports
// false, and charges nothing, where only Resolve knows (Stack.With, Stack.Layer), or where the
// account's limit is exceeded.
//
// What clusters have in common of a component is found in one step, not folder by folder. With what
// the caller no longer makes for each component, a cold resolve of 1,000 clusters takes 23 to 31 %
// less (0.36 instead of 0.51 s, three times nine rounds beside other work).
func (m *Memo) MergeStack(onto *hierarchy.Tree, s *hierarchy.Stack, f File, documents *hierarchy.Cache, account *budget.Account) (*hierarchy.Tree, bool) {
	if len(f.Rules) == 0 {
		f.Scope = ""
	}
	v := m.ofStack(onto, s, f, documents)
	if !v.isPlain || v.charged != nil && !account.Add(v.charged) {
		return nil, false
	}
	return v.tree, true
}

// ofStack is MergeStack, remembered for folders that several clusters share.
func (m *Memo) ofStack(onto *hierarchy.Tree, s *hierarchy.Stack, f File, documents *hierarchy.Cache) stackValues {
	s, isPlain := s.With(f.Path)
	switch {
	case s == nil:
		return stackValues{tree: onto, isPlain: isPlain}
	case !s.IsShared():
		return m.onStack(onto, s, f, documents)
	}
	v, _ := Remember(&m.mu, m.stacks, stackKey{s.ID(), f.Path, onto, f.Scope}, func() (stackValues, error) {
		m.spend(2 * costNode)
		return m.onStack(onto, s, f, documents), nil
	})
	return v
}

// onStack merges the layer of the last folder onto those of the folders below.
func (m *Memo) onStack(onto *hierarchy.Tree, s *hierarchy.Stack, f File, documents *hierarchy.Cache) stackValues {
	v := m.ofStack(onto, s.Below(), f, documents)
	if !v.isPlain {
		return stackValues{}
	}
	l, cost, ok := s.Layer(f.Path, documents)
	if !ok {
		return stackValues{}
	}
	out := stackValues{tree: m.with(v.tree, l, f.Rules, f.Scope), charged: budget.NewAccount(""), isPlain: true}
	if v.charged != nil {
		*out.charged = *v.charged
	}
	_ = out.charged.Charge(problem.Pos{File: l.Path}, cost) // the sum is judged where it is added
	return out
}
