//go:build bench

package bench

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// helmSample is how many clusters Helm merges at most in a round: it remembers nothing from one to
// the next, so that all take so many times longer.
const helmSample = 20

// sample are clusters from all over the fleet.
func (f *fleet) sample() []int {
	n := min(f.o.Clusters, helmSample)
	out := make([]int, n)
	for i := range out {
		out[i] = i * f.o.Clusters / n
	}
	return out
}

// resolve reads a fleet from disk and merges the values of every component of every cluster, all
// rules checked; and lets Helm merge the same files. It returns how long the first takes, round by
// round.
func (b *bench) resolve(f *fleet) (cold []float64) {
	b.Helper()
	row := figure{what: "resolve every (cluster, component), cold", fleet: f.name, against: "Helm's own merge", goal: atLeast(100, "x")}
	limit := figure{what: row.what, fleet: f.name, against: "reading, hashing and parsing each distinct file once", goal: atMost(2, "x")}
	clusters := f.sample()
	var helms, least []float64
	for i := range b.rounds() {
		var st *fleetstate.State
		least = append(least, timed(f.parseOnce))
		cold = append(cold, timed(func() { st = f.build(nil, f.read()) }))
		if i == 0 {
			f.sameAsHelm(st, clusters)
		}
		st = nil
		helm := timed(func() { f.helmMerges(clusters) }) * float64(f.o.Clusters) / float64(len(clusters))
		helms = append(helms, helm)
		row.rounds = append(row.rounds, helm/cold[i])
		limit.rounds = append(limit.rounds, cold[i]/least[i])
	}
	limit.detail = fmt.Sprintf("%s, the limit %s", seconds(median(cold)), seconds(median(least)))
	row.detail = fmt.Sprintf("%s, Helm %s", seconds(median(cold)), seconds(median(helms)))
	if len(clusters) < f.o.Clusters {
		row.detail += fmt.Sprintf(" (by %d clusters)", len(clusters))
	}
	b.add(row)
	b.add(limit)
	return cold
}

// parseOnce reads a fleet from disk and parses each distinct file once: what no resolver does
// without.
func (f *fleet) parseOnce() {
	f.Helper()
	s := f.read()
	parsed := map[string]bool{}
	for _, p := range s.Paths() {
		file := s.File(p)
		if parsed[file.Digest] {
			continue
		}
		parsed[file.Digest] = true
		if _, err := yamldoc.Parse(p, file.Data); err != nil {
			f.Fatal(err)
		}
	}
}

// sameAsHelm checks that what is served is what Helm merges (rule 3).
func (f *fleet) sameAsHelm(st *fleetstate.State, clusters []int) {
	f.Helper()
	ours := map[int]map[string]string{} // by component and cluster
	for c := range components {
		if c > 1 && f.o.Clusters >= 5000 {
			break // reading all of a large fleet's answers takes longer than all else
		}
		ours[c] = map[string]string{}
		for _, s := range f.sets(f.answer(st, oneComponent(c))) {
			name, _ := s["name"].(string)
			ours[c][name], _ = s["helmValues"].(string)
		}
	}
	for i, merged := range f.helmMerges(clusters) {
		for c, want := range merged {
			if ours[c] == nil {
				continue
			}
			var got map[string]any
			require.NoError(f, yaml.Unmarshal([]byte(ours[c][fleettest.Cluster(clusters[i])]), &got))
			if text := ours[c][fleettest.Cluster(clusters[i])]; !reflect.DeepEqual(plain(f, got), plain(f, want)) {
				f.Fatalf("%s on %s: Helm merges\n%v\nand we serve\n%s", fleettest.Component(c), fleettest.Cluster(clusters[i]), want, text)
			}
		}
	}
}

// plain is a value as JSON has it.
func plain(f *fleet, v any) any {
	f.Helper()
	text, err := json.Marshal(v)
	var out any
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	require.NoError(f, err)
	return out
}

// sets are those of an answer.
func (f *fleet) sets(answer []byte) []map[string]any {
	f.Helper()
	var out struct {
		Output struct {
			Parameters []map[string]any `json:"parameters"`
		} `json:"output"`
	}
	require.NoError(f, json.Unmarshal(answer, &out))
	return out.Output.Parameters
}

// members asks for all members, for the first time in a state whose predecessors have not been
// asked; Argo CD's own matrix finds the same. And it asks again after a commit.
func (b *bench) members(f *fleet, st *fleetstate.State) {
	b.Helper()
	row := figure{what: "members, first answer", fleet: f.name, against: "Argo CD's matrix, per member", goal: atLeast(100, "x")}
	again := figure{what: "members, after a commit of one cluster's file", fleet: f.name, against: "the first answer", goal: goal{unit: "%"}}
	s := f.read()
	argo := newMatrix(b.T, s)
	all := query.Query{View: query.Members}
	var ours, theirs, after []float64
	for i := range b.rounds() {
		first := f.build(st, f.commit(s, always, f.clusterFile(0)))
		var answer []byte
		ours = append(ours, timed(func() { answer = f.answer(first, all) }))
		f.ready(first, all) // the service remembers it
		second := f.build(first, f.commit(s, always, f.clusterFile(1)))
		after = append(after, timed(func() { f.ready(second, all) }))
		again.rounds = append(again.rounds, 100*after[i]/ours[i])
		var found []map[string]any
		theirs = append(theirs, timed(func() { found = argo.params(b.T) }))
		if i == 0 {
			f.sameMembers(answer, found)
		}
		row.rounds = append(row.rounds, theirs[i]/ours[i])
	}
	perMember := func(v []float64) string { return seconds(median(v) / float64(f.o.Clusters)) }
	row.detail = fmt.Sprintf("%s a member, Argo CD %s", perMember(ours), perMember(theirs))
	b.add(row)
	again.detail = seconds(median(after))
	b.add(again)
}

func always(string) bool { return true }

// sameMembers checks that the matrix finds the members that are answered, and the hub's own file
// beside them (rule 3).
func (f *fleet) sameMembers(answer []byte, found []map[string]any) {
	f.Helper()
	ours := map[any]bool{fleettest.Hub: true}
	for _, s := range f.sets(answer) {
		ours[s["name"]] = true
	}
	if len(found) != f.o.Clusters+1 || len(ours) != len(found) {
		f.Fatalf("Argo CD finds %d members, and we answer %d and the hub", len(found), len(ours)-1)
	}
	for _, m := range found {
		if !ours[m["clusterName"]] {
			f.Fatalf("Argo CD finds %v, which is not answered", m["clusterName"])
		}
	}
}

// commits changes files and asks for one component in the state that comes of it: of one cluster's
// file, and of all system-wide ones. Cold is how long the cold resolve takes.
func (b *bench) commits(f *fleet, st *fleetstate.State, cold float64) {
	b.Helper()
	s := f.read()
	st = f.build(st, s)
	f.answer(st, oneComponent(0))
	one := figure{what: "a commit of one cluster's file", fleet: f.name, against: "the cold resolve", goal: atMost(1, "%")}
	var took, states, written []float64
	for i := range 4 * b.rounds() {
		path := f.clusterFile(i % f.o.Clusters)
		next := f.commit(s, always, path)
		f.ready(st, oneComponent(i%components)) // as those who ask have asked before
		var state float64
		var ready *response.Response
		took = append(took, timed(func() {
			state = timedHere(func() { st = f.build(st, next) })
			ready = f.ready(st, oneComponent(i%components))
		}))
		written = append(written, timedHere(func() { f.write(ready) }))
		states = append(states, state)
		one.rounds = append(one.rounds, 100*took[i]/cold)
		s = next
		f.changed(st, oneComponent(i%components), next.Revision)
	}
	one.detail = fmt.Sprintf("%s, of which the new state %s; to write the answer's bytes %s", seconds(median(took)), seconds(median(states)), seconds(median(written)))
	b.add(one)
	b.oneCommit[f.o.Clusters], b.oneState[f.o.Clusters] = median(took), median(states)

	all := figure{what: "a commit of all system-wide files", fleet: f.name, against: "the cold resolve", goal: atMost(1, "x")}
	took = nil
	for i := range b.rounds() {
		next := f.commit(s, func(p string) bool { return strings.HasPrefix(p, "addons/defaults/"+fleettest.Group+"/") }, s.Paths()...)
		took = append(took, timed(func() {
			st = f.build(st, next)
			f.ready(st, oneComponent(i%components))
		}))
		all.rounds = append(all.rounds, took[i]/cold)
		s = next
		f.changed(st, oneComponent(i%components), next.Revision)
	}
	all.detail = seconds(median(took))
	b.add(all)
}

// changed checks that a commit has come through.
func (f *fleet) changed(st *fleetstate.State, r query.Query, revision string) {
	f.Helper()
	answer := string(f.answer(st, r))
	number := strings.TrimPrefix(revision, "revision-")
	if !strings.Contains(answer, revision) || !strings.Contains(answer, `revised: `+number+`\n`) {
		f.Fatalf("what %s changes is not answered", revision)
	}
}

// seconds is a duration as people read it.
func seconds(s float64) string {
	switch {
	case s >= 1:
		return fmt.Sprintf("%.2f s", s)
	case s >= 1e-3:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g µs", s*1e6)
}
