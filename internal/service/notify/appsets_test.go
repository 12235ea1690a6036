package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/service/notify"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// argo is an Argo CD that notes which ApplicationSets are refreshed.
type argo struct {
	mu       sync.Mutex
	sets     []facts.ApplicationSet
	complete bool
	fails    map[string]error
	asked    []string
	tries    []time.Time
	wake     func()
	during   func() // called inside Refresh
}

func (a *argo) Run(ctx context.Context, changed func()) {
	a.mu.Lock()
	a.wake = changed
	a.mu.Unlock()
	<-ctx.Done()
}

func (a *argo) List() ([]facts.ApplicationSet, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.sets), a.complete
}

func (a *argo) Refresh(_ context.Context, name string) error {
	if a.during != nil {
		a.during()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tries = append(a.tries, time.Now())
	if err := a.fails[name]; err != nil {
		return err
	}
	a.asked = append(a.asked, name)
	return nil
}

// refreshed are the ApplicationSets that were refreshed since the last time, once all is quiet.
func (a *argo) refreshed() []string {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	return asked
}

func set(name string, requests ...string) facts.ApplicationSet {
	s := facts.ApplicationSet{Name: name}
	for _, r := range requests {
		s.Requests = append(s.Requests, json.RawMessage(r))
	}
	return s
}

// The questions of the tests: all members, the components of one group on each of two clusters, and
// what cannot be asked.
var sets = []facts.ApplicationSet{
	set("members", `{"view":"members"}`),
	set("dns-a", `{"view":"components","group":"addons","selector":{"matchLabels":{"environment":"dev"}}}`),
	set("both", `{"view":"agents"}`, `{"view":"components","group":"addons","selector":{"matchLabels":{"environment":"prod"}}}`),
	set("wrong", `{"view":"nosuch"}`),
	set("garbage", `{"unknown":"key"}`),
	{Name: "nested", Templated: true},
}

const (
	fileA  = "fleet/fleet-members/hub-1/a.yaml"
	values = "addons/tenants/retail/environments/prod/addons/dns/values.yaml"
)

// state is a good fleet of two members with the files given on top, at a revision.
func state(t *testing.T, revision string, files map[string]string) *fleetstate.State {
	t.Helper()
	return stateWith(t, revision, files, facts.NewSet(false))
}

func stateWith(t *testing.T, revision string, files map[string]string, known facts.Set) *fleetstate.State {
	t.Helper()
	st, err := fleetstate.Build(nil, fleettest.Snapshot(revision, fleettest.TwoHubs().With(files)), known)
	require.NoError(t, err)
	return st
}

type fixture struct {
	*argo
	n      *notify.Notifier
	log    *bytes.Buffer
	failed int
}

// running is a Notifier that runs for the time of the test, which is in a bubble of its own.
func running(t *testing.T, complete bool) *fixture {
	t.Helper()
	f := &fixture{argo: &argo{sets: sets, complete: complete, fails: map[string]error{}}, log: &bytes.Buffer{}}
	var err error
	f.n, err = notify.New(notify.Options{
		Client: f.argo, Hub: "hub-1", Logger: slog.New(slog.NewTextHandler(f.log, nil)),
		Observe: func(err error) {
			if err != nil {
				f.failed++
			}
		},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.n.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return f
}

var everyone = []string{"both", "dns-a", "garbage", "members", "nested", "wrong"}

func (f *fixture) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	got := f.refreshed()
	slices.Sort(got)
	slices.Sort(want)
	assert.Equal(t, append([]string{}, want...), append([]string{}, got...), "%s", what)
}

// Rule 2: a cluster's Secret that comes back concerns what is deployed there, though the answer is
// the same; one that goes concerns nobody.
func TestNotifier_ClusterThatArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := running(t, true)
		known := func(secretOfB string) *fleetstate.State {
			return stateWith(t, "1", nil, facts.NewSet(true,
				facts.Cluster{Name: "a", Secret: "uid-a"}, facts.Cluster{Name: "b", Secret: secretOfB}, facts.Cluster{Name: "hub-1", Secret: "uid-hub"}))
		}
		f.n.Serving(known("uid-1"))
		f.expect(t, "the first state", everyone...)
		f.n.Serving(known(""))
		f.expect(t, "b's Secret has gone", "nested")
		f.n.Serving(known("uid-2"))
		f.expect(t, "b's Secret is back", "both", "nested")
		f.n.Serving(known("uid-2"))
		f.expect(t, "nothing new", "nested")
	})
}

// A resolver that panics does not stop the service, also not while a cluster arrives: the next good
// state is compared as any other.
func TestNotifier_OutlivesPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := running(t, true)
		known := func(secretOfB string) *fleetstate.State {
			return stateWith(t, "1", nil, facts.NewSet(true,
				facts.Cluster{Name: "a", Secret: "uid-a"}, facts.Cluster{Name: "b", Secret: secretOfB}, facts.Cluster{Name: "hub-1", Secret: "uid-hub"}))
		}
		panics := func(secretOfB string) *fleetstate.State {
			st := known(secretOfB)
			st.Fleet = nil
			return st
		}
		f.n.Serving(known("uid-1"))
		f.expect(t, "the first state", everyone...)
		f.n.Serving(panics(""))
		f.expect(t, "a state that panics", "both", "dns-a", "members", "nested")
		f.n.Serving(panics("uid-2"))
		f.expect(t, "b's Secret is back", "nested")
		f.n.Serving(known("uid-2"))
		f.expect(t, "a good state", "both", "dns-a", "members", "nested")
	})
}

// Rules 2 and 3: exactly those are refreshed whose answer differs; all at the first state.
func TestNotifier_ExactlyWhatDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := running(t, true)
		f.expect(t, "before any state")
		f.n.Serving(state(t, "1", nil))
		f.expect(t, "the first state", everyone...)
		for _, c := range []struct {
			what  string
			files map[string]string
			want  []string
		}{
			{"another revision alone", nil, []string{"nested"}},
			{"a value in prod", map[string]string{values: "replicas: 2\n"}, []string{"both", "nested"}},
			{"and back", nil, []string{"both", "nested"}},
			{"a member's secret", map[string]string{fileA: "clusterName: a\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: other\n"}, []string{"members", "nested"}},
			{"a member that cannot be computed", map[string]string{fileA: "clusterName: a\n"}, []string{"both", "dns-a", "members", "nested"}},
			{"the same, at another line", map[string]string{fileA: "\nclusterName: a\n"}, []string{"both", "dns-a", "members", "nested"}},
		} {
			f.n.Serving(state(t, c.what, c.files))
			f.expect(t, c.what, c.want...)
		}
		if f.failed > 0 {
			t.Errorf("%d failures", f.failed)
		}
	})
}

// Rule 7: an ApplicationSet that could not ask, as the service was not reachable yet, asks again
// soon; and later and later if that does not help.
func TestNotifier_Failed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := running(t, true)
		failed := func(is bool) {
			f.mu.Lock()
			f.sets = []facts.ApplicationSet{set("members", `{"view":"members"}`), {Name: "other", Failed: is}}
			wake := f.wake
			f.mu.Unlock()
			wake()
		}
		synctest.Wait()
		failed(true)
		time.Sleep(time.Hour)
		f.expect(t, "nothing is served")
		f.n.Serving(state(t, "1", nil))
		f.expect(t, "the first state", "members", "other")
		var pauses []time.Duration
		for last := time.Now(); len(pauses) < 7; time.Sleep(time.Second) {
			if len(f.refreshed()) > 0 {
				pauses, last = append(pauses, time.Since(last)), time.Now()
			}
		}
		want := []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute}
		assert.Equal(t, want, pauses, "pauses")
		failed(false)
		time.Sleep(time.Hour)
		f.expect(t, "it has succeeded")
		failed(true)
		time.Sleep(3 * time.Second)
		f.expect(t, "it fails anew", "other")
	})
}

// Rule 2: an answer that was there for a moment only may have been asked for in that moment.
func TestNotifier_ThereAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := running(t, true)
		f.n.Serving(state(t, "1", nil))
		f.expect(t, "the first state", everyone...)
		there, back := state(t, "2", map[string]string{values: "replicas: 2\n"}), state(t, "3", nil)
		f.n.Serving(there)
		f.n.Serving(back)
		got := f.refreshed()
		if !slices.Contains(got, "both") || slices.Contains(got, "members") {
			t.Errorf("refreshed %v", got)
		}
	})
}

// Rules 3 and 5: until the ApplicationSets are known nothing is done, however many states come;
// then all are due, once.
func TestNotifier_UntilTheyAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := running(t, false)
		for i := range 20 {
			f.n.Serving(state(t, fmt.Sprint(i), nil))
		}
		f.expect(t, "unknown")
		f.mu.Lock()
		f.complete = true
		f.mu.Unlock()
		f.wake()
		f.expect(t, "known", everyone...)
		f.n.Serving(state(t, "next", map[string]string{values: "replicas: 2\n"}))
		f.expect(t, "the next", "both", "nested")
	})
}

// Rule 3: states that come faster than they can be compared make all due.
func TestNotifier_ManyStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := running(t, true)
		f.n.Serving(state(t, "1", nil))
		f.expect(t, "the first state", everyone...)
		var states []*fleetstate.State
		for i := range 20 {
			states = append(states, state(t, fmt.Sprint(i), nil))
		}
		release, entered := make(chan struct{}), make(chan struct{})
		var once sync.Once
		f.during = func() { once.Do(func() { close(entered) }); <-release }
		f.n.Serving(states[0])
		<-entered
		for _, st := range states[1:] {
			f.n.Serving(st)
		}
		close(release)
		got := f.refreshed()
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, everyone) {
			t.Errorf("refreshed %v", got)
		}
	})
}

// Rule 4: failures are tried again, later and later, and do not hold up others; they are logged
// once.
func TestNotifier_Failures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := running(t, true)
		f.fails["both"] = errors.New("access denied; allow patch")
		began := time.Now()
		f.n.Serving(state(t, "1", nil))
		f.expect(t, "the others", "dns-a", "garbage", "members", "nested", "wrong")
		// Differences add up meanwhile.
		f.n.Serving(state(t, "2", map[string]string{values: "replicas: 2\n"}))
		f.expect(t, "the nested", "nested")
		time.Sleep(10 * time.Minute)
		f.expect(t, "while it fails")
		f.mu.Lock()
		tries := len(f.tries) - 6 // those that went well
		last := f.tries[len(f.tries)-1].Sub(f.tries[len(f.tries)-2])
		f.fails = map[string]error{}
		f.mu.Unlock()
		if tries < 12 || tries > 20 || last != time.Minute {
			t.Errorf("%d tries in %s, the last after %s", tries, time.Since(began), last)
		}
		time.Sleep(2 * time.Minute)
		f.expect(t, "when it works again", "both")
		if n := strings.Count(f.log.String(), "access denied"); n != 1 || f.failed != tries {
			t.Errorf("logged %d times, counted %d of %d:\n%s", n, f.failed, tries, f.log)
		}
		time.Sleep(time.Hour)
		f.expect(t, "afterwards")
	})
}

// Rule 4: what is asked while it is being asked is asked once more.
func TestNotifier_ChangeDuringRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := running(t, true)
		f.n.Serving(state(t, "1", nil))
		f.expect(t, "the first state", everyone...)
		next := state(t, "3", map[string]string{values: "replicas: 3\n"})
		var once sync.Once
		f.during = func() { once.Do(func() { f.n.Serving(next) }) }
		f.n.Serving(state(t, "2", map[string]string{values: "replicas: 2\n"}))
		f.expect(t, "both changes", "both", "both", "nested")
	})
}

// Rule 2, D4: a set that has moved to another release is answered when the old one's ApplicationSet
// has let go of its Application; the new one is refreshed. What it controls itself is no reason to
// wait, so it is asked for by its own name.
func TestNotifier_MoveBetweenReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := running(t, true)
		question := func(release string) string {
			return `{"view":"components","group":"addons","component":"dns","release":"` + release + `"}`
		}
		f.mu.Lock()
		f.sets = []facts.ApplicationSet{set("canary", question("canary")), set("default", question("default"))}
		f.mu.Unlock()
		at := func(revision, releaseOfA, release, controller string) *fleetstate.State {
			const versions = "versions/applicationSets.yaml"
			a := facts.Application{Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Release: release, Controller: controller}
			known := facts.NewSet(false).WithApplications(a)
			if release == "" {
				known = known.WithApplications()
			}
			return stateWith(t, revision, map[string]string{
				fileA:    "clusterName: a\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: hub-1/a\nlabels: {addonsRelease: " + releaseOfA + "}\n",
				versions: "releases:\n  globals: {chartRepoUrl: r, chartRepoPath: p, chartRepoRevision: main, use_helm_repo_path: \"true\"}\n  addons: [{type: default}, {type: canary}]\n",
			}, known)
		}
		f.n.Serving(at("1", "default", "default", "default"))
		f.expect(t, "the first state", "canary", "default")
		f.n.Serving(at("2", "canary", "default", "default"))
		f.expect(t, "moved: the old owner is to let go", "default")
		f.n.Serving(at("2", "canary", "", ""))
		f.expect(t, "gone: the new one takes it", "canary")
		f.n.Serving(at("2", "canary", "canary", "canary"))
		f.expect(t, "taken")
		f.n.Serving(at("2", "canary", "default", "canary"))
		f.expect(t, "its own, with another label")
		f.n.Serving(at("2", "canary", "default", ""))
		f.expect(t, "nobody's")
	})
}

// Rule 6: a new one is not due.
func TestNotifier_NewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := running(t, true)
		f.n.Serving(state(t, "1", nil))
		f.expect(t, "the first state", everyone...)
		f.mu.Lock()
		f.sets = append(slices.Clone(sets), set("new", `{"view":"members"}`))
		f.mu.Unlock()
		f.wake()
		f.expect(t, "a new one")
	})
}

func TestNew_NeedsAClient(t *testing.T) {
	t.Parallel()
	if _, err := notify.New(notify.Options{}); err == nil {
		t.Error("made without a client")
	}
}
