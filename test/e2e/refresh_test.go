package e2e

import (
	"bufio"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
)

// moment is what the hub's ApplicationSets were at one time.
type moment struct {
	at        time.Time
	versions  map[string]string // resource versions, by name
	annotated map[string]string // when the service refreshed each
}

func (e *environment) now() moment {
	m := moment{at: time.Now(), versions: map[string]string{}, annotated: map[string]string{}}
	for name, o := range e.ledger.all(hub.Name, "ApplicationSet") {
		m.versions[name] = o.GetResourceVersion()
		m.annotated[name] = o.GetAnnotations()["argosy.dev/refreshed-at"]
	}
	return m
}

// reconciled fails unless, since a moment, exactly those ApplicationSets have been reconciled that
// own a component's Applications of some clusters: the service annotated them and no other, Argo CD
// has asked for their parameters and for no others', and nobody has written to another
// ApplicationSet, not even its status.
func (e *environment) reconciled(t *testing.T, since moment, component string, clusters []string) {
	t.Helper()
	var want []string
	for _, cluster := range clusters {
		for _, owner := range e.app(component + "-" + cluster).GetOwnerReferences() {
			want = append(want, owner.Name)
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	now := e.now()
	differ := func(before, after map[string]string) []string {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(after)), func(name string) bool { return before[name] == after[name] })
	}
	for what, got := range map[string][]string{
		"annotated by the service":    differ(since.annotated, now.annotated),
		"written to":                  differ(since.versions, now.versions),
		"asked for by the controller": e.asked(t, since.at),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ApplicationSets %s (-want +got):\n%s", what, diff)
		}
	}
	t.Logf("reconciled: %v of %d ApplicationSets", want, len(now.versions))
}

var question = regexp.MustCompile(`^time=(\S+) .* endpoint=getparams .* applicationSet=(\S+) `)

// asked are the ApplicationSets whose parameters the service has been asked for since a time, by
// its log.
func (e *environment) asked(t *testing.T, since time.Time) (names []string) {
	t.Helper()
	file, err := os.Open(e.Plugin.Process.Log())
	must(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		m := question.FindStringSubmatch(lines.Text())
		if len(m) < 3 || m[2] == asking {
			continue
		}
		at, err := time.Parse(time.RFC3339, m[1])
		must(t, err)
		if !at.Before(since.Truncate(time.Millisecond)) { // the log's precision
			names = append(names, m[2])
		}
	}
	must(t, lines.Err())
	slices.Sort(names)
	return slices.Compact(names)
}

// live pushes a value at a cluster's level again and again, each time when the last one has
// arrived: how long it takes from a push to the changed Application is the median of many.
func live(t *testing.T, e *environment, cluster, component string) {
	t.Helper()
	const pushes = 10
	path := "addons/tenants/retail/clusters/" + cluster + "/addons/" + component + "/values.yaml"
	var took []time.Duration
	before := e.now()
	for i := range pushes {
		value := string(rune('a' + i))
		if i == 0 {
			e.add(t, path, "podAnnotations:\n  live: a\n")
		} else {
			e.replace(t, path, "live: "+string(rune('a'+i-1)), "live: "+value)
		}
		mark := e.ledger.mark()
		began := e.push(t, "A value that is "+value)
		e.eventually(t, "the Application with "+value, func() string {
			return e.unchanged(mark, hub.Name, "Application", component, []string{cluster})
		})
		took = append(took, time.Since(began))
	}
	e.settle(t)
	e.reconciled(t, before, component, []string{cluster})
	slices.Sort(took)
	e.timings = append(e.timings,
		timing{"override", "push to Application, median of 10", took[pushes/2]}, timing{"override", "push to Application, slowest of 10", took[pushes-1]})
}
