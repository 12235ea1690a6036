package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// tables answers as an API server does that is asked for columns without objects (apiextensions
// v0.31, tableconvertor.go): the first table has the definitions, and each has a resource version.
type tables struct {
	t      *testing.T
	mu     sync.Mutex
	code   int
	events chan string // rows of the watch, as "TYPE name sync health revision"
}

func (a *tables) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Accept") != tableType || r.URL.Query().Get("includeObject") != "None" || r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications") {
		a.t.Errorf("a request for more than columns: %s %s, Accept %s", r.Method, r.URL, r.Header.Get("Accept"))
	}
	a.mu.Lock()
	code := a.code
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	table := func(version string, definitions bool, rows ...string) map[string]any {
		out := map[string]any{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": map[string]any{"resourceVersion": version}}
		if definitions {
			var all []map[string]any
			for _, name := range []string{"Name", "Sync Status", "Health Status", "Revision", "Project"} {
				all = append(all, map[string]any{"name": name, "type": "string"})
			}
			out["columnDefinitions"] = all
		}
		var cells []map[string]any
		for _, row := range rows {
			var values []any
			for v := range strings.FieldsSeq(row) {
				values = append(values, v)
			}
			cells = append(cells, map[string]any{"cells": append(values, nil), "object": nil})
		}
		out["rows"] = cells
		return out
	}
	switch {
	case code != 0:
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q}`, code, map[int]string{403: "Forbidden"}[code])
	case r.URL.Query().Get("watch") == "":
		_ = json.NewEncoder(w).Encode(table("5", true, "dns-one Synced Healthy 1.0.0", "dns-two OutOfSync Degraded 0.9.0"))
	default:
		w.(http.Flusher).Flush()
		for n := 6; ; n++ {
			select {
			case <-r.Context().Done():
				return
			case row, open := <-a.events:
				if !open {
					return
				}
				kind, rest, _ := strings.Cut(row, " ")
				_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": table(fmt.Sprint(n), n == 6, rest)})
				w.(http.Flusher).Flush()
			}
		}
	}
}

// Statuses are followed by their columns alone; an API server that fails is silence, and a missing
// permission is none.
func TestStatusesAreColumns(t *testing.T) {
	a := &tables{t: t, events: make(chan string, 10)}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := NewApplicationStatuses(Options{Config: &rest.Config{Host: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("never %s", what)
			}
		}
	}
	has := func(name string, want Status) func() bool {
		return func() bool {
			got, ok := s.Of(name)
			got.Since = time.Time{}
			return got == want && ok == (want != Status{})
		}
	}
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	until("listed", has("dns-two", Status{Version: "0.9.0", Sync: "OutOfSync", Health: "Degraded"}))
	until("listed", has("dns-one", Status{Version: "1.0.0", Sync: "Synced", Health: "Healthy"}))
	if listed, _ := s.Of("dns-two"); !listed.Since.IsZero() {
		t.Errorf("nobody saw it change, and it has been so since %s", listed.Since)
	}
	before := s.Version()
	a.events <- "MODIFIED dns-two Synced Healthy 1.0.0"
	until("changed", has("dns-two", Status{Version: "1.0.0", Sync: "Synced", Health: "Healthy"}))
	if changed, _ := s.Of("dns-two"); time.Since(changed.Since) > time.Hour || s.Version() == before {
		t.Errorf("changed at %s, version %d after %d", changed.Since, s.Version(), before)
	}
	a.events <- "DELETED dns-one Synced Healthy 1.0.0"
	until("deleted", has("dns-one", Status{}))
	if _, err := s.Silent(); err != nil {
		t.Error(err)
	}
	a.mu.Lock()
	a.code = http.StatusInternalServerError
	a.mu.Unlock()
	close(a.events)
	until("silent", func() bool { since, err := s.Silent(); return err != nil && !since.IsZero() })
	cancel()
	<-done

	a.code = http.StatusForbidden
	refused, err := NewApplicationStatuses(Options{Config: &rest.Config{Host: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); refused.Run(ctx) }()
	until("denied", func() bool { denied, _ := refused.all[0].failure(); return denied })
	if _, err := refused.Silent(); err != nil {
		t.Errorf("a missing permission is silence: %v", err)
	}
	cancel()
	<-ended
}

// The columns of each engine's objects become the same words.
func TestStatusOfColumns(t *testing.T) {
	for _, c := range []struct {
		read  func(map[string]string) Status
		cells map[string]string
		want  Status
	}{
		{applicationStatus, map[string]string{"Sync Status": "Synced", "Health Status": "Healthy", "Revision": "1.2.3"}, Status{Version: "1.2.3", Sync: "Synced", Health: "Healthy"}},
		{helmReleaseStatus, map[string]string{"Ready": "True", "Status": "Helm upgrade succeeded for release dns/dns.v2 with chart external-dns@1.20.0"}, Status{Version: "1.20.0", Sync: "Synced", Health: "Healthy"}},
		{helmReleaseStatus, map[string]string{"Ready": "False", "Status": "install retries exhausted"}, Status{Version: "", Sync: "OutOfSync", Health: "Degraded"}},
		{kustomizationStatus, map[string]string{"Ready": "Unknown", "Status": "Reconciliation in progress"}, Status{Version: "", Sync: "OutOfSync", Health: "Progressing"}},
	} {
		if got := c.read(c.cells); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.cells, got, c.want)
		}
	}
}

// TestHealthCountsAfterTheDigest: a status that Argo CD wrote before the ApplicationSet controller
// wrote the digest is about what was there before. One of the same second counts only where it was
// seen to be written after the digest. (P1)
func TestHealthCountsAfterTheDigest(t *testing.T) {
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
		var writes digestWrites
		for _, fields := range c.earlier {
			writes.isLookedAt(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "a", ManagedFields: fields}})
		}
		writes.isLookedAt(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "b", ManagedFields: []metav1.ManagedFieldsEntry{at(5, status), at(6, digest)}}})
		if got := writes.isLookedAt(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "a", ManagedFields: c.fields}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// healthy reports whether an object is healthy at a version.
func healthy(t *statusTable, name, version string) bool {
	now, isCurrent := t.healthAt(name, version)
	return now.isHealthy && isCurrent
}

// TestShortFlapIsAFact: an Application that was degraded for a moment, between two looks at the
// facts, is healthy again, and says when it was not. One whose status is behind its metadata stays
// what it was at its digest. (G8)
func TestShortFlapIsAFact(t *testing.T) {
	table := &statusTable{read: applicationStatus, follower: follower{followed: followed{changed: func() {}}}, byName: map[string]seen{}, awaited: map[string]uint64{}, shared: map[Status]*Status{}}
	row := func(version, sync, health string) {
		cells := map[string]string{"Sync Status": sync, "Health Status": health}
		if err := (statusStore{table}).Add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "dns-one", ResourceVersion: version, Annotations: cells}}); err != nil {
			t.Fatal(err)
		}
	}
	before := facts.Set{}
	read := func(version, digest string) facts.Application {
		m := app("dns-one", nil, "cluster=one")
		m.ResourceVersion, m.Annotations = version, map[string]string{facts.DigestAnnotation: digest, lookedAt: "true"}
		before = before.WithApplications(readApplications([]any{&metav1.PartialObjectMetadata{ObjectMeta: m}}, table.healthAt, before)...)
		a, _ := before.Application("dns-one")
		return a
	}
	row("5", "Synced", "Healthy")
	if a := read("5", "d1"); !a.Healthy || a.Broken != 0 {
		t.Errorf("at first: %+v", a)
	}
	row("6", "Synced", "Degraded")
	row("7", "Synced", "Healthy")
	flapped := read("7", "d1")
	if !flapped.Healthy || time.Since(time.UnixMilli(flapped.Broken)) > time.Hour {
		t.Errorf("after a flap: %+v", flapped)
	}
	if a := read("9", "d1"); a != flapped {
		t.Errorf("Argo CD has written its status, and the columns are behind: %+v, want %+v", a, flapped)
	}
	if a := read("9", "d2"); a.Healthy {
		t.Errorf("a status that is older than another digest counts: %+v", a)
	}
	row("9", "OutOfSync", "Healthy")
	if a := read("9", "d2"); a.Healthy {
		t.Errorf("out of sync: %+v", a)
	}
}

// TestHealthOfAnOlderVersionDoesNotCount: the columns that are behind the metadata are waited for.
// (P1)
func TestHealthOfAnOlderVersionDoesNotCount(t *testing.T) {
	moved := 0
	table := &statusTable{read: applicationStatus, follower: follower{followed: followed{changed: func() { moved++ }}}, byName: map[string]seen{}, awaited: map[string]uint64{}, shared: map[Status]*Status{}}
	row := func(version, health string) {
		cells := map[string]string{"Name": "dns-one", "Sync Status": "Synced", "Health Status": health}
		if err := (statusStore{table}).Add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "dns-one", ResourceVersion: version, Annotations: cells}}); err != nil {
			t.Fatal(err)
		}
	}
	row("5", "Healthy")
	if moved != 1 || !healthy(table, "dns-one", "5") || healthy(table, "dns-one", "7") {
		t.Fatalf("at 5: %d", moved)
	}
	row("6", "Healthy") // is not what is waited for
	if moved != 1 || healthy(table, "dns-one", "7") {
		t.Fatalf("at 6: %d", moved)
	}
	row("7", "Healthy")
	if moved != 2 || !healthy(table, "dns-one", "7") {
		t.Fatalf("at 7: %d", moved)
	}
	row("8", "Progressing")
	if moved != 3 || healthy(table, "dns-one", "7") || healthy(table, "dns-two", "1") {
		t.Fatalf("at 8: %d", moved)
	}
	table.err = errors.New("away")
	if row("9", "Healthy"); healthy(table, "dns-one", "9") {
		t.Error("it counts while the API server is silent")
	}
}
