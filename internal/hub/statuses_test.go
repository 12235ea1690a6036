package hub

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// argo writes an Application that Argo CD shows with a status. Its values are not for us.
func (a *api) argo(name, sync, health, revision string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	spec := map[string]any{"source": map[string]any{"helm": map[string]any{"values": password}}}
	status := map[string]any{"sync": map[string]string{"status": sync, "revision": revision}, "health": map[string]string{"status": health}}
	a.set("applications", thing{app(name, nil, "cluster=one"), spec, status})
	a.changed.Broadcast()
}

// reported is an Application with a status.
func reported(sync, health string) *object {
	o := &object{ObjectMeta: app("dns-one", nil, "cluster=one")}
	o.Status.Sync.Status, o.Status.Health.Status = sync, health
	return o
}

// Statuses come from the facts' watch. An API server that fails is silence, in which no health
// counts, and a missing permission is none. (P1)
func TestStatuses(t *testing.T) {
	t.Parallel() // client-go waits between attempts
	a := newAPI(t)
	a.argo("dns-one", "Synced", "Healthy", "1.0.0")
	a.argo("dns-two", "OutOfSync", "Degraded", "0.9.0")
	h, states := running(t, a)
	s := h.Statuses()
	health := func(name string, isHealthy, isDegraded bool) func(State) bool {
		return func(s State) bool {
			f, known := s.Facts.Application(name)
			return known && f.Healthy == isHealthy && f.Degraded == isDegraded
		}
	}
	await(t, states, "the first list", func(s State) bool { return health("dns-one", true, false)(s) && health("dns-two", false, true)(s) })
	if two, ok := s.Of("dns-two"); !ok || two != (Status{Version: "0.9.0", Sync: "OutOfSync", Health: "Degraded"}) {
		t.Errorf("the change was not seen: %+v", two)
	}
	before := s.Version()
	a.argo("dns-two", "Synced", "Healthy", "1.0.0")
	await(t, states, "the change", health("dns-two", true, false))
	two, _ := s.Of("dns-two")
	if time.Since(two.Since) > time.Hour || s.Version() == before {
		t.Errorf("changed at %s, version %d after %d", two.Since, s.Version(), before)
	}
	a.removeFrom("applications", "dns-one")
	await(t, states, "the end", func(s State) bool { return len(s.Facts.ApplicationsOf("one")) == 1 })
	if _, ok := s.Of("dns-one"); ok {
		t.Error("it has a status, and has gone")
	}
	if _, err := s.Silent(); err != nil {
		t.Error(err)
	}
	a.failFor(http.StatusInternalServerError, "applications")
	a.hangUp(false)
	await(t, states, "silence", func(s State) bool { return s.Err != nil && health("dns-two", false, false)(s) })
	if since, err := s.Silent(); err == nil || since.IsZero() {
		t.Errorf("silent since %s: %v", since, err)
	}
	a.failFor(0, "applications")
	await(t, states, "recovery", func(s State) bool { return s.Err == nil && health("dns-two", true, false)(s) })

	a = newAPI(t)
	a.failFor(http.StatusForbidden, "applications")
	h, states = running(t, a)
	await(t, states, "what may be known", synced)
	if _, err := h.Statuses().Silent(); err != nil {
		t.Errorf("a missing permission is silence: %v", err)
	}
}

// Nothing of an Application's values is stored, and none is logged, even of one that cannot be
// decoded.
func TestValuesAreNeitherStoredNorLogged(t *testing.T) {
	t.Parallel()
	a, log := newAPI(t), &logs{}
	a.argo("dns-one", "Synced", "Healthy", "1.0.0")
	h, err := New(Options{Config: a.config(), Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	require.NoError(t, err)
	states := start(t, h)
	await(t, states, "the first list", synced)
	a.mu.Lock()
	a.set("applications", thing{app("bad", nil, "cluster=one"), map[string]any{"source": password}, password})
	a.mu.Unlock()
	a.hangUp(false)
	await(t, states, "the error", func(s State) bool { return s.Err != nil })
	for o := range h.applications.objects() {
		if len(o.fact.Digest+o.fact.Group) > 0 || o.flux != nil {
			t.Errorf("stored %+v", o)
		}
	}
	if text := log.String(); !strings.Contains(text, "cannot be used") || strings.Contains(text, password) {
		t.Errorf("logged %s", text)
	}
}

// The statuses of each of Flux's kinds become Argo CD's words.
func TestStatusOfFlux(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, ready, message string
		want                 Status
	}{
		{"HelmRelease", "True", "Helm upgrade succeeded for release dns/dns.v2 with chart external-dns@1.20.0", Status{Version: "1.20.0", Sync: "Synced", Health: "Healthy"}},
		{"HelmRelease", "False", "install retries exhausted", Status{Sync: "OutOfSync", Health: "Degraded"}},
		{"Kustomization", "Unknown", "Reconciliation in progress", Status{Sync: "OutOfSync", Health: "Progressing"}},
	} {
		o := &object{}
		o.Status.Conditions = []condition{{Type: "Stalled", Status: "True"}, {Type: "Ready", Status: c.ready, Message: c.message}}
		assert.Equal(t, c.want, reduceFlux(c.kind, o, nil, time.Time{}).status.Value(), "%v", c)
	}
}

// TestHealthCountsAfterTheDigest: a status that Argo CD wrote before the ApplicationSet controller
// wrote the digest is about what was there before. One of the same second counts only where it was
// seen to be written after the digest. (P1)
func TestHealthCountsAfterTheDigest(t *testing.T) {
	t.Parallel()
	const (
		digest = `{"f:metadata":{"f:annotations":{"f:argosy.dev/digest":{}}},"f:spec":{}}`
		status = `{"f:status":{"f:reconciledAt":{},"f:sync":{"f:status":{}}}}`
		// syncing is what the application controller owns while there is a sync.
		syncing = `{"f:operation":{".":{},"f:sync":{}},"f:status":{"f:reconciledAt":{}}}`
		synced  = `{"f:status":{"f:operationState":{".":{},"f:operation":{"f:sync":{}},"f:phase":{}},"f:reconciledAt":{}}}`
		both    = `{"f:metadata":{"f:annotations":{"f:argosy.dev/digest":{}}},"f:status":{"f:reconciledAt":{}}}`
		// made is what the ApplicationSet controller owns that has made the Application.
		made = `{"f:metadata":{"f:annotations":{"f:argosy.dev/digest":{}}},"f:spec":{},"f:status":{".":{},"f:health":{},"f:summary":{}}}`
	)
	at := func(second int, fields string) metav1.ManagedFieldsEntry {
		when := metav1.Unix(int64(second), 0)
		return metav1.ManagedFieldsEntry{Time: &when, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}}
	}
	for name, c := range map[string]struct {
		fields  []metav1.ManagedFieldsEntry
		want    bool
		earlier [][]metav1.ManagedFieldsEntry // what was seen of it before
	}{
		"before":          {fields: []metav1.ManagedFieldsEntry{at(5, status), at(6, digest)}},
		"the same second": {fields: []metav1.ManagedFieldsEntry{at(6, status), at(6, digest)}},
		"after":           {fields: []metav1.ManagedFieldsEntry{at(7, status), at(6, digest)}, want: true},
		"no status":       {fields: []metav1.ManagedFieldsEntry{at(6, digest)}},
		"before, with an empty status of its maker": {fields: []metav1.ManagedFieldsEntry{at(5, status), at(6, made)}},
		"after, with an empty status of its maker":  {fields: []metav1.ManagedFieldsEntry{at(7, status), at(6, made)}, want: true},
		"made, and nobody has looked":               {fields: []metav1.ManagedFieldsEntry{at(6, made)}},
		"a sync begins, and the status is older":    {fields: []metav1.ManagedFieldsEntry{at(7, syncing), at(6, digest)}},
		"a sync has ended":                          {fields: []metav1.ManagedFieldsEntry{at(7, synced), at(6, digest)}, want: true},
		"no digest":                                 {fields: []metav1.ManagedFieldsEntry{at(5, status)}, want: true},
		"one manager":                               {fields: []metav1.ManagedFieldsEntry{at(6, both)}, want: true},
		"nothing is known":                          {want: true},
		"the same second, seen in order": {
			earlier: [][]metav1.ManagedFieldsEntry{{at(5, status), at(6, digest)}},
			fields:  []metav1.ManagedFieldsEntry{at(6, status), at(6, digest)}, want: true,
		},
		"the same second, seen in order, and a sync begins": {
			earlier: [][]metav1.ManagedFieldsEntry{{at(5, status), at(6, digest)}},
			fields:  []metav1.ManagedFieldsEntry{at(6, syncing), at(6, digest)},
		},
		"the same second, seen in order over a sync": {
			earlier: [][]metav1.ManagedFieldsEntry{{at(5, status), at(6, digest)}, {at(6, syncing), at(6, digest)}},
			fields:  []metav1.ManagedFieldsEntry{at(6, synced), at(6, digest)}, want: true,
		},
		"the same second, and an earlier digest was seen": {
			earlier: [][]metav1.ManagedFieldsEntry{{at(4, status), at(5, digest)}},
			fields:  []metav1.ManagedFieldsEntry{at(6, status), at(6, digest)},
		},
		"the same second, and the digest came after the status": {
			earlier: [][]metav1.ManagedFieldsEntry{{at(6, status), at(5, digest)}},
			fields:  []metav1.ManagedFieldsEntry{at(6, status), at(6, digest)},
		},
	} {
		var was *live
		var got live
		for _, fields := range append(c.earlier, c.fields) {
			o := reported("Synced", "Healthy")
			o.ManagedFields = fields
			if slices.ContainsFunc(fields, func(e metav1.ManagedFieldsEntry) bool { return string(e.FieldsV1.Raw) == syncing }) {
				o.Operation = &struct{}{}
			}
			got = reduceApplication(o, was, time.Now())
			was = &got
		}
		assert.Equal(t, c.want, got.fact.Healthy, "%s", name)
	}
}

// TestShortFlapIsAFact: an Application that was degraded for a moment, between two looks at the
// facts, is healthy again, and says when it was not. One that is created again starts again. (G8)
func TestShortFlapIsAFact(t *testing.T) {
	t.Parallel()
	f, err := followApplications(Options{Config: &rest.Config{}})
	require.NoError(t, err)
	receive(f, *reported("Synced", "Healthy"))
	look := func() facts.Application {
		all, _ := readApplications(f.objects(), true, time.Now())
		return all[0]
	}
	if a := look(); !a.Healthy || a.Broken != 0 {
		t.Errorf("at first: %+v", a)
	}
	receive(f, *reported("Synced", "Degraded"))
	receive(f, *reported("Synced", "Healthy"))
	if a := look(); !a.Healthy || time.Since(time.UnixMilli(a.Broken)) > time.Hour {
		t.Errorf("after a flap: %+v", a)
	}
	receive(f, *reported("OutOfSync", "Healthy"))
	broke := look()
	if broke.Healthy {
		t.Errorf("out of sync: %+v", broke)
	}
	relist(f, *reported("OutOfSync", "Healthy")) // after an outage
	if a := look(); a != broke {
		t.Errorf("after an outage without a change: %+v, want %+v", a, broke)
	}
	relist(f, *reported("Synced", "Healthy"))
	status, _ := (&Statuses{[]*follower[live]{f}}).Of("dns-one")
	if a := look(); !a.Healthy || a.Broken < broke.Broken || time.Since(status.Since) > time.Hour {
		t.Errorf("recovered in an outage: %+v, %+v", a, status)
	}
	another := *reported("Synced", "Healthy")
	another.UID = "another"
	relist(f, another)
	if a := look(); !a.Healthy || a.Broken != 0 {
		t.Errorf("created again: %+v", a)
	}
}
