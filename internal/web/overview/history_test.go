package overview_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// began is when the history of a test begins.
var began = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// ofTenant is a scope of one tenant.
type ofTenant string

func (t ofTenant) Sees(_, _, tenant string) bool { return tenant == string(t) }
func (ofTenant) SeesGroup(string) bool           { return true }
func (ofTenant) SeesEverything() bool            { return false }

// served is a history of states, one a minute.
type served struct {
	overview.History
	cache overview.Cache
	state *fleetstate.State
	at    time.Time
}

// serve makes the next state.
func (s *served) serve(t *testing.T, revision string, files fleettest.Tree, apps ...facts.Application) *overview.Index {
	t.Helper()
	s.state = querytest.Next(t, s.state, fleettest.Snapshot(revision, files), facts.NewSet(false).WithApplications(apps...))
	x := s.cache.Of(s.state)
	if s.at.IsZero() {
		s.at = began.Add(-time.Minute)
	}
	s.at = s.at.Add(time.Minute)
	s.Record(x, s.at)
	return x
}

// moments are the timeline in words.
func moments(l overview.Timeline) string {
	var b strings.Builder
	for _, m := range l.Commits {
		fmt.Fprintf(&b, "%s->%s %d:", m.Before, m.Revision, m.Concerned)
		for _, c := range m.Clusters {
			fmt.Fprintf(&b, " %s%s", c.Action, c.Name)
			for _, n := range c.Components {
				fmt.Fprintf(&b, "/%s", n.Name)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// A commit concerns the clusters of which it changes a version or a value, and no others.
func TestTimelineNamesWhomACommitConcerns(t *testing.T) {
	t.Parallel()
	var h served
	files := fleettest.Small()
	h.serve(t, "a", files)
	files = files.With(fleettest.Tree{fleettest.OneCatalog: "dns: {chart: {version: 1.1.0}}\n"})
	h.serve(t, "b", files)
	h.serve(t, "b", files, facts.Application{Name: "dns-one", Cluster: "one", Group: "addons", Component: "dns"}) // concerns nobody
	files = files.With(fleettest.Tree{"README.md": "nothing that a cluster reads"})
	h.serve(t, "c", files)
	files = files.With(fleettest.Tree{"addons/tenants/retail/clusters/two/addons/dns/values.yaml": "replicas: 7\n"})
	h.serve(t, "d", files)
	files = files.With(fleettest.Tree{fleettest.Member("two"): "", fleettest.Member("three"): fleettest.Spoke("three", "")})
	x := h.serve(t, "e", files)
	want := "d->e 2: createthree/dns removetwo/dns\nc->d 1: two/dns\nb->c 0:\na->b 1: one/dns\n"
	l := h.Timeline(x, everything{}, overview.Filter{}, "")
	if got := moments(l); got != want || !l.Began.Equal(began) {
		t.Errorf("%s\nwant %s", got, want)
	}
	assert.Equal(t, "a->b 1: one/dns\n", moments(h.Timeline(x, everything{}, overview.Filter{}, "one")))
	assert.Equal(t, "", moments(h.Timeline(x, ofTenant("platform"), overview.Filter{}, "")), "another tenant sees")
}

// A step has each changed value with its places, and composes several commits: what was changed
// back is no change.
func TestStepComposesCommits(t *testing.T) {
	t.Parallel()
	const values = "addons/tenants/retail/clusters/two/addons/dns/values.yaml"
	var h served
	files := fleettest.Small()
	for i, text := range []string{"replicas: 1\n", "replicas: 2\nfrom: b\n", "replicas: 3\nfrom: b\n", "replicas: 1\nfrom: b\n"} {
		h.serve(t, string(rune('a'+i)), files.With(fleettest.Tree{values: text}))
	}
	paths := func(base, head string) string {
		s, err := h.Step(everything{}, overview.Filter{}, base, head)
		if err != nil {
			return err.Error()
		}
		out := s.Base + s.Head
		for _, c := range s.Clusters {
			for _, ch := range c.Components {
				for _, v := range ch.Values {
					side := func(p *overview.PlacedValue) string {
						if p == nil {
							return "none"
						}
						return fmt.Sprintf("%v at %s", p.Value, p.Position)
					}
					out += fmt.Sprintf(" %s %s: %s -> %s", c.Name, v.Path, side(v.Before), side(v.After))
				}
			}
		}
		return strings.ReplaceAll(out, values, "FILE")
	}
	for _, c := range []struct{ base, head, want string }{
		{"", "", "cd two replicas: 3 at FILE:1:11 -> 1 at FILE:1:11"},
		{"a", "c", "ac two from: system at addons/defaults/addons/dns/values.yaml:1:7 -> b at FILE:2:7 two replicas: 1 at FILE:1:11 -> 3 at FILE:1:11"},
		{"a", "d", "ad two from: system at addons/defaults/addons/dns/values.yaml:1:7 -> b at FILE:2:7"},
		{"d", "a", "the service has served the base after the head: change their places"},
		{"", "a", "a is the first revision that the service has served since it began to look"},
		{"x", "", `the service has not served revision "x" since it began to look`},
	} {
		assert.Equal(t, c.want, paths(c.base, c.head), "%s..%s", c.base, c.head)
	}
	s, err := h.Step(ofTenant("platform"), overview.Filter{}, "a", "d")
	if err != nil || len(s.Clusters) > 0 {
		t.Errorf("another tenant sees %+v, %v", s, err)
	}
}

// What an engine reported before a commit is no evidence for it (G8). Afterwards the timeline says
// how long it took.
func TestTimelineWaitsForEvidenceAfterTheCommit(t *testing.T) {
	t.Parallel()
	app := facts.Application{Name: "dns-one", Cluster: "one", Group: "addons", Component: "dns"}
	var h served
	h.serve(t, "a", fleettest.Small(), app)
	x := h.serve(t, "b", fleettest.Small().With(fleettest.Tree{"addons/tenants/retail/clusters/one/addons/dns/values.yaml": "replicas: 7\n"}), app)
	committed := h.at
	says := func(sync, health string, after time.Duration) string {
		status := overview.Status{Version: "1.0.0", Sync: sync, Health: health, Since: committed.Add(after)}
		h.Observe(overview.Live{Status: func(string) (overview.Status, bool) { return status, true }}, committed.Add(time.Hour))
		c := h.Timeline(x, everything{}, overview.Filter{}, "one").Commits[0].Clusters[0]
		out := ""
		if c.Synced != nil {
			out += "synced after " + c.Synced.Sub(committed).String()
		}
		if c.Healthy != nil {
			out += " healthy after " + c.Healthy.Sub(committed).String()
		}
		return out
	}
	for _, step := range []struct {
		sync, health string
		after        time.Duration
		want         string
	}{
		{"Synced", "Healthy", -time.Minute, ""},
		{"OutOfSync", "Healthy", 5 * time.Second, ""},
		{"Synced", "Progressing", 9 * time.Second, "synced after 9s"},
		{"Synced", "Healthy", 40 * time.Second, "synced after 9s healthy after 40s"},
		{"Synced", "Degraded", 90 * time.Second, "synced after 9s healthy after 40s"},
	} {
		assert.Equal(t, step.want, says(step.sync, step.health, step.after), "%s, %s", step.sync, step.health)
	}
}

// A cell leaves green as soon as the engine cannot see the cluster any more, and says since when; a
// later state does not bring it back.
func TestUnreachableClusterLeavesGreen(t *testing.T) {
	t.Parallel()
	app := facts.Application{Name: "dns-one", Cluster: "one", Group: "addons", Component: "dns"}
	var h served
	x := h.serve(t, "a", fleettest.Small(), app)
	status := overview.Status{Version: "1.0.0", Sync: "Synced", Health: "Healthy"}
	live := overview.Live{Status: func(string) (overview.Status, bool) { return status, true }}
	cell := func() overview.Running {
		for _, r := range x.Matrix(everything{}, live, overview.Filter{Search: "one"}, "", 1).Rows {
			if r.Name == "one" {
				return *r.Cells[0].Running
			}
		}
		return overview.Running{}
	}
	if !cell().Good() {
		t.Fatalf("%+v", cell())
	}
	stopped := began.Add(100 * time.Second)
	status = overview.Status{Version: "1.0.0", Sync: "Unknown", Health: "Healthy", Since: stopped}
	for range 2 {
		if c := cell(); c.Good() || c.State != overview.RunningUnknown || c.Since == nil || !c.Since.Equal(stopped) || c.Detail == "" {
			t.Errorf("%+v", c)
		}
		x = h.serve(t, "b", fleettest.Small().With(fleettest.Tree{fleettest.OneCatalog: "dns: {chart: {version: 1.1.0}}\n"}), app)
	}
}

// A cell is green only while the cluster's API server responds: an engine that caches the cluster
// repeats what it saw last. A cluster of which no address is known is not probed.
func TestSilentClusterLeavesGreenWhateverTheEngineSays(t *testing.T) {
	t.Parallel()
	app := facts.Application{Name: "dns-one", Cluster: "one", Group: "addons", Component: "dns"}
	stopped := began.Add(time.Minute)
	for address, want := range map[string]string{"": overview.RunningPresent, "https://one.example.com": overview.RunningUnknown} {
		known := facts.NewSet(false, facts.Cluster{Name: "one", Address: address}).WithApplications(app)
		x := new(overview.Cache).Of(querytest.Next(t, nil, fleettest.Snapshot("a", fleettest.Small()), known))
		live := overview.Live{
			Status: func(string) (overview.Status, bool) {
				return overview.Status{Version: "1.0.0", Sync: "Synced", Health: "Healthy"}, true
			},
			Unreachable: func(string) (time.Time, string) { return stopped, "no response in time" },
		}
		c := *x.Matrix(everything{}, live, overview.Filter{Search: "one"}, "", 1).Rows[0].Cells[0].Running
		if c.State != want || c.Good() == (address != "") {
			t.Errorf("address %q: %+v; expected %s", address, c, want)
		}
		if address != "" && (c.Since == nil || !c.Since.Equal(stopped) || !strings.Contains(c.Detail, "does not respond")) {
			t.Errorf("%+v; expected since %s", c, stopped)
		}
	}
}

// A timeline goes on after a restart, and replicas know together what either has seen. Where nobody
// looked, it says so.
func TestTimelineSurvivesARestart(t *testing.T) {
	t.Parallel()
	version := func(i int) fleettest.Tree {
		return fleettest.Small().With(fleettest.Tree{fleettest.OneCatalog: fmt.Sprintf("dns: {chart: {version: 1.%d.0}}\n", i)})
	}
	record := func(h *served) *overview.Remembered {
		t.Helper()
		r, ok := h.Remembered()
		if !ok {
			t.Fatal("nothing to write")
		}
		text, err := json.Marshal(r)
		require.NoError(t, err)
		out := new(overview.Remembered)
		require.NoError(t, json.Unmarshal(text, out))
		if again, err := json.Marshal(out); err != nil || !bytes.Equal(again, text) {
			t.Errorf("read and written it is another: %s, %v", again, err)
		}
		return out
	}
	says := func(h *served, x *overview.Index) string {
		l := h.Timeline(x, everything{}, overview.Filter{}, "")
		out := fmt.Sprintf("since %s:", l.Began.Sub(began))
		for _, m := range l.Commits {
			if m.Unseen {
				out += " unseen"
			}
			out += fmt.Sprintf(" %s->%s", m.Before, m.Revision)
		}
		return out
	}
	if _, ok := new(overview.History).Remembered(); ok {
		t.Error("a service without a state has something to write")
	}
	var one, other served
	one.serve(t, "a", version(0))
	other.at = began.Add(5 * time.Second)
	other.serve(t, "a", version(0))
	x := one.serve(t, "b", version(1))
	other.serve(t, "b", version(1))
	one.Merge(record(&other))
	other.Merge(record(&one))
	for name, h := range map[string]*served{"one": &one, "other": &other} {
		if got := says(h, x); got != "since 0s: a->b" {
			t.Errorf("%s of two replicas: %s; expected one commit", name, got)
		}
	}
	// One replica sees two commits in one step: it takes over the two.
	one.serve(t, "c", version(2))
	x = one.serve(t, "d", version(3))
	other.serve(t, "d", version(3))
	other.Merge(record(&one))
	one.Merge(record(&other))
	for name, h := range map[string]*served{"one": &one, "other": &other} {
		if got := says(h, x); !strings.HasSuffix(got, "c->d b->c a->b") {
			t.Errorf("%s of two replicas: %s; expected all three commits", name, got)
		}
	}

	saved := record(&one)
	for _, c := range []struct{ name, revision, want string }{
		{"the same revision", "d", "since 0s: c->d b->c a->b"},
		{"another revision", "e", "since 0s: unseen d->e c->d b->c a->b"},
	} {
		restarted := served{at: began.Add(time.Hour)}
		if c.revision == "d" {
			restarted.Merge(saved) // before the first state
		}
		x := restarted.serve(t, c.revision, version(3))
		restarted.Merge(saved) // or after it
		assert.Equal(t, c.want, says(&restarted, x), "%s", c.name)
		s, err := restarted.Step(everything{}, overview.Filter{}, "b", c.revision)
		if err != nil || s.Unseen != (c.revision == "e") || len(s.Clusters) != 1 {
			t.Errorf("%s: %+v, %v", c.name, s, err)
		}
		x = restarted.serve(t, "f", version(4))
		if got := says(&restarted, x); !strings.Contains(got, ": "+c.revision+"->f ") || strings.Contains(got, "unseen") != (c.revision == "e") {
			t.Errorf("%s, the next commit: %s", c.name, got)
		}
	}
	// Nothing is known of a time before which nobody compared anything.
	var quiet, later served
	quiet.serve(t, "a", version(0))
	x = later.serve(t, "z", version(1))
	later.Merge(record(&quiet))
	if got := says(&later, x); got != "since 0s:" || later.at.IsZero() {
		t.Error(got)
	}
}

// The memory is bounded: of the oldest commits numbers stay, and of older ones nothing.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	var h served
	var x *overview.Index
	for i := range 130 {
		x = h.serve(t, fmt.Sprintf("r%d", i), fleettest.Small().With(fleettest.Tree{fleettest.OneCatalog: fmt.Sprintf("dns: {chart: {version: 1.%d.0}}\n", i)}))
	}
	if l := h.Timeline(x, everything{}, overview.Filter{}, ""); len(l.Commits) != 100 || l.Commits[0].Revision != "r129" || l.Commits[99].Revision != "r30" {
		t.Errorf("%d commits", len(l.Commits))
	}
}
