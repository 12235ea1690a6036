package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// write writes the specs of the new owner, without automated sync.
func (h *handover) write() (actions []Action, waits []string) {
	for _, m := range h.untaken() {
		spec := withoutAutomated(m.spec)
		mark := manifest.Digest(spec)
		app := h.Applications[m.to]
		switch {
		case app == nil:
			metadata := manifest.Copy(m.metadata)
			annotations := manifest.Copy(metadata["annotations"])
			annotations[markAnnotation] = mark
			metadata["name"], metadata["namespace"], metadata["annotations"] = m.to, manifest.Text(h.record.Old, "metadata", "namespace"), annotations
			actions = append(actions, Action{verbCreate, kindApplication, Tree{"apiVersion": apiVersion, "kind": kindApplication, "metadata": metadata, "spec": spec}})
		case isDeleting(app):
			waits = append(waits, fmt.Sprintf("Application %q is being deleted", m.to))
		case ownerOf(app) != "":
			waits = append(waits, fmt.Sprintf("Application %q has an owner: %s", m.to, ownerName(app)))
		case manifest.Text(app, "metadata", "annotations", markAnnotation) != mark:
			out := withAnnotation(app, markAnnotation, mark)
			out["spec"] = spec
			actions = append(actions, Action{verbUpdate, kindApplication, out})
		}
	}
	return actions, waits
}

// compare waits until Argo CD has compared the written Applications and found the same objects.
func (h *handover) compare() (_ []Action, waits []string) {
	for _, m := range h.untaken() {
		if text := h.differs(m); text != "" {
			waits = append(waits, fmt.Sprintf("Application %q %s", m.to, text))
		}
	}
	return nil, waits
}

// differs says how an Application of the new owner differs from the old one.
func (h *handover) differs(m moved) string {
	app := h.Applications[m.to]
	if !isCompared(app) {
		return "has not been compared" + problems(app)
	}
	objects, pruned := objectsOf(app)
	var missing, more []string
	for _, o := range m.objects {
		if !slices.Contains(objects, o) {
			missing = append(missing, o)
		}
	}
	if m.from != m.to { // under the same name, these were to be pruned before
		objects = append(objects, pruned...)
	}
	for _, o := range objects {
		if !slices.Contains(m.objects, o) {
			more = append(more, o)
		}
	}
	switch sync := manifest.Text(app, "status", "sync", "status"); {
	case len(missing) > 0:
		return "lacks " + some(missing)
	case len(more) > 0:
		return "would also have " + some(more)
	case m.from == m.to && m.synced && sync != synced:
		return fmt.Sprintf("is %s with the new spec: %s", sync, some(outOfSync(app)))
	}
	return ""
}

// take lets the new ApplicationSets take over the Applications.
func (h *handover) take() (actions []Action, waits []string) {
	for _, t := range h.takers {
		set := h.Sets[t.name()]
		switch {
		case set == nil && t.isWhole:
			actions = append(actions, Action{verbCreate, kindApplicationSet, t.manifest})
		case set == nil:
			actions = append(actions, Action{verbCreate, kindApplicationSet, staged(t.manifest, t.names)})
		case t.isWhole:
			out := withFinalizers(set, finalizers(t.manifest))
			if out["spec"] = t.manifest["spec"]; !same(out, set) {
				actions = append(actions, Action{verbUpdate, kindApplicationSet, out})
			}
		case slices.Contains(finalizers(set), finalizer): // an undo has held it
			out := withFinalizers(set, finalizers(t.manifest))
			if out["spec"] = t.manifest["spec"]; isStaged(set) {
				out["spec"] = selecting(t.manifest["spec"], Names(set))
			}
			actions = append(actions, Action{verbUpdate, kindApplicationSet, out})
		case isStaged(set):
			names := slices.Concat(Names(set), t.names)
			slices.Sort(names)
			if names = slices.Compact(names); len(names) > len(Names(set)) {
				actions = append(actions, Action{verbUpdate, kindApplicationSet, restaged(set, t.manifest, names)})
			}
		}
	}
	if len(actions) > 0 {
		return actions, nil
	}
	for _, m := range h.untaken() {
		waits = append(waits, fmt.Sprintf("ApplicationSet %q does not take over Application %q%s", m.taker, m.to, because(h.Sets[m.taker])))
	}
	return nil, waits
}

// sync waits until the new Applications have synced, which changes only tracking ids. An
// ApplicationSet that ignores differences of its Applications does not restore the automated sync
// that pause removed.
func (h *handover) sync() (actions []Action, waits []string) {
	for _, m := range h.apps {
		app := h.Applications[m.to]
		isAutomated := manifest.IsAutomated(Tree{"spec": m.spec})
		isPaused := isAutomated && !manifest.IsAutomated(app) && !h.isStepped(m.taker)
		switch {
		case isPaused && manifest.At(h.Sets[m.taker], "spec", "ignoreApplicationDifferences") != nil: // it may leave it so
			out := manifest.Copy(app)
			out["spec"] = m.spec
			actions = append(actions, Action{verbUpdate, kindApplication, out})
		case isPaused:
			waits = append(waits, fmt.Sprintf("Application %q has not got its automated sync", m.to))
		case !isCompared(app):
			waits = append(waits, fmt.Sprintf("Application %q has not been compared%s", m.to, problems(app)))
		case isAutomated && m.synced && manifest.Text(app, "status", "sync", "status") != synced:
			waits = append(waits, fmt.Sprintf("Application %q is not synced: %s%s", m.to, some(outOfSync(app)), problems(app)))
		}
	}
	return actions, waits
}

// isStepped reports whether an ApplicationSet syncs in steps, without the Applications' own policy.
func (h *handover) isStepped(set string) bool {
	return manifest.Text(h.Sets[set], "spec", "strategy", "type") == "RollingSync"
}

// delete deletes Applications that have another name now, once they have no owner and no finalizer
// that deletes workloads.
func (h *handover) delete() (actions []Action, waits []string) {
	for _, m := range h.apps {
		app := h.Applications[m.from]
		switch {
		case m.from == m.to || app == nil:
		case isDeleting(app):
			waits = append(waits, fmt.Sprintf("Application %q is being deleted; its finalizers are %s", m.from, strings.Join(finalizers(app), ", ")))
		case ownerOf(app) != "":
			waits = append(waits, fmt.Sprintf("Application %q has an owner again: %s", m.from, ownerName(app)))
		case len(finalizers(app)) > len(harmless(app)):
			actions = append(actions, Action{verbUpdate, kindApplication, paused(app)})
		default:
			actions = append(actions, Action{verbDelete, kindApplication, app})
		}
	}
	return actions, waits
}

// finish removes the selectors of ApplicationSets that have all of their Applications, and closes
// the record.
func (h *handover) finish() (actions []Action, _ []string) {
	if h.record.Undo {
		return []Action{{Verb: verbForget, Kind: kindRecord}}, nil
	}
	for _, s := range h.record.New {
		set := h.Sets[nameOf(s.Manifest)]
		names := Names(set)
		if isStaged(set) && !slices.ContainsFunc(s.All, func(name string) bool { return !slices.Contains(names, name) }) {
			out := manifest.Copy(set)
			metadata := manifest.Copy(out["metadata"])
			annotations := manifest.Copy(metadata["annotations"])
			delete(annotations, markAnnotation)
			metadata["annotations"], out["metadata"], out["spec"] = annotations, metadata, s.Manifest["spec"]
			actions = append(actions, Action{verbUpdate, kindApplicationSet, out})
		}
	}
	if len(actions) == 0 && !h.record.Done {
		actions = []Action{{Verb: verbRecord, Kind: kindRecord}}
	}
	return actions, nil
}

// some lists the first of many.
func some(all []string) string {
	const most = 3
	if len(all) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}
