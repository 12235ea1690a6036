package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// The kinds that a handover reads and writes.
const (
	kindApplication    = "Application"
	kindApplicationSet = "ApplicationSet"
	kindRecord         = "ConfigMap"
)

// Verbs of actions.
const (
	verbCreate = "create"
	verbUpdate = "update" // of the version that Object has
	verbDelete = "delete" // of the version that Object has; its dependents stay
	verbRecord = "record" // write the record
	verbForget = "forget" // delete the record
)

// Action is one write.
type Action struct {
	Verb, Kind string
	Object     Tree
}

// Step is the next thing to do or to wait for. A step without both is the end.
type Step struct {
	Name    string
	Actions []Action
	Waits   []string
}

// IsEnd reports whether there is nothing left.
func (s Step) IsEnd() bool { return len(s.Actions)+len(s.Waits) == 0 }

// Observed is the state of the cluster: objects by name.
type Observed struct{ Sets, Applications map[string]Tree }

// The steps of a handover, in their order.
const (
	stepBury     = "bury"
	stepAnnounce = "announce"
	stepHold     = "hold"
	stepOrphan   = "orphan"
	stepPause    = "pause"
	stepWrite    = "write"
	stepCompare  = "compare"
	stepTake     = "take"
	stepSync     = "sync"
	stepDelete   = "delete"
	stepFinish   = "finish"
)

// Next returns the first step that is not done.
func Next(r *Record, o Observed) Step {
	h := handoverOf(r, o)
	for _, s := range []struct {
		name string
		do   func() ([]Action, []string)
	}{
		{stepBury, h.bury},
		{stepAnnounce, h.announce},
		{stepHold, h.hold},
		{stepOrphan, h.orphan},
		{stepPause, h.pause},
		{stepWrite, h.write},
		{stepCompare, h.compare},
		{stepTake, h.take},
		{stepSync, h.sync},
		{stepDelete, h.delete},
		{stepFinish, h.finish},
	} {
		if actions, waits := s.do(); len(actions)+len(waits) > 0 {
			return Step{Name: s.name, Actions: actions, Waits: waits}
		}
	}
	return Step{}
}

// handover is a record in its direction, with the state of the cluster.
type handover struct {
	Observed
	record *Record
	givers []string // names of the ApplicationSets that give
	takers []taker
	apps   []moved
}

// taker is an ApplicationSet that gets Applications: the Applications of the names, or all.
type taker struct {
	manifest Tree
	names    []string
	isWhole  bool
}

func (t taker) name() string { return nameOf(t.manifest) }

// moved is an Application in the direction of the handover.
type moved struct {
	from, to, taker string
	spec, metadata  Tree
	synced          bool
	objects         []string
}

func handoverOf(r *Record, o Observed) *handover {
	h := &handover{Observed: o, record: r}
	if r.Undo {
		for _, s := range r.New {
			h.givers = append(h.givers, nameOf(s.Manifest))
			if len(s.Rest) > 0 {
				h.takers = append(h.takers, taker{s.Manifest, s.Rest, false})
			}
		}
		h.takers = append(h.takers, taker{r.Old, nil, true})
		for _, p := range r.Applications {
			h.apps = append(h.apps, moved{p.New, p.Old, r.Name(), p.OldSpec, p.OldMetadata, p.Synced, p.Objects})
		}
		return h
	}
	h.givers = []string{r.Name()}
	for _, s := range r.New {
		t := taker{manifest: s.Manifest, names: slices.Clone(s.Rest)} // the rest: an undo may have been running
		for _, p := range r.Applications {
			if p.Set == t.name() {
				t.names = append(t.names, p.New)
				h.apps = append(h.apps, moved{p.Old, p.New, p.Set, p.NewSpec, p.NewMetadata, p.Synced, p.Objects})
			}
		}
		h.takers = append(h.takers, t)
	}
	return h
}

// isTaken reports whether an Application's new owner has it.
func (h *handover) isTaken(m moved) bool {
	set, app := h.Sets[m.taker], h.Applications[m.to]
	return set != nil && !isDeleting(set) && app != nil && ownerOf(app) == uidOf(set)
}

// untaken returns the Applications without their new owner.
func (h *handover) untaken() []moved {
	return slices.DeleteFunc(slices.Clone(h.apps), h.isTaken)
}

// bury ends takers that an earlier run in the other direction has deleted.
func (h *handover) bury() (actions []Action, waits []string) {
	for _, t := range h.takers {
		if set := h.Sets[t.name()]; set != nil && isDeleting(set) {
			a, w := h.retire(set)
			actions, waits = append(actions, a...), append(waits, w...)
		}
	}
	return actions, waits
}

// announce creates the new ApplicationSets without any Application.
func (h *handover) announce() (actions []Action, waits []string) {
	if h.record.Undo {
		return nil, nil
	}
	for _, t := range h.takers {
		set := h.Sets[t.name()]
		switch {
		case set == nil:
			actions = append(actions, Action{verbCreate, kindApplicationSet, staged(t.manifest, nil)})
		case condition(set, "ParametersGenerated") != "True" || condition(set, "ErrorOccurred") == "True" && len(Names(set)) == 0:
			waits = append(waits, fmt.Sprintf("ApplicationSet %q has no parameters%s", t.name(), because(set)))
		}
	}
	return actions, waits
}

// hold puts Argosy's finalizer on the ApplicationSets that give, and removes the settings that
// would delete workloads.
func (h *handover) hold() (actions []Action, waits []string) {
	for _, name := range h.givers {
		set := h.Sets[name]
		if set == nil || isDeleting(set) || h.isRemade(set) {
			continue
		}
		if held := held(set); !same(held, set) {
			actions = append(actions, Action{verbUpdate, kindApplicationSet, held})
			continue
		}
		if policy := manifest.Text(set, "spec", "syncPolicy", "applicationsSync"); policy == "create-only" || policy == "create-delete" {
			continue // the controller leaves finalizers as they are; pause removes them
		}
		for _, app := range h.sorted() {
			if ownerOf(app) == uidOf(set) && len(cascading(app)) > 0 {
				waits = append(waits, fmt.Sprintf("Application %q still has a finalizer that deletes its workloads%s", nameOf(app), because(set)))
			}
		}
	}
	return actions, waits
}

// orphan deletes the ApplicationSets that give, without their Applications.
func (h *handover) orphan() (actions []Action, waits []string) {
	for _, name := range h.givers {
		switch set := h.Sets[name]; {
		case set == nil:
		case isDeleting(set):
			a, w := h.retire(set)
			actions, waits = append(actions, a...), append(waits, w...)
		case h.isRemade(set):
		default:
			actions = append(actions, Action{verbDelete, kindApplicationSet, set})
		}
	}
	return actions, waits
}

// isRemade reports whether an ApplicationSet that gives has given already, and keeps the rest.
func (h *handover) isRemade(set Tree) bool {
	names := Names(set)
	isTaker := slices.ContainsFunc(h.takers, func(t taker) bool { return t.name() == nameOf(set) })
	return isTaker && isStaged(set) && !slices.ContainsFunc(h.apps, func(m moved) bool {
		return slices.Contains(names, m.from) || ownerOf(h.Applications[m.from]) == uidOf(set)
	})
}

// retire removes the finalizer of a deleted ApplicationSet when it no longer owns anything. Argo
// CD's controller removes its own finalizer when it sees the deletion. Then no earlier
// reconciliation is running that would make the ApplicationSet an owner again.
func (h *handover) retire(set Tree) (actions []Action, waits []string) {
	all := finalizers(set)
	if slices.Contains(all, argoFinalizer) && slices.Contains(all, finalizer) {
		return nil, []string{fmt.Sprintf("Argo CD's ApplicationSet controller has not seen the deletion of ApplicationSet %q%s", nameOf(set), because(set))}
	}
	for _, app := range h.sorted() {
		if !owns(uidOf(set), app) {
			continue
		}
		out := paused(app)
		if !slices.ContainsFunc(h.apps, func(m moved) bool { return nameOf(app) == m.from || nameOf(app) == m.to }) {
			out["spec"] = app["spec"] // it stays as it is, and gets its owner back
		}
		actions = append(actions, Action{verbUpdate, kindApplication, out})
	}
	switch {
	case len(actions) > 0:
	case slices.Contains(all, finalizer):
		actions = append(actions, Action{verbUpdate, kindApplicationSet, withFinalizers(set, without(all, finalizer))})
	default:
		waits = append(waits, fmt.Sprintf("ApplicationSet %q is being deleted; its finalizers are %s", nameOf(set), strings.Join(all, ", ")))
	}
	return actions, waits
}

// pause turns off the automated sync of Applications without an owner, and removes their
// finalizers.
func (h *handover) pause() (actions []Action, waits []string) {
	for _, m := range h.untaken() {
		app := h.Applications[m.from]
		if app == nil {
			continue
		}
		if p := paused(app); !same(p, app) {
			actions = append(actions, Action{verbUpdate, kindApplication, p})
		} else if isBusy(app) {
			waits = append(waits, fmt.Sprintf("Application %q is syncing", m.from))
		}
	}
	return actions, waits
}

// sorted returns the Applications by name.
func (h *handover) sorted() []Tree { return sortedValues(h.Applications) }
