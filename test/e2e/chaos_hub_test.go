package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/test/accidents"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

const (
	// askAgain is an annotation that has an ApplicationSet ask, as any does that changes. The one
	// that Argo CD has for it is taken off by the controller, which is one more request to the API
	// server each time.
	askAgain = "argosy.dev/campaign"

	// moves is how long an Application may be gone that another ApplicationSet takes over: that one
	// is refreshed when the Application is gone, and not before.
	moves = 30 * time.Second

	look = 10 * time.Millisecond // between two looks at another process
)

// chaosHub is the hub that accidents happen to (accidents.Hub).
//
//  1. A round has ApplicationSets ask the service after it has decided about a commit, and ends
//     when all have been answered and the controller has nothing left to do. Then the API server is
//     asked for the Applications. Those are made to ask whose response changed since they asked
//     last; after every fourth commit all are, so that nothing rests on that alone.
//  2. An Application is lost when it is gone, or is another (by its UID) of the same
//     ApplicationSet, or is marked to go with what it runs. It has moved when it is there again, of
//     another ApplicationSet.
//  3. The application controller stands still, so that an accident takes no minute. What it would
//     do is done for it to Applications that accidents have brought about: it takes the finalizer
//     off. What should exist keeps its finalizer.
type chaosHub struct {
	ctx     context.Context
	e       *environment
	repo    *accidents.Repository
	witness *witness
	dice    *rand.Rand // for what happens besides the campaign's own
	sets    []string   // ApplicationSets

	should  map[string]bool
	apps    map[string]chaosApp // as they were last
	refused int
	pushed  string

	commits, rounds, moved, midway, controllers int
}

// chaosApp is what of an Application says whether it is the same and whether it stays.
type chaosApp struct {
	uid      types.UID
	owner    string // ApplicationSet
	cascade  bool   // what it runs goes with it
	deleting bool
}

// Crash kills the service with SIGKILL and starts it again, as a kubelet does: with the volumes
// that it had.
func (h *chaosHub) Crash() error {
	if err := h.e.Plugin.Process.Kill(); err != nil {
		return err
	}
	return h.e.Plugin.Process.Restart(h.ctx)
}

// Consider pushes a commit, once, and waits until the service has decided about it. Now and then
// the service is killed while it reads, or Argo CD's controller while it asks.
func (h *chaosHub) Consider(commit string, nothing bool) error {
	if h.pushed != commit {
		if _, err := h.repo.Git("push", "-q", "--force", "origin", "HEAD:main"); err != nil {
			return err
		}
		h.pushed = commit
		h.commits++
		if h.dice.IntN(12) == 0 {
			h.midway++
			if err := h.Crash(); err != nil {
				return err
			}
		}
		if h.dice.IntN(40) == 0 {
			h.controllers++
			if err := errors.Join(h.e.ArgoCD.ApplicationSets.Kill(), h.e.ArgoCD.ApplicationSets.Restart(h.ctx)); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithTimeout(h.ctx, patience)
	defer cancel()
	pushed := false
	for {
		if !pushed {
			pushed = h.e.Plugin.Pushed(ctx) == nil
		}
		said, err := get(ctx, h.e.Plugin.URL+"/readyz")
		if err == nil && pushed {
			if decided, err := accidents.Decided(said, commit, nothing); decided || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("commit %s is not considered within %s: %s", commit, patience, said), err)
		case <-time.After(look):
		}
	}
}

// Hang has the Git server hang while the service reads from it (accidents.Hanger).
func (h *chaosHub) Hang(meanwhile func() error) error {
	ctx, cancel := context.WithTimeout(h.ctx, patience)
	defer cancel()
	began, end := h.e.Git.Hang()
	defer end()
	if err := h.e.Plugin.Pushed(ctx); err != nil {
		return err
	}
	select {
	case <-began:
		return meanwhile()
	case <-ctx.Done():
		return fmt.Errorf("the service does not read from the Git server within %s of a webhook", patience)
	}
}

// Reconcile has all ask until nothing follows any more.
func (h *chaosHub) Reconcile() ([]accidents.Loss, error) {
	var lost []accidents.Loss
	gone := map[string]chaosApp{} // what may have moved
	first := true
	for deadline := time.Now().Add(moves); ; first = false {
		before := h.apps
		if err := h.round(first && h.commits%4 == 0); err != nil {
			return nil, err
		}
		lost = append(lost, h.compare(before, gone)...)
		waiting := slices.ContainsFunc(slices.Collect(maps.Keys(gone)), func(name string) bool { return h.should[name] && !ofRelease(gone[name].owner) })
		if late := time.Now().After(deadline); late || !waiting && reflect.DeepEqual(before, h.apps) {
			break
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		lost = append(lost, lossOf(name, gone[name], "deleted"))
	}
	return lost, nil
}

// Refused is how many ApplicationSets were not answered in the last round.
func (h *chaosHub) Refused() int { return h.refused }

// Applications are the names of those that are there and stay, sorted.
func (h *chaosHub) Applications() ([]string, error) {
	var out []string
	for name, app := range h.apps {
		if !app.deleting {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// compare gives what was lost between two rounds; what is gone, and may be taken over by another,
// is kept in gone (rule 2).
func (h *chaosHub) compare(before, gone map[string]chaosApp) []accidents.Loss {
	var lost []accidents.Loss
	for name, was := range before {
		now, there := h.apps[name]
		switch {
		case !there:
			if !was.deleting { // else it has been reported
				gone[name] = was
			}
		case now.deleting && !was.deleting:
			lost = append(lost, lossOf(name, was, "deleted with what it runs"))
		case now.uid != was.uid && now.owner == was.owner:
			lost = append(lost, lossOf(name, was, "deleted and made anew"))
		case now.uid != was.uid:
			h.moved++
		case now.cascade && !was.cascade:
			lost = append(lost, lossOf(name, was, "marked for deletion with what it runs"))
		}
	}
	for name, was := range gone {
		now, there := h.apps[name]
		switch {
		case !there:
			continue
		case now.owner == was.owner:
			lost = append(lost, lossOf(name, was, "deleted and made anew"))
		default:
			h.moved++
		}
		delete(gone, name)
	}
	return lost
}

func lossOf(name string, was chaosApp, how string) accidents.Loss {
	return accidents.Loss{Application: name, Owner: was.owner, How: how, OfRelease: ofRelease(was.owner)}
}

// ofRelease tells the ApplicationSets of releases from those that releases bring: the bootstrap
// calls them as their groups.
func ofRelease(set string) bool { return slices.Contains(groups, set) }

// round has ApplicationSets ask once, all of them or those whose response changed, and looks at
// what is there then (rule 1).
func (h *chaosHub) round(all bool) error {
	h.rounds++
	ctx, cancel := context.WithTimeout(h.ctx, patience)
	defer cancel()
	began := time.Now()
	sets, others, err := h.witness.differing(h.sets, func(question []byte) (int, []byte, error) { return h.put(ctx, question) })
	if err != nil {
		return err
	}
	if all {
		sets, others = h.sets, 0
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, askAgain, began.Format(time.RFC3339Nano))
	if err := together(sets, func(name string) error {
		_, err := h.e.Kube.Dynamic.Resource(kube.ApplicationSets).Namespace(hub.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}); err != nil {
		return err
	}
	for {
		next := h.witness.next()
		pending, refused := h.witness.since(began, sets)
		if h.refused = others + refused; len(pending) == 0 {
			break
		}
		select {
		case <-next:
		case <-ctx.Done():
			return fmt.Errorf("these have not asked within %s: %s", patience, strings.Join(pending, ", "))
		}
	}
	if err := h.idle(ctx); err != nil {
		return err
	}
	return h.list(ctx)
}

// put asks the service as Argo CD does, without the witness.
func (h *chaosHub) put(ctx context.Context, question []byte) (int, []byte, error) {
	token, err := h.e.Plugin.Token()
	if err != nil {
		return 0, nil, err
	}
	return post(ctx, h.e.Plugin.URL, token, bytes.NewReader(question))
}

// idle waits until the ApplicationSet controller works on nothing and has nothing waiting.
func (h *chaosHub) idle(ctx context.Context) error {
	for {
		text, err := get(ctx, h.e.ArgoCD.SetsMetrics)
		if err == nil {
			var busy float64
			if busy, err = busyness(text); err == nil && busy == 0 {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the ApplicationSet controller is busy for more than %s", patience), err)
		case <-time.After(look):
		}
	}
}

// busyness is how many ApplicationSets the controller works on or has waiting, by
// controller-runtime's metrics.
func busyness(metrics []byte) (float64, error) {
	found, sum := map[string]bool{}, 0.0
	for line := range bytes.Lines(metrics) {
		name, rest, _ := strings.Cut(string(line), "{")
		if name != "workqueue_depth" && name != "controller_runtime_active_workers" || !strings.Contains(rest, `="applicationset"`) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndex(rest, "}")+1:]), 64)
		if err != nil {
			return 0, fmt.Errorf("metrics of the ApplicationSet controller: %w", err)
		}
		found[name], sum = true, sum+value
	}
	if len(found) < 2 {
		return 0, fmt.Errorf("metrics of the ApplicationSet controller: expected workqueue_depth and controller_runtime_active_workers, found %v", found)
	}
	return sum, nil
}

// list takes down what Applications there are, and lets those go that are to be deleted and should
// not exist (rule 3).
func (h *chaosHub) list(ctx context.Context) error {
	all, err := h.e.Kube.List(ctx, kube.Applications, hub.Namespace, "")
	if err != nil {
		return err
	}
	h.apps = map[string]chaosApp{}
	for name, o := range all {
		app := chaosApp{uid: o.GetUID(), cascade: len(o.GetFinalizers()) > 0, deleting: o.GetDeletionTimestamp() != nil}
		if owner := metav1.GetControllerOf(o); owner != nil {
			app.owner = owner.Name
		}
		h.apps[name] = app
		if app.deleting && !h.should[name] {
			_, err := h.e.Kube.Dynamic.Resource(kube.Applications).Namespace(hub.Namespace).
				Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
