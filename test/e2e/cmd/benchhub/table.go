package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// restFor is how long a hub at rest is measured.
const (
	restFor = 20 * time.Second
	atRest  = "nothing, for 20 s"
)

// programs are those whose processor time is printed.
var programs = []struct{ title, name string }{
	{"ApplicationSet controller", "argocd-applicationset-controller"},
	{"repo server", "argocd-repo-server"},
	{"API server", "kube-apiserver"},
	{"etcd", "etcd"},
	{"Argosy", "generator-plugin"},
	{"Git server", gitServer},
}

// all is the processor time of all programs in the table.
func (r result) all() (seconds float64) {
	for _, p := range programs {
		seconds += r.sample[p.name]
	}
	return seconds
}

// table has a row for each push and side.
type table struct {
	steps []string
	rows  map[string][]string
}

func (t *table) add(as form, m *measured) {
	if t.rows == nil {
		t.rows = map[string][]string{}
	}
	for _, name := range m.steps {
		if !slices.Contains(t.steps, name) {
			t.steps = append(t.steps, name)
		}
		results := m.results[name]
		of := func(value func(result) float64) float64 { return median(results, value) }
		key := func(name string) float64 { return of(func(r result) float64 { return r.sample[name] }) }
		row := fmt.Sprintf("| %s | %s |", name, as)
		for _, p := range programs {
			row += fmt.Sprintf(" %.2f |", key(p.name))
		}
		low, high := results[0].all(), results[0].all()
		for _, r := range results {
			low, high = min(low, r.all()), max(high, r.all())
		}
		row += fmt.Sprintf(" **%.1f** (%.1f to %.1f) |", of(result.all), low, high)
		row += fmt.Sprintf(" %.0f / %.0f |", of(func(r result) float64 { return float64(r.distinctSets()) }), key(reconciles))
		row += fmt.Sprintf(" %.0f / %.0f | %.0f | %.1f |", key(apiReads), key(apiWrites), key(etcdRequests), key(etcdBytes)/1e6)
		row += fmt.Sprintf(" %.0f | %.1f |", of(func(r result) float64 { return float64(r.written) }), of(func(r result) float64 { return r.last.Seconds() }))
		t.rows[name] = append(t.rows[name], row)
	}
}

func median(results []result, value func(result) float64) float64 {
	var all []float64
	for _, r := range results {
		all = append(all, value(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func (t *table) print(out io.Writer) {
	fmt.Fprint(out, "| push | side |")
	line := "|---|---|"
	for _, p := range programs {
		fmt.Fprintf(out, " %s, s |", p.title)
		line += "---|"
	}
	fmt.Fprintln(out, " all, s | ApplicationSets / reconciles | API reads / writes | etcd requests | etcd MB | written | last after, s |")
	fmt.Fprintln(out, line+"---|---|---|---|---|---|---|")
	for _, name := range t.steps {
		for _, row := range t.rows[name] {
			fmt.Fprintln(out, row)
		}
	}
}
