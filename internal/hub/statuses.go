package hub

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// Status is what an engine reports about one Application, HelmRelease or Kustomization.
type Status struct {
	Version, Sync, Health string
	// Since is when a change of these was last seen, in seconds; zero for never.
	Since time.Time
}

// Statuses watches the columns that kubectl prints of the engines' objects.
type Statuses struct{ all []*statusTable }

// statusTable watches the columns of one resource. It keeps only the status, and each distinct
// status once.
type statusTable struct {
	// follower records the results of requests. Its changed is also called when an object becomes
	// healthy or stops being healthy.
	follower
	client   *rest.RESTClient
	resource schema.GroupVersionResource
	read     func(cells map[string]string) Status
	requests context.Context //nolint:containedctx // list and watch functions of client-go have none

	rows    sync.RWMutex // guards what follows; the follower has its own lock
	columns []string
	byName  map[string]seen
	changes uint64
	awaited map[string]uint64
	shared  map[Status]*Status
	synced  bool
}

// seen is the status of an object at a version, and when it was seen to change: seconds since 1970,
// or 0. broken is when it was last seen unhealthy, in milliseconds.
type seen struct {
	*Status
	version uint64
	since   int64
	broken  int64
}

// health is the part of a status that is about health.
type health struct {
	isHealthy, isDegraded bool
	broken                int64 // facts.Application.Broken
}

// isHealthy reports whether the engine has nothing left to do.
func (s *Status) isHealthy() bool { return s != nil && s.Sync == "Synced" && s.Health == "Healthy" }

// isDegraded reports whether the engine reports the object as degraded.
func (s *Status) isDegraded() bool { return s != nil && s.Health == "Degraded" }

// NewApplicationStatuses watches Argo CD's Applications.
func NewApplicationStatuses(o Options) (*Statuses, error) {
	t, err := newStatusTable(o, applications, clusterLabel, applicationStatus)
	return &Statuses{[]*statusTable{t}}, err
}

// NewFluxStatuses watches Flux's HelmReleases and Kustomizations.
func NewFluxStatuses(o Options) (*Statuses, error) {
	releases, err := newStatusTable(o, helmReleases, facts.OwnerLabel, helmReleaseStatus)
	folders, failed := newStatusTable(o, kustomizations, facts.OwnerLabel, kustomizationStatus)
	return &Statuses{[]*statusTable{releases, folders}}, errors.Join(err, failed)
}

func newStatusTable(o Options, of schema.GroupVersionResource, selector string, read func(map[string]string) Status) (*statusTable, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	t := &statusTable{resource: of, read: read, byName: map[string]seen{}, awaited: map[string]uint64{}, shared: map[Status]*Status{}}
	t.followed = followed{
		what: "status of " + of.Resource, permission: "list and watch on " + of.GroupResource().String(),
		namespace: o.Namespace, selector: selector, changed: func() {}, log: o.Log,
	}
	config := named(o.Config)
	config.GroupVersion, config.APIPath = &schema.GroupVersion{Group: of.Group, Version: of.Version}, "/apis"
	config.ContentType, config.AcceptContentTypes = "application/json", tableType
	config.NegotiatedSerializer = metainternalversionscheme.Codecs.WithoutConversion()
	var err error
	t.client, err = rest.RESTClientFor(config)
	t.requests, t.stop = context.WithCancel(context.Background())
	return t, err
}

// Run watches until the context ends. It may be called once.
func (s *Statuses) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, t := range s.all {
		wg.Go(func() { t.run(ctx) })
	}
}

// Of returns the status of the Application or Flux object of a name; false for none.
func (s *Statuses) Of(name string) (Status, bool) {
	for _, t := range s.all {
		t.rows.RLock()
		found := t.byName[name]
		t.rows.RUnlock()
		if found.Status != nil {
			s := *found.Status
			if found.since > 0 {
				s.Since = time.Unix(found.since, 0)
			}
			return s, true
		}
	}
	return Status{}, false
}

// Version returns a number that changes with any status.
func (s *Statuses) Version() (out uint64) {
	for _, t := range s.all {
		t.rows.RLock()
		out += t.changes
		t.rows.RUnlock()
	}
	return out
}

// Silent returns why the API server does not report statuses now, and since when; nil if it does. A
// missing permission or resource does not count.
func (s *Statuses) Silent() (since time.Time, err error) {
	for _, t := range s.all {
		t.rows.RLock()
		synced := t.synced
		t.rows.RUnlock()
		t.mu.Lock()
		since, err, denied := t.since, t.err, t.denied
		t.mu.Unlock()
		if err != nil && (synced || !denied) {
			return since, err
		}
	}
	return time.Time{}, nil
}

// healthAt returns an object's health at a version, or at a later one. The table and the metadata
// arrive separately: if the table is older, the health is not current, and changed is called when
// it is.
func (t *statusTable) healthAt(name, version string) (now health, isCurrent bool) {
	at, err := strconv.ParseUint(version, 10, 64)
	_, failed := t.failure()
	t.rows.Lock()
	defer t.rows.Unlock()
	found := t.byName[name]
	now.broken = found.broken
	if err != nil || failed != nil {
		return now, true
	}
	if found.version < at {
		t.awaited[name] = at
		return now, false
	}
	now.isHealthy, now.isDegraded = found.isHealthy(), found.isDegraded()
	return now, true
}

// isReady reports whether the first list is complete or has failed. After a failure nothing is
// healthy.
func (t *statusTable) isReady() bool {
	_, failed := t.failure()
	t.rows.RLock()
	defer t.rows.RUnlock()
	return t.synced || failed != nil
}

// run watches until the context ends.
func (t *statusTable) run(ctx context.Context) {
	defer context.AfterFunc(ctx, t.stop)()
	r := cache.NewReflectorWithOptions(&cache.ListWatch{ListFunc: t.list, WatchFunc: t.watch}, &metav1.PartialObjectMetadata{}, statusStore{t}, cache.ReflectorOptions{Name: t.what})
	r.WatchListPageSize = 500 // a list of all at once takes memory that is never returned
	r.Run(ctx.Done())
}

func (t *statusTable) request(o metav1.ListOptions) *rest.Request {
	o.LabelSelector, o.AllowWatchBookmarks = t.selector, false // a bookmark is not a table
	return t.client.Get().Namespace(t.namespace).Resource(t.resource.Resource).
		SpecificallyVersionedParams(&o, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).Param("includeObject", string(metav1.IncludeNone))
}

func (t *statusTable) list(o metav1.ListOptions) (runtime.Object, error) {
	table := &metav1.Table{}
	err := t.request(o).Do(t.requests).Into(table)
	if t.report(err); err != nil {
		return nil, err
	}
	t.learn(table)
	out := &metav1.PartialObjectMetadataList{ListMeta: table.ListMeta}
	for i := range table.Rows {
		out.Items = append(out.Items, *t.object(&table.Rows[i], table.ResourceVersion))
	}
	return out, nil
}

func (t *statusTable) watch(o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	w, err := t.request(o).Watch(t.requests)
	if t.report(err); err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		if table, is := e.Object.(*metav1.Table); is {
			t.learn(table)
			if len(table.Rows) != 1 {
				return e, false
			}
			e.Object = t.object(&table.Rows[0], table.ResourceVersion)
		}
		return e, true
	}), nil
}

// learn stores the names of the columns, which only the first table of a watch has.
func (t *statusTable) learn(table *metav1.Table) {
	if len(table.ColumnDefinitions) == 0 {
		return
	}
	t.rows.Lock()
	defer t.rows.Unlock()
	t.columns = t.columns[:0]
	for _, c := range table.ColumnDefinitions {
		t.columns = append(t.columns, c.Name)
	}
}

// object returns a row as an object, with its columns as annotations.
func (t *statusTable) object(row *metav1.TableRow, version string) *metav1.PartialObjectMetadata {
	t.rows.RLock()
	defer t.rows.RUnlock()
	cells := map[string]string{}
	for i, c := range row.Cells {
		if text, is := c.(string); is && i < len(t.columns) {
			cells[t.columns[i]] = text
		}
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: cells["Name"], Namespace: t.namespace, ResourceVersion: version, Annotations: cells}}
}

// applicationStatus reads the columns of an Application (argo-cd v2.14 and v3.2,
// pkg/apis/application/v1alpha1/types.go, printcolumn).
func applicationStatus(cells map[string]string) Status {
	return Status{Version: cells["Revision"], Sync: cells["Sync Status"], Health: cells["Health Status"]}
}

// helmReleaseStatus reads the columns of a HelmRelease (helm-controller v1.4,
// api/v2/helmrelease_types.go): the message of Ready ends in CHART@VERSION.
func helmReleaseStatus(cells map[string]string) Status {
	s := readiness(cells)
	for word := range strings.FieldsSeq(cells["Status"]) {
		if _, version, ok := strings.Cut(word, "@"); ok {
			s.Version = version
		}
	}
	return s
}

// kustomizationStatus reads the columns of a Kustomization.
func kustomizationStatus(cells map[string]string) Status { return readiness(cells) }

func readiness(cells map[string]string) Status {
	switch cells["Ready"] {
	case "True":
		return Status{Sync: "Synced", Health: "Healthy"}
	case "False":
		return Status{Sync: "OutOfSync", Health: "Degraded"}
	}
	return Status{Sync: "OutOfSync", Health: "Progressing"}
}

// statusStore is a statusTable as a store of client-go.
type statusStore struct{ *statusTable }

func (s statusStore) put(o any) {
	m, is := o.(*metav1.PartialObjectMetadata)
	if !is || m.Name == "" {
		return
	}
	status := s.read(m.Annotations)
	shared := s.shared[status]
	if shared == nil {
		if len(s.shared) > maxStatuses { // statuses of versions that no longer exist
			clear(s.shared)
		}
		status.Version, status.Sync, status.Health = strings.Clone(status.Version), strings.Clone(status.Sync), strings.Clone(status.Health)
		shared = &status
		s.shared[status] = shared
	}
	version, _ := strconv.ParseUint(m.ResourceVersion, 10, 64)
	awaited, is := s.awaited[m.Name]
	was := s.byName[m.Name]
	if was.isHealthy() != shared.isHealthy() || was.isDegraded() != shared.isDegraded() || is && version >= awaited {
		delete(s.awaited, m.Name)
		s.changed()
	}
	since, broken := was.since, was.broken
	if was.Status != nil && was.isHealthy() != shared.isHealthy() { // each event counts, not only the last
		broken = time.Now().UnixMilli()
	}
	if was.Status == nil || *was.Status != *shared {
		s.changes++
		if since = 0; s.synced { // the first list shows no change
			since = time.Now().Unix()
		}
	}
	s.byName[m.Name] = seen{shared, version, since, broken}
}

// maxStatuses bounds the distinct statuses that are kept.
const maxStatuses = 10_000

// Add stores a status.
func (s statusStore) Add(o any) error {
	s.rows.Lock()
	defer s.rows.Unlock()
	s.put(o)
	return nil
}

// Update stores a status.
func (s statusStore) Update(o any) error { return s.Add(o) }

// Delete removes a status.
func (s statusStore) Delete(o any) error {
	if m, is := o.(*metav1.PartialObjectMetadata); is {
		s.rows.Lock()
		defer s.rows.Unlock()
		delete(s.byName, m.Name)
		s.changes++
		delete(s.awaited, m.Name)
	}
	return nil
}

// Replace replaces all statuses.
func (s statusStore) Replace(all []any, _ string) error {
	s.rows.Lock()
	defer s.rows.Unlock()
	before := s.byName
	s.byName = make(map[string]seen, len(all))
	s.changes++
	clear(s.awaited)
	for _, o := range all {
		if m, is := o.(*metav1.PartialObjectMetadata); is {
			if old, known := before[m.Name]; known {
				s.byName[m.Name] = old
			}
		}
		s.put(o)
	}
	s.synced = true
	s.changed()
	return nil
}

// Resync does nothing: the store has no backend.
func (statusStore) Resync() error { return nil }

// List, ListKeys, Get and GetByKey are for indexers: a reflector does not call them.
func (statusStore) List() []any                        { return nil }
func (statusStore) ListKeys() []string                 { return nil }
func (statusStore) Get(any) (any, bool, error)         { return nil, false, nil }
func (statusStore) GetByKey(string) (any, bool, error) { return nil, false, nil }
