package hub

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// reportOf is the report of a group with one component.
func reportOf(health string) facts.GroupReport {
	return facts.GroupReport{Components: facts.FormatReport([]facts.ComponentReport{{Component: "dns", Version: "1.0.0", Health: health}})}
}

// link is the report on the grant.
func (o *oneGrant) link() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.grant.Annotations[facts.ReportAnnotation]
}

// listening is a hub whose watches do not run, of which the Application that delivers the grant has
// the links of its ConfigMap.
type listening struct{ *Hub }

func newListening(ctx context.Context, t *testing.T, running *sync.WaitGroup) listening {
	t.Helper()
	h, err := New(Options{Config: &rest.Config{}})
	require.NoError(t, err)
	relist(h.secrets, object{ObjectMeta: secret("one", nil)})
	running.Go(func() { update(ctx, h.dirty, h.update, func() {}) })
	return listening{h}
}

// shows returns the fact of the grant's Application, which has some links.
func (l listening) shows(links ...string) facts.Application {
	o := object{ObjectMeta: app("grant-addons-one", nil, "cluster=one", "group=addons", "grant=addons")}
	o.Status.Summary.ExternalURLs = links
	receive(l.applications, o)
	time.Sleep(patience)
	synctest.Wait()
	return l.is()
}

func (l listening) is() facts.Application {
	a, _ := l.State().Facts.Application("grant-addons-one")
	return a
}

// TestReportReachesTheHub: an agent's service writes what its engine runs as a link of the grant,
// once at each change and from time to time; the hub takes it from the grant's Application. A
// service that is silent, a damaged report, and none, are told apart. (G4)
func TestReportReachesTheHub(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newOneGrant(facts.GrantFinalizer)
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		agentCtx, stopAgent := context.WithCancel(ctx)
		defer end()
		agent, hub := api.replica(agentCtx, t, &running), newListening(ctx, t, &running)

		is := hub.shows("https://example.com", "title|https://example.com")
		assert.Equal(t, false, is.IsReported(), "no report")
		agent.Report(map[string]facts.GroupReport{"addons": reportOf("Progressing")})
		time.Sleep(time.Second)
		agent.Report(map[string]facts.GroupReport{"addons": reportOf("Healthy")})
		time.Sleep(reportPause)
		synctest.Wait()
		is = hub.shows("https://example.com", api.link())
		if is.Report != reportOf("Healthy").Components || is.Unheard != "" || api.patched() != 2 {
			t.Fatalf("%+v after %d patches", is, api.patched())
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if n, want := api.patched(), 2+int(3*time.Hour/reportInterval); n < want-1 || n > want {
			t.Errorf("%d patches after three hours; expected %d", n, want)
		}
		if is := hub.is(); !strings.HasPrefix(is.Unheard, "its service has reported nothing since 2000-01-01 00:00:") {
			t.Errorf("three hours without a report: %+v", is)
		}
		if is := hub.shows(api.link()); is.Unheard != "" {
			t.Errorf("the report is new: %+v", is)
		}
		stopAgent()
		time.Sleep(reportLimit - reportInterval)
		if is := hub.is(); is.Unheard != "" {
			t.Errorf("the report may be as old: %+v", is)
		}
		time.Sleep(reportInterval)
		synctest.Wait()
		if is := hub.is(); is.Unheard == "" || is.Report == "" {
			t.Errorf("the agent is silent: %+v", is)
		}
		damaged := strings.Replace(api.link(), "Healthy", "healthy", 1)
		assert.Equal(t, facts.Application{
			Name: "grant-addons-one", Cluster: "one", Group: "addons", Grant: true, Unheard: "its report is damaged",
		}, hub.shows(damaged))
		fromTheFuture := facts.SealReport(reportOf("Healthy").Components, time.Now().Add(2*reportLimit))
		if is := hub.shows(fromTheFuture); !strings.HasPrefix(is.Unheard, "its clock is wrong: its report is of 2000-01-01 ") {
			t.Errorf("a report from the future: %+v", is)
		}
		hub.shows(facts.SealReport(reportOf("Healthy").Components, time.Now()))
		hub.applications.report(context.DeadlineExceeded)
		time.Sleep(patience)
		synctest.Wait()
		assert.Equal(t, "the hub's API server does not respond", hub.is().Unheard)
	})
}

// TestReportOfAChangingGroupIsNotWrittenEachTime: while components come and go, the hub's Argo CD
// gets a report every few seconds; what rings wait for is written at once.
func TestReportOfAChangingGroupIsNotWrittenEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newOneGrant(facts.GrantFinalizer)
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer end()
		agent := api.replica(ctx, t, &running)
		for n := range 60 {
			agent.Report(map[string]facts.GroupReport{"addons": reportOf([]string{"Healthy", "Progressing"}[n%2])})
			time.Sleep(time.Second)
		}
		if n, most := api.patched(), 1+int(time.Minute/reportPause); n < most-2 || n > most {
			t.Errorf("%d patches in a minute; expected %d", n, most)
		}
		before, report := api.patched(), reportOf("Healthy")
		report.Rings = "Healthy prod=1"
		agent.Report(map[string]facts.GroupReport{"addons": report})
		time.Sleep(2 * patience)
		synctest.Wait()
		if n := api.patched() - before; n != 1 {
			t.Errorf("%d patches for what rings wait for", n)
		}
	})
}
