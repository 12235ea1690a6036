// Package monitoring evaluates alerts and queries of Prometheus, by its own engine, over what was
// scraped from running services.
//
//  1. A Scrape is the text that a service gives at /metrics, with the labels namespace and pod that
//     a ServiceMonitor adds.
//  2. A Timeline repeats scrapes for minutes that did not pass: the time of samples is synthetic,
//     their values are the service's. A metric that is a time is moved, so that its distance from
//     now stays; one that says since when something lasts is the start of its phase, as it lasts
//     throughout. A counter of a phase with a scrape before it grows each minute as it did between
//     the two.
//  3. `promtool test rules` evaluates: rules every minute, and queries at the end.
package monitoring

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Scrape has the samples of pods by series.
type Scrape struct {
	at      time.Time
	samples map[string]float64
}

// Phase is a part of a timeline.
type Phase struct {
	Minutes int
	Before  Scrape // where counters begin to grow; none if nothing grows
	Now     Scrape
}

// Sample is one of an expected result.
type Sample struct {
	Labels string  `json:"labels"`
	Value  float64 `json:"value"`
}

// Query is an expression with its expected result at the end of a timeline.
type Query struct {
	Expr     string   `json:"expr"`
	EvalTime string   `json:"eval_time"`
	Expected []Sample `json:"exp_samples,omitempty"`
}

var sampleLine = regexp.MustCompile(`^((?:argosy|process)_[a-z0-9_]+)(?:\{(.*)\})? (\S+)$`)

// Read scrapes the pods at the addresses, by their names. A certificate is not verified.
func Read(ctx context.Context, namespace string, pods map[string]string) (Scrape, error) {
	s := Scrape{at: time.Now(), samples: map[string]float64{}}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	client := http.Client{Transport: transport, Timeout: 30 * time.Second}
	for pod, url := range pods {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", http.NoBody)
		if err != nil {
			return Scrape{}, err
		}
		response, err := client.Do(request)
		if err != nil {
			return Scrape{}, err
		}
		text, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return Scrape{}, err
		}
		if response.StatusCode != http.StatusOK {
			return Scrape{}, fmt.Errorf("%s: %s: %s", request.URL, response.Status, text)
		}
		for line := range strings.Lines(string(text)) {
			m := sampleLine.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				continue
			}
			value, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				return Scrape{}, fmt.Errorf("%s: %q: %w", request.URL, line, err)
			}
			labels := fmt.Sprintf("namespace=%q, pod=%q", namespace, pod)
			if m[2] != "" {
				labels += ", " + m[2]
			}
			s.samples[m[1]+"{"+labels+"}"] = value
		}
	}
	return s, nil
}

// Firing expects exactly these alerts at the end of a timeline.
func Firing(alerts ...string) Query {
	q := Query{Expr: `count by (alertname) (ALERTS{alertstate="firing"})`}
	for _, a := range alerts {
		q.Expected = append(q.Expected, Sample{Labels: fmt.Sprintf("{alertname=%q}", a), Value: 1})
	}
	return q
}

// HasData expects an expression to have a value that is a number.
func HasData(expr string) Query {
	return Query{Expr: fmt.Sprintf("count((%s) == (%s)) > bool 0", expr, expr), Expected: []Sample{{Labels: "{}", Value: 1}}}
}

// series is one of promtool's.
type series struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

// Check evaluates rules, a file's text, and queries over a timeline. The error says what promtool
// found instead.
func Check(ctx context.Context, promtool, dir string, rules []byte, timeline []Phase, queries ...Query) error {
	total := 0
	for _, p := range timeline {
		total += p.Minutes
	}
	for i := range queries {
		queries[i].EvalTime = fmt.Sprintf("%dm", total-1)
	}
	test, err := yaml.Marshal(map[string]any{
		"rule_files": []string{"rules.yaml"}, "evaluation_interval": "1m",
		"tests": []any{map[string]any{"interval": "1m", "input_series": write(timeline, total), "promql_expr_test": queries}},
	})
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"rules.yaml": rules, "test.yaml": test} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	command := exec.CommandContext(ctx, promtool, "test", "rules", "test.yaml")
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// write is a timeline as promtool has it.
func write(timeline []Phase, total int) []series {
	names := map[string]bool{}
	for _, p := range timeline {
		for name := range p.Now.samples {
			names[name] = true
		}
	}
	var out []series
	for name := range names {
		var values []string
		begin := 0
		for _, p := range timeline {
			values = append(values, p.values(name, begin, total))
			begin += p.Minutes
		}
		out = append(out, series{name, strings.Join(values, " ")})
	}
	slices.SortFunc(out, func(a, b series) int { return strings.Compare(a.Series, b.Series) })
	return out
}

// values of a series in a phase that begins at a minute, of so many in total.
func (p Phase) values(name string, begin, total int) string {
	value, is := p.Now.samples[name]
	metric, _, _ := strings.Cut(name, "{")
	switch {
	case !is || math.IsNaN(value):
		return fmt.Sprintf("_x%d", p.Minutes)
	case strings.HasSuffix(metric, "_since_timestamp_seconds"):
		if value != 0 { // as it is while nothing lasts
			value = float64(max(1, 60*begin))
		}
	case strings.HasSuffix(metric, "_timestamp_seconds"):
		value += float64(60*(total-1)) - float64(p.Now.at.UnixMilli())/1000
	}
	start, growth := value, 0.0
	if before, was := p.Before.samples[name]; isCounter(metric) && p.Before.samples != nil {
		if !was {
			before = 0
		}
		start, growth = before, max(0, value-before)
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return fmt.Sprintf("%s+%sx%d", number(start), number(growth), p.Minutes-1)
}

func isCounter(metric string) bool {
	return slices.ContainsFunc([]string{"_total", "_bucket", "_sum", "_count"}, func(s string) bool { return strings.HasSuffix(metric, s) })
}
