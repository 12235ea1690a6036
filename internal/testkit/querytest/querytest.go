// Package querytest builds states and sends queries to them, for the tests of several packages.
//
//	st := querytest.Build(t, fleettest.Small())
//	names := querytest.Names(t, st, querytest.Addons) // "dns-hub dns-one dns-two"
//
// It uses only exported identifiers. A failure ends the calling test.
package querytest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// Addons is a query for all components of group addons.
const Addons = `{"view":"components","group":"addons"}`

// Build resolves a fleet with the facts of some of its clusters.
func Build(t testing.TB, files fleettest.Tree, clusters ...facts.Cluster) *fleetstate.State {
	t.Helper()
	return Next(t, nil, fleettest.Snapshot("rev", files), facts.NewSet(false, clusters...))
}

// BuildWith resolves a fleet whose hub has these Applications. It fails if there is a problem.
func BuildWith(t testing.TB, files fleettest.Tree, apps ...facts.Application) *fleetstate.State {
	t.Helper()
	return NoProblems(t, Next(t, nil, fleettest.Snapshot("rev", files), facts.NewSet(false).WithApplications(apps...)))
}

// Next resolves a snapshot that follows a previous state, which may be nil.
func Next(t testing.TB, previous *fleetstate.State, s *snapshot.Snapshot, known facts.Set) *fleetstate.State {
	t.Helper()
	st, err := fleetstate.Build(previous, s, known)
	require.NoError(t, err)
	return st
}

// NoProblems returns the state, and fails the test if it has a problem.
func NoProblems(t testing.TB, st *fleetstate.State) *fleetstate.State {
	t.Helper()
	for _, p := range st.Problems {
		t.Errorf("%s %s", p.Reason, p.Error())
	}
	return st
}

// Query parses a query's parameters for hub "hub".
func Query(t testing.TB, parameters string) query.Query {
	t.Helper()
	r, err := query.Parse([]byte(parameters), "hub")
	require.NoError(t, err)
	return r
}

// Set is a parameter set as its requester reads it.
type Set map[string]any

// Text returns a parameter's text, empty if the parameter is absent or not a text.
func (s Set) Text(key string) string { v, _ := s[key].(string); return v }

// Label returns a label of the cluster, or "absent".
func (s Set) Label(key string) string { return s.metadata("labels", key) }

// Annotation returns an annotation of the cluster, or "absent".
func (s Set) Annotation(key string) string { return s.metadata("annotations", key) }

func (s Set) metadata(kind, key string) string {
	metadata, _ := s["metadata"].(map[string]any)
	values, _ := metadata[kind].(map[string]any)
	if v, ok := values[key].(string); ok {
		return v
	}
	return "absent"
}

// Sets returns the parameter sets of a response, in its order.
func Sets(t testing.TB, response []byte) []Set {
	t.Helper()
	var body struct{ Output struct{ Parameters []Set } }
	require.NoError(t, json.Unmarshal(response, &body))
	return body.Output.Parameters
}

// List sends a query and returns the parameter sets in the response's order.
func List(t testing.TB, st *fleetstate.State, query query.Query) []Set {
	t.Helper()
	b, err := response.Bytes(st, query)
	require.NoError(t, err, "%+v", query)
	return Sets(t, b)
}

// Column returns one text of each parameter set of a response, in its order.
func Column(t testing.TB, st *fleetstate.State, query query.Query, key string) string {
	t.Helper()
	var out []string
	for _, s := range List(t, st, query) {
		out = append(out, s.Text(key))
	}
	return strings.Join(out, " ")
}

// Ask sends a query and returns the parameter sets by Application name.
func Ask(t testing.TB, st *fleetstate.State, parameters string) map[string]Set {
	t.Helper()
	out := map[string]Set{}
	for _, s := range List(t, st, Query(t, parameters)) {
		name := s.Text("applicationName")
		if _, dup := out[name]; dup {
			t.Errorf("%s: two sets are called %q", parameters, name)
		}
		out[name] = s
	}
	return out
}

// Names returns the Application names of a response, sorted.
func Names(t testing.TB, st *fleetstate.State, parameters string) string {
	t.Helper()
	return strings.Join(slices.Sorted(maps.Keys(Ask(t, st, parameters))), " ")
}

// Refused returns the error of a query that must have no response.
func Refused(t testing.TB, st *fleetstate.State, parameters string) string {
	t.Helper()
	b, err := response.Bytes(st, Query(t, parameters))
	if err == nil {
		t.Fatalf("%s has a response: %s", parameters, b)
	}
	return err.Error()
}

// Problems formats problems as lines.
func Problems(ps []problem.Problem) string {
	var lines []string
	for _, p := range ps {
		lines = append(lines, string(p.Reason)+" "+p.Error())
	}
	return strings.Join(lines, "\n")
}
