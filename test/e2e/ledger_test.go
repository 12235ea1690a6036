package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// change is something that happened to an object that the ledger watches.
type change struct {
	at      time.Time
	cluster string // the hub, or a spoke
	kind    string // Application, ConfigMap, Deployment, ...
	name    string
	what    string // added, deleted, changed; of an Application also unsynced
}

func (c change) String() string {
	return fmt.Sprintf("%s: %s %s %s", c.cluster, c.kind, c.name, c.what)
}

// ledger remembers everything that happened on the hub and the spokes to what counts: Applications,
// ApplicationSets and cluster Secrets there, and what they deploy here. A flow marks a moment,
// acts, and afterwards says what may have happened since: anything else is a failure.
type ledger struct {
	mu      sync.Mutex
	changes []change
	known   map[key]entry
	changed chan struct{} // closed at the next change of anything, also of a status
	looks   []func(map[key]entry)
}

type key struct{ cluster, kind, namespace, name string }

// entry is an object as it was seen last.
type entry struct {
	object *unstructured.Unstructured
	digest string // of what its owner wants, without status
}

func newLedger() *ledger { return &ledger{known: map[key]entry{}, changed: make(chan struct{})} }

// watch adds a cluster's objects of some kinds, in all namespaces, and returns when all that is
// there has been seen. Watches survive a restart of the API server.
func (l *ledger) watch(ctx context.Context, t testing.TB, cluster string, client *kube.Client, selector func(*unstructured.Unstructured) bool, resources ...schema.GroupVersionResource) {
	t.Helper()
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client.Dynamic, 0)
	for _, r := range resources {
		keep := func(o any) (*unstructured.Unstructured, bool) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			u, ok := o.(*unstructured.Unstructured)
			return u, ok && selector(u)
		}
		_, err := factory.ForResource(r).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) {
				if u, ok := keep(o); ok {
					l.saw(cluster, u)
				}
			},
			UpdateFunc: func(_, o any) {
				if u, ok := keep(o); ok {
					l.saw(cluster, u)
				}
			},
			DeleteFunc: func(o any) {
				if u, ok := keep(o); ok {
					l.lost(cluster, u)
				}
			},
		})
		must(t, err)
	}
	factory.Start(ctx.Done())
	for r, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			t.Fatalf("%s: %s cannot be watched", cluster, r)
		}
	}
}

func keyOf(cluster string, u *unstructured.Unstructured) key {
	return key{cluster, u.GetKind(), u.GetNamespace(), u.GetName()}
}

// digest is of what an object's owner says about it. An Application's operation and status are Argo
// CD's own.
func digest(u *unstructured.Unstructured) string {
	wanted := map[string]any{"labels": u.GetLabels(), "finalizers": u.GetFinalizers()}
	for field, value := range u.Object {
		if field != "metadata" && field != "status" && field != "operation" {
			wanted[field] = value
		}
	}
	if u.GetKind() == "ApplicationSet" { // whose controller writes it with what is empty added or left out
		wanted = kube.Substance(wanted).(map[string]any)
	}
	text, err := json.Marshal(wanted)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (l *ledger) saw(cluster string, u *unstructured.Unstructured) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, now := keyOf(cluster, u), entry{u, digest(u)}
	before, was := l.known[k]
	l.known[k] = now
	switch {
	case !was:
		l.note(k, "added")
	case before.object.GetUID() != u.GetUID():
		l.note(k, "deleted")
		l.note(k, "added")
	case before.digest != now.digest:
		l.note(k, "changed")
	}
	if was && strings.HasPrefix(state(before.object), "Synced/") && strings.HasPrefix(state(u), "OutOfSync/") {
		l.note(k, "unsynced")
	}
	l.tell()
}

func (l *ledger) lost(cluster string, u *unstructured.Unstructured) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := keyOf(cluster, u)
	delete(l.known, k)
	l.note(k, "deleted")
	l.tell()
}

func (l *ledger) note(k key, what string) {
	l.changes = append(l.changes, change{time.Now(), k.cluster, k.kind, k.name, what})
}

// always has what is there looked at after each change.
func (l *ledger) always(look func(map[key]entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks = append(l.looks, look)
}

func (l *ledger) tell() {
	for _, look := range l.looks {
		look(l.known)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// next is closed when something happens after the call.
func (l *ledger) next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// mark is a moment to ask about later.
func (l *ledger) mark() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.changes)
}

// since is what happened after a mark, each kind of change to an object once.
func (l *ledger) since(mark int) []change {
	return l.those(mark, func(c change) bool { return c.what != "unsynced" })
}

// unsynced are the Applications that were synced and became out of sync after a mark: by a change
// of theirs, or because what they made was changed by somebody else.
func (l *ledger) unsynced(mark int) []change {
	return l.those(mark, func(c change) bool { return c.what == "unsynced" })
}

func (l *ledger) those(mark int, keep func(change) bool) []change {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []change
	for _, c := range l.changes[mark:] {
		if keep(c) && !slices.ContainsFunc(out, func(o change) bool { return o.String() == c.String() }) {
			out = append(out, c)
		}
	}
	return out
}

// last is when the last change was.
func (l *ledger) last() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.changes) == 0 {
		return time.Time{}
	}
	return l.changes[len(l.changes)-1].at
}

// get is an object as it was seen last, nil when there is none.
func (l *ledger) get(cluster, kind, name string) *unstructured.Unstructured {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, e := range l.known {
		if k.cluster == cluster && k.kind == kind && k.name == name {
			return e.object
		}
	}
	return nil
}

// all are the objects of a kind on a cluster, by name.
func (l *ledger) all(cluster, kind string) map[string]*unstructured.Unstructured {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]*unstructured.Unstructured{}
	for k, e := range l.known {
		if k.cluster == cluster && k.kind == kind {
			out[k.name] = e.object
		}
	}
	return out
}

// uids are those of all objects of a cluster, by kind, namespace and name.
func (l *ledger) uids(cluster string) map[string]types.UID {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]types.UID{}
	for k, e := range l.known {
		if k.cluster == cluster {
			out[strings.Join([]string{k.kind, k.namespace, k.name}, "/")] = e.object.GetUID()
		}
	}
	return out
}

// lines are changes, one a line.
func lines(changes []change) string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = "  " + c.at.Format("15:04:05.0 ") + c.String()
	}
	return strings.Join(out, "\n")
}

// notRecreated fails where an object of a cluster has gone, or has been made anew, since its UIDs
// were taken.
func (e *environment) notRecreated(t *testing.T, cluster string, before map[string]types.UID) {
	t.Helper()
	now := e.ledger.uids(cluster)
	for object, uid := range before {
		if now[object] != uid {
			t.Errorf("%s: %s was recreated or deleted: its UID was %s and is %q", cluster, object, uid, now[object])
		}
	}
}
