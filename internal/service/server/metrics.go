package server

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// metrics counts events; stateMetrics, below, reads the state when Prometheus scrapes.
type metrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	sizes     *prometheus.HistogramVec
	sets      *prometheus.HistogramVec
	refreshes *prometheus.CounterVec
	failures  *prometheus.CounterVec
	building  prometheus.Histogram
	notices   prometheus.Counter
	unnoticed prometheus.Counter
}

func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func newMetrics() *metrics {
	request := []string{"endpoint", "view"}
	return &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "argosy_http_requests_total", Help: "Requests by endpoint, view and status code.",
		}, []string{"endpoint", "view", "code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "argosy_http_request_duration_seconds", Help: "Time from a request's header to the end of its response.",
			Buckets: []float64{.001, .005, .025, .1, .5, 1, 5, 15, 30},
		}, request),
		sizes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "argosy_http_response_bytes", Help: "Size of responses.", Buckets: prometheus.ExponentialBuckets(1<<10, 8, 6),
		}, request),
		sets: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "argosy_parameter_sets", Help: "Parameter sets in a response.", Buckets: []float64{0, 1, 5, 10, 50, 100, 500, 1000, 5000, 10000},
		}, []string{"view"}),
		refreshes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "argosy_refreshes_total", Help: "Reconciliations of the refresher, by whether a new state is served.",
		}, []string{"swapped"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "argosy_refresh_failures_total", Help: "Refused refreshes, by cause and reason.",
		}, []string{"cause", "reason"}),
		building: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "argosy_refresh_duration_seconds", Help: "Time to build a new state.", Buckets: []float64{.005, .025, .1, .5, 1, 5, 15, 60},
		}),
		notices: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "argosy_applicationset_refreshes_total", Help: "Refreshes of ApplicationSets whose response had changed.",
		}),
		unnoticed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "argosy_applicationset_refresh_failures_total", Help: "Failed refreshes of ApplicationSets; each is retried.",
		}),
	}
}

func (m *metrics) register(r prometheus.Registerer, s *Server) error {
	for _, c := range []prometheus.Collector{m.requests, m.durations, m.sizes, m.sets, m.refreshes, m.failures, m.building, m.notices, m.unnoticed, stateMetrics{s}} {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func (m *metrics) served(n *requestInfo, rec *httpserver.Recorder, took time.Duration) {
	m.requests.WithLabelValues(n.endpoint, n.view, strconv.Itoa(rec.Code)).Inc()
	m.durations.WithLabelValues(n.endpoint, n.view).Observe(took.Seconds())
	m.sizes.WithLabelValues(n.endpoint, n.view).Observe(float64(rec.Bytes))
	if n.sets >= 0 {
		m.sets.WithLabelValues(n.view).Observe(float64(n.sets))
	}
}

func (m *metrics) refreshed(o refresh.Outcome) {
	m.refreshes.WithLabelValues(strconv.FormatBool(o.Swapped)).Inc()
	for _, r := range o.Refused {
		m.failures.WithLabelValues(string(r.Cause), r.Reason).Inc()
	}
	m.building.Observe(o.Duration.Seconds())
}

func (m *metrics) notified(err error) {
	if err != nil {
		m.unnoticed.Inc()
		return
	}
	m.notices.Inc()
}

// stateMetrics describes the served state, the removal budget and the connections.
type stateMetrics struct{ s *Server }

// Describe sends nothing: Collect says what there is.
func (stateMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the values of the metrics.
func (c stateMetrics) Collect(ch chan<- prometheus.Metric) {
	// A metric's labels are pairs of a name and a value.
	send := func(kind prometheus.ValueType, name, help string, v float64, labels ...string) {
		var names, values []string
		for pair := range slices.Chunk(labels, 2) {
			names, values = append(names, pair[0]), append(values, pair[1])
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, v, values...)
	}
	gauge := func(name, help string, v float64, labels ...string) {
		send(prometheus.GaugeValue, name, help, v, labels...)
	}
	computed, abandoned := c.s.responses.Stats()
	for name, m := range map[string]struct {
		help string
		n    int64
	}{
		"argosy_responses_computed_total":  {"Responses that were not in memory.", computed},
		"argosy_responses_abandoned_total": {"Computations of responses that ended early, because no client waited for them any more.", abandoned},
		"argosy_requests_shared_total":     {"Requests that shared the computation of an equal request.", c.s.shared.Joined.Load()},
	} {
		send(prometheus.CounterValue, name, m.help, float64(m.n))
	}
	gauge("argosy_http_connections", "Open connections.", float64(c.s.http.Connections()))
	removals := c.s.guard.Stats()
	for view, n := range removals.Refused {
		gauge("argosy_removals_refused", "Components that are held now, and queries without a response, as their removal is beyond the budget.", float64(n), "view", string(view))
	}
	gauge("argosy_removal_baselines", "Responses that are remembered to compare the next ones with.", float64(removals.Baselines))
	for failure, n := range map[string]int{"damaged": removals.Damaged, "unwritten": removals.Failures, "evicted": removals.Evicted} {
		send(prometheus.CounterValue, "argosy_removal_baseline_failures_total", "Remembered responses that were damaged, could not be written, or were given up because there were too many.", float64(n), "failure", failure)
	}
	st := c.s.refresher.Status()
	ready := 0.0
	if st.Ready() {
		ready = 1
		gauge("argosy_revision_info", "1 for the served revision.", 1, "revision", st.Revision)
		gauge("argosy_serving_since_timestamp_seconds", "When the service began to serve this revision.", seconds(st.Since))
	}
	gauge("argosy_ready", "1 while a state is served.", ready)
	gauge("argosy_refresh_last_success_timestamp_seconds", "When the source was last polled with nothing to refuse.", seconds(st.LastSuccess))
	gauge("argosy_refresh_computing_since_timestamp_seconds", "Since when a state is being computed, 0 while none is.", seconds(st.Computing))
	gauge("argosy_tokens_stale", "Tokens that differ from their files, where the last good value counts, or that have no value.", float64(len(c.s.tokens.Problems())))
	stale := map[refresh.Cause]float64{refresh.Source: 0, refresh.Commit: 0, refresh.Facts: 0}
	for _, r := range st.Refused {
		stale[r.Cause] = 1
	}
	for _, m := range st.Mounts {
		since := 0.0
		if m.IsStale() {
			since = seconds(m.Since)
		}
		gauge("argosy_mount_stale_since_timestamp_seconds", "Since when the newest commit of a mount is not served, 0 while it is.", since, "mount", m.Path, "reason", m.Reason)
	}
	for cause, v := range stale {
		gauge("argosy_serving_stale", "1 while the newest of the cause (source, commit, facts) is not served.", v, "cause", string(cause))
	}
	if c.s.tlsConfig != nil {
		if cert, err := c.s.tlsConfig.GetCertificate(nil); err == nil {
			gauge("argosy_tls_certificate_not_after_timestamp_seconds", "When the certificate of the service expires; absent without TLS.", seconds(cert.Leaf.NotAfter))
		}
	}
	if stored := c.s.storedState(st); stored != nil {
		gauge("argosy_state_problems", "Parts of the stored state that cannot be used, read or written; absent without a store.", float64(len(stored.Problems)))
	}
	state := c.s.refresher.State()
	if state == nil {
		return
	}
	problems := map[string]float64{}
	for _, p := range state.Errors(c.s.o.Hub) {
		problems[string(p.Reason)]++
	}
	for reason, n := range problems {
		gauge("argosy_problems", "Errors of the hub in the served revision.", n, "reason", reason)
	}
	standings := map[fleetstate.Standing]float64{fleetstate.Kept: 0, fleetstate.LeftOut: 0, fleetstate.Refused: 0}
	for _, q := range st.Quarantined {
		standings[q.Standing]++
	}
	for standing, n := range standings {
		gauge("argosy_quarantined_members", "Quarantined members of the hub, by what they are served.", n, "standing", string(standing))
	}
	gauge("argosy_last_known_members", "Members of the hub whose cluster Secrets are gone, computed from their last known facts.", float64(len(inventory.LastKnown(state, c.s.o.Hub))))
	gauge("argosy_replaced_labels", "Labels and annotations of the hub's live cluster Secrets that responses have otherwise.", float64(len(inventory.AllReplaced(state, c.s.o.Hub))))
	for _, hub := range state.Fleet.Hubs() {
		if labels.IsName(hub) { // a folder may be called anything
			gauge("argosy_members", "Members in the served revision.", float64(len(state.Fleet.Members(hub))), "hub", hub)
		}
	}
	for _, h := range state.Fleet.Holds {
		if left := h.Ends().Sub(c.s.o.Now()); left > 0 {
			gauge("argosy_hold_days_left", "Days to the end of a manual hold.", left.Hours()/24, "hold", h.Name)
		}
	}
	counts := map[hold.Reason]hold.Summary{}
	for _, h := range hold.Summarize(c.s.holdsOfHub(state)) {
		counts[h.Reason] = h
	}
	for _, reason := range hold.Reasons {
		gauge("argosy_holds", "Holds of the hub: cells, groups or members that keep an older row, by reason.", float64(counts[reason].Holds), "reason", string(reason))
		gauge("argosy_hold_oldest_since_timestamp_seconds", "Since when the oldest hold of the reason is there, 0 without one.", seconds(counts[reason].Oldest), "reason", string(reason))
	}
	for _, x := range c.s.rings.Report().Rollouts {
		for _, ring := range x.Rings {
			if ring.Wait != nil {
				gauge("argosy_rollout_waiting", "1 while the ring of a rollout waits for the reason.", 1, "rollout", x.Name, "ring", ring.Name, "reason", string(ring.Wait.Reason))
			}
		}
	}
}

// seconds returns a time as a Unix timestamp in seconds, 0 for none.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
