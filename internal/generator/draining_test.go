package generator

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/facts"
)

const drainingTwo = "{clusterName: two, tenant: retail, environment: dev, labels: {addonsRelease: canary}, lifecycle: draining}\n"

// of is one cluster's sets in the answer to a request, as bytes.
func of(t testing.TB, st *State, cluster, parameters string) string {
	t.Helper()
	q, failure := st.query(request(t, parameters))
	if failure != nil {
		t.Fatal(failure)
	}
	sets, failure := st.sets(q)
	if failure != nil {
		t.Fatal(failure)
	}
	var out []string
	for _, s := range sets {
		if s.common().Name != cluster {
			continue
		}
		text, err := encoded(s, st.Revision)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return strings.Join(out, "\n")
}

var drainingAsks = []string{`{"view":"members"}`, `{"view":"components","group":"addons"}`, `{"view":"agents"}`}

// Rule 12: a draining member keeps its sets byte for byte, their revision included, in every view and over a restart,
// until it is active again; all others go on.
func TestDrainingKeepsWhatRuns(t *testing.T) {
	change := tree{"addons/defaults/addons/dns/values.yaml": "replicas: 9\n", systemCatalog: "dns: {enabled: true, namespace: elsewhere, " + dnsChart + "}\nnew: {enabled: true, " + dnsChart + "}\n"}
	before := noProblems(t, build(t, small()))
	step := func(previous *State, files tree) *State {
		t.Helper()
		st, err := Build(previous, snap(files), facts.Set{})
		if err != nil {
			t.Fatal(err)
		}
		return noProblems(t, st)
	}
	draining := tree{member("two"): drainingTwo}
	at := step(before, small().with(draining).with(change)) // it takes nothing of the commit that says so either
	later := step(at, small().with(draining).with(change).with(tree{"addons/defaults/addons/dns/values.yaml": "replicas: 10\n"}))
	restarted, err := Restore(snap(small().with(draining).with(change)), facts.Set{}, at.Homes())
	if err != nil {
		t.Fatal(err)
	}
	for name, st := range map[string]*State{"the commit": at, "a later one": later, "a restart": restarted} {
		for _, ask := range drainingAsks {
			if got, want := of(t, st, "two", ask), of(t, before, "two", ask); got != want {
				t.Errorf("%s: %s:\n%s\nwant\n%s", name, ask, got, want)
			}
		}
		ask := drainingAsks[1]
		if got := of(t, st, "one", ask); got == of(t, before, "one", ask) || !strings.Contains(got, "elsewhere") {
			t.Errorf("%s: all others do not go on: %s", name, got)
		}
		if s := summary(st, "two"); s.Lifecycle != "draining" || s.Keeps != before.Revision || s.Quarantine != nil {
			t.Errorf("%s: %+v", name, s)
		}
		if e, err := st.Explain("hub", "two", "addons", "dns"); err != nil || e.Lifecycle != "draining" || e.Revision != before.Revision {
			t.Errorf("%s: explained as %+v, %v", name, e, err)
		}
	}
	again := step(later, small().with(change))
	if got, want := of(t, again, "two", drainingAsks[1]), of(t, build(t, small().with(change)), "two", drainingAsks[1]); got != want {
		t.Errorf("active again: %s, want %s", got, want)
	}
	retired := step(later, small().with(change).with(tree{member("two"): strings.Replace(drainingTwo, "draining", "retired", 1)}))
	if got := of(t, retired, "two", drainingAsks[1]); got != "" {
		t.Errorf("retired: %s", got)
	}
}

func summary(st *State, name string) Summary {
	for _, s := range st.Summaries() {
		if s.Name == name {
			return s
		}
	}
	return Summary{}
}

// Rule 12: of one that is draining when it is first seen, or that had retired, the first snapshot counts.
func TestDrainingFromTheFirst(t *testing.T) {
	draining, ask := small().with(tree{member("two"): drainingTwo}), drainingAsks[1]
	change := draining.with(tree{"addons/defaults/addons/dns/values.yaml": "replicas: 9\n"})
	retired := build(t, small().with(tree{member("two"): strings.Replace(drainingTwo, "draining", "retired", 1)}))
	for name, previous := range map[string]*State{"first start": nil, "retired before": retired} {
		first, err := Build(previous, snap(draining), facts.Set{})
		if err != nil {
			t.Fatal(err)
		}
		next, err := Build(first, snap(change), facts.Set{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := of(t, next, "two", ask), of(t, first, "two", ask); got != want || !strings.Contains(want, first.Revision) {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if of(t, next, "two", ask) == of(t, build(t, change), "two", ask) {
			t.Errorf("%s: the change is none", name)
		}
	}
}

// Rules 10 and 12: a draining member that a commit breaks is quarantined at the home that it has, and goes on draining
// from there when it is mended. Facts that would break its home are a problem of it, and no reason to leave home.
func TestDrainingAndBroken(t *testing.T) {
	ask := drainingAsks[1]
	files := small().with(tree{"addons/tenants/retail/environments/dev/addons/dns/values.yaml.gotmpl": "zone: {{ .labels.zone }}\n"})
	secret := func(labels map[string]string) facts.Set {
		return facts.NewSet(false, facts.Cluster{Name: "two", Labels: labels}, facts.Cluster{Name: "one", Labels: map[string]string{"zone": "z"}})
	}
	good := secret(map[string]string{"zone": "z"})
	step := func(previous *State, files tree, f facts.Set) *State {
		t.Helper()
		st, err := Build(previous, snap(files), f)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	before := noProblems(t, step(nil, files, good))
	draining := files.with(tree{member("two"): drainingTwo, "addons/defaults/addons/dns/values.yaml": "replicas: 9\n"})
	at := noProblems(t, step(before, draining, good))
	broken := step(at, draining.with(tree{"addons/tenants/retail/environments/dev/addons/dns/values.yaml.gotmpl": "a: [\n"}), good)
	if q := summary(broken, "two").Quarantine; q == nil || q.Standing != Kept || q.Revision != before.Revision {
		t.Errorf("broken: %+v", q)
	}
	mended := noProblems(t, step(broken, draining, good))
	if got, want := of(t, mended, "two", ask), of(t, before, "two", ask); got != want {
		t.Errorf("mended: %s, want %s", got, want)
	}
	fixed := draining.with(tree{"addons/tenants/retail/environments/dev/addons/dns/values.yaml.gotmpl": "zone: none\n"})
	lost := step(at, fixed, secret(nil))
	if got := lost.Lost(at, "hub"); len(got) == 0 || got[0].Cluster != "two" {
		t.Errorf("facts that break its home: %v, and it is answered %s", got, of(t, lost, "two", ask))
	}
}
