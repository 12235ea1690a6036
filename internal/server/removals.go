package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/argosy-hub/argosy/internal/appsets"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/guard"
)

// questions are those of the ApplicationSet of a name, as far as they are known.
func questions(o Options) func(string) guard.Asked {
	return func(name string) (out guard.Asked) {
		if o.ApplicationSets == nil {
			return out
		}
		sets, complete := o.ApplicationSets.List()
		for _, s := range sets {
			if s.Name == name {
				out = asked(o, s, complete)
			}
		}
		return out
	}
}

// asking are the questions of all ApplicationSets that ask this service, by name.
func asking(o Options) func() map[string]guard.Asked {
	return func() map[string]guard.Asked {
		out := map[string]guard.Asked{}
		if o.ApplicationSets == nil {
			return out
		}
		sets, complete := o.ApplicationSets.List()
		for _, s := range sets {
			out[s.Name] = asked(o, s, complete)
		}
		return out
	}
}

// asked are the questions of an ApplicationSet.
func asked(o Options, s appsets.ApplicationSet, complete bool) guard.Asked {
	out := guard.Asked{All: complete && !s.Templated}
	for _, parameters := range s.Requests {
		r, err := generator.ParseRequest(parameters, o.Hub)
		if err != nil {
			continue // it has no answer: nobody makes anything of the others
		}
		out.Requests = append(out.Requests, r)
	}
	return out
}

// refusedRemovals are the answers that are beyond the removal budget, without the losses one by one unless they are
// asked for.
func (s *Server) refusedRemovals(losses bool) []guard.Reported {
	out := s.guard.Refusals()
	if out == nil {
		return []guard.Reported{}
	}
	for i := range out {
		if !losses {
			out[i].Losses = nil
		}
	}
	return out
}

var (
	refusedDesc   = prometheus.NewDesc("argosy_removals_refused", "Questions that have no answer now, as it is beyond the removal budget.", []string{"view"}, nil)
	baselinesDesc = prometheus.NewDesc("argosy_removal_baselines", "Answers that are remembered to compare the next ones with.", nil, nil)
	storeDesc     = prometheus.NewDesc("argosy_removal_baseline_failures_total",
		"Remembered answers that were damaged when the service started, could not be written, or were given up as there were too many.", []string{"failure"}, nil)
)

// removals are the metrics of the removal budget.
type removals struct{ guard *guard.Guard }

// Describe names the metrics.
func (removals) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{refusedDesc, baselinesDesc, storeDesc} {
		ch <- d
	}
}

// Collect looks the metrics up.
func (m removals) Collect(ch chan<- prometheus.Metric) {
	s := m.guard.Stats()
	for view, n := range s.Refused {
		ch <- prometheus.MustNewConstMetric(refusedDesc, prometheus.GaugeValue, float64(n), string(view))
	}
	ch <- prometheus.MustNewConstMetric(baselinesDesc, prometheus.GaugeValue, float64(s.Baselines))
	for failure, n := range map[string]int{"damaged": s.Damaged, "unwritten": s.Failures, "evicted": s.Evicted} {
		ch <- prometheus.MustNewConstMetric(storeDesc, prometheus.CounterValue, float64(n), failure)
	}
}
