package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// watched are ApplicationSets that are watched for the time of the test, and triggers at changes.
func watched(t *testing.T, a *api, log *slog.Logger) (*ApplicationSets, <-chan struct{}) {
	t.Helper()
	s, err := NewApplicationSets(Options{Config: a.config(), Log: log}, "generator-plugin")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ran, changes := make(chan struct{}), run.NewTrigger()
	go func() {
		defer close(ran)
		s.Run(ctx, changes.Fire)
	}()
	t.Cleanup(func() {
		cancel()
		<-ran
	})
	return s, changes
}

// until waits for a list.
func until(t *testing.T, s *ApplicationSets, changes <-chan struct{}, what string, ok func([]facts.ApplicationSet, bool) bool) []facts.ApplicationSet {
	t.Helper()
	end := time.After(deadline)
	for {
		list, complete := s.List()
		if ok(list, complete) {
			return list
		}
		select {
		case <-changes:
		case <-end:
			t.Fatalf("waited in vain for %s: %+v, %v", what, list, complete)
		}
	}
}

func plugin(configMap, parameters string) string {
	return fmt.Sprintf(`{"plugin":{"configMapRef":{"name":%q},"input":{"parameters":%s}}}`, configMap, parameters)
}

// What is kept of ApplicationSets is what they ask our plugin, wherever the question
// stands.
func TestApplicationSets_Questions(t *testing.T) {
	t.Parallel()
	const ours = "generator-plugin"
	a := newAPI(t)
	a.ask("members", "["+plugin(ours, `{"view":"members","hub":"hub-eu"}`)+"]")
	a.ask("two", "["+plugin(ours, `{"view":"agents"}`)+`,{"list":{"elements":[]}},`+plugin(ours, `null`)+"]")
	a.ask("foreign", "["+plugin("other", `{"view":"members"}`)+`,{"clusters":{}}]`)
	a.ask("literal", "["+plugin(ours, `{"view":"{{ .x }}"}`)+"]") // Argo CD does not template it there
	a.ask("matrix", `[{"matrix":{"generators":[{"clusters":{}},`+plugin(ours, `{"view":"components","owner":"{{ .name }}"}`)+`]}}]`)
	a.ask("deep", `[{"merge":{"generators":[{"matrix":{"generators":[`+plugin(ours, `{"view":"members"}`)+`,{"git":{}}]}},`+plugin("other", `{"x":"{{ .y }}"}`)+`]}}]`)
	a.ask("strange", `[{"plugin":"?"}]`)
	s, changes := watched(t, a, nil)
	got := until(t, s, changes, "the first list", func(_ []facts.ApplicationSet, complete bool) bool { return complete })
	want := []facts.ApplicationSet{
		{Name: "deep", Requests: raw(`{"view":"members"}`)},
		{Name: "literal", Requests: raw(`{"view":"{{ .x }}"}`)},
		{Name: "matrix", Templated: true},
		{Name: "members", Requests: raw(`{"hub":"hub-eu","view":"members"}`)},
		{Name: "two", Requests: raw(`{"view":"agents"}`, `{}`)},
	}
	assert.Equal(t, want, got)
	a.removeFrom("applicationsets", "two")
	a.ask("members", "["+plugin(ours, `{"view":"members"}`)+"]")
	until(t, s, changes, "the changes", func(l []facts.ApplicationSet, _ bool) bool {
		return len(l) == 4 && cmp.Equal(l[3].Requests, raw(`{"view":"members"}`))
	})
}

func raw(texts ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, t := range texts {
		out = append(out, json.RawMessage(t))
	}
	return out
}

// Each refresh changes the object, even if the annotation of the one before is still there: Argo
// CD's controller, which is about to take it away, conflicts then.
func TestApplicationSets_Refresh(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.ask("members", "["+plugin("generator-plugin", `{"view":"members"}`)+"]")
	s, changes := watched(t, a, nil)
	until(t, s, changes, "the first list", func(_ []facts.ApplicationSet, complete bool) bool { return complete })
	var at []string
	for range 2 {
		require.NoError(t, s.Refresh(t.Context(), "members"))
		a.mu.Lock()
		annotations := a.objects["applicationsets"]["members"].Annotations
		a.mu.Unlock()
		if annotations["argocd.argoproj.io/application-set-refresh"] != "true" || len(annotations) != 2 {
			t.Errorf("annotations %v", annotations)
		}
		at = append(at, annotations["argosy.dev/refreshed-at"])
	}
	if at[0] == at[1] || at[0] == "" {
		t.Errorf("the second refresh changes nothing: %v", at)
	}
	assert.NoError(t, s.Refresh(t.Context(), "gone"), "one that has gone")
	a.failFor(http.StatusForbidden, "applicationsets")
	err := s.Refresh(t.Context(), "members")
	if want := `applicationsets in namespace "argocd": access denied; allow patch on applicationsets.argoproj.io`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, p := range a.paths {
		if !strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(p, "GET "), "PATCH "), "/apis/argoproj.io/v1alpha1/namespaces/argocd/applicationsets") {
			t.Errorf("request %s", p)
		}
	}
}

// Where they may not be asked for, there is no list; it is logged once, with the permission, and
// tried again.
func TestApplicationSets_Forbidden(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.ask("members", "["+plugin("generator-plugin", `{"view":"members"}`)+"]")
	a.failFor(http.StatusForbidden, "applicationsets")
	log := &logs{}
	s, changes := watched(t, a, slog.New(slog.NewTextHandler(log, nil)))
	until(t, s, changes, "the log", func(_ []facts.ApplicationSet, complete bool) bool {
		return !complete && strings.Contains(log.String(), "access denied; allow list, watch and patch on applicationsets.argoproj.io")
	})
	a.failFor(0, "applicationsets")
	until(t, s, changes, "the list", func(l []facts.ApplicationSet, complete bool) bool { return complete && len(l) == 1 })
	if n := strings.Count(log.String(), "access denied"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log)
	}
}

// One whose last question failed says so until it has succeeded.
func TestApplicationSets_Failed(t *testing.T) {
	t.Parallel()
	a := &ApplicationSets{configMap: "generator-plugin"}
	for conditions, want := range map[string]bool{
		`[]`: false,
		`[{"type":"ErrorOccurred","status":"True"},{"type":"ResourcesUpToDate","status":"False"}]`: true,
		`[{"type":"ErrorOccurred","status":"False"},{"type":"ResourcesUpToDate","status":"True"}]`: false,
	} {
		var o object
		require.NoError(t, json.Unmarshal([]byte(`{"metadata":{"name":"x"},"status":{"conditions":`+conditions+`}}`), &o))
		if s := a.reduce(&o, nil, time.Time{}); s.Failed != want {
			t.Errorf("%s: %+v; failed should be %t", conditions, s, want)
		}
	}
}
