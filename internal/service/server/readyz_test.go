package server_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// code is what a text in an open answer may be: a code of this program, a revision or a time.
var code = regexp.MustCompile(`^([a-z]+(-[a-z]+)*|sha256:[0-9a-f]{32}|\d{4}-\d\d-\d\dT[0-9:.]+Z)$`)

// TestReadyzIsOpenInCodesAndNumbers: whatever is refused, /readyz without a token has the revision,
// codes and numbers, and no text of a file, a fact or an address; with a token it says why.
func TestReadyzIsOpenInCodesAndNumbers(t *testing.T) {
	t.Parallel()
	shared, _ := newSharedStore(t)
	full := store.New(&storetest.Memory{Fails: func(string) error { return errors.New("s3cret: it is full") }})
	away := fleettest.Report{Err: &source.Error{Reason: source.Unreachable, Source: "https://user:passw0rd@git.example.test/fleet.git", Detail: "passw0rd is wrong"}}
	noMember := map[string]string{"fleet/fleet-members/hub-1/a.yaml": "", "fleet/fleet-members/hub-1/b.yaml": "", "fleet/fleet-members/hub-1/hub-1.yaml": ""}
	for what, c := range map[string]struct {
		change  func(*server.Options)
		say     []map[string]string
		report  *fleettest.Report
		until   func(refresh.Status) bool
		message string
		count   string // of the open answer
		why     string // of the answer to a token
	}{
		"a broken member": {
			say:   []map[string]string{repository(nil), repository(map[string]string{fileA: memberA + "s3cret-key: x\n"})},
			until: func(st refresh.Status) bool { return len(st.Quarantined) == 1 }, count: `"quarantinedMembers":1,`, why: "s3cret-key",
		},
		"a broken commit": {
			say:   []map[string]string{repository(nil), repository(map[string]string{"fleet/layout.yaml": "s3cret-key: x\n"})},
			until: func(st refresh.Status) bool { return len(st.Refused) == 1 }, count: `"refused":[{"cause":"commit","reason":"unknown-key","problems":1,`, why: "s3cret-key",
		},
		"a broken first commit": {
			say:   []map[string]string{repository(map[string]string{"fleet/layout.yaml": "s3cret-key: x\n"})},
			until: func(st refresh.Status) bool { return len(st.Refused) == 1 }, message: "not ready: no commit", count: `"ready":false,`, why: "s3cret-key",
		},
		"a source that is away": {
			say: []map[string]string{repository(nil)}, report: &away,
			until: func(st refresh.Status) bool { return len(st.Refused) == 1 }, count: `"refused":[{"cause":"source","reason":"unreachable","problems":1,`, why: "git.example.test",
		},
		"a removal": {
			change: func(o *server.Options) { o.Store = shared },
			say:    []map[string]string{repository(nil), repository(noMember)},
			until:  func(st refresh.Status) bool { return len(st.Refused) == 1 }, count: `"refused":[{"cause":"commit",`, why: "hub-1",
		},
		"a store that cannot be written": {
			change: func(o *server.Options) { o.Store = full },
			say:    []map[string]string{repository(nil)}, until: refresh.Status.Ready, count: `"stateProblems":1,`, why: "s3cret: it is full",
		},
		"facts that cannot be read": {
			change: func(o *server.Options) {
				o.Facts = factsAway{&changingFacts{running: make(chan struct{})}}
			},
			report: &fleettest.Report{Snapshot: snapshot.FromMap(repository(nil))},
			until:  func(st refresh.Status) bool { return len(st.Refused) == 1 }, message: "not ready: no commit", count: `"cause":"facts"`, why: "s3cret",
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if c.change == nil {
				c.change = func(*server.Options) {}
			}
			s := start(t, c.change)
			for _, files := range c.say {
				s.say(files)
			}
			if c.report != nil {
				s.script.Reports <- *c.report
			}
			s.until("as wanted", c.until)
			open := s.get("/readyz", "Authorization", "")
			var body map[string]any
			require.NoError(t, json.Unmarshal([]byte(open.body), &body))
			message, _ := body["message"].(string)
			delete(body, "message")
			if !strings.HasPrefix(message, c.message) || c.message == "" && message != "" || !strings.Contains(open.body, c.count) {
				t.Errorf("message %q; lacks %s: %s", message, c.count, open.body)
			}
			for _, found := range texts(body) {
				if !code.MatchString(found) {
					t.Errorf("the open answer has %q: %s", found, open.body)
				}
			}
			if detailed, _ := s.readiness(); !strings.Contains(detailed.body, c.why) || detailed.code != open.code || strings.Contains(open.body, c.why) {
				t.Errorf("%d, with the token %d %s", open.code, detailed.code, detailed.body)
			}
		})
	}
}

// factsAway are facts that cannot be read.
type factsAway struct{ *changingFacts }

func (factsAway) Current() (facts.Set, bool) { return facts.Set{}, false }
func (factsAway) Err() error                 { return errors.New("https://10.9.8.7/s3cret: refused") }

// texts are all texts in a value of JSON.
func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			all = append(all, texts(v[k])...)
		}
	}
	return all
}

// TestReadyzSaysWhyToTokensOfTheWholeHub: a token that sees some tenants or members, or not the
// fleet, is refused, and so is a wrong one; a probe without a token never is.
func TestReadyzSaysWhyToTokensOfTheWholeHub(t *testing.T) {
	t.Parallel()
	k := tokensOf(t, map[string]string{
		"people": "{routes: [fleet]}", "here": "{routes: [fleet], hubs: [hub-1]}", "there": "{routes: [fleet], hubs: [hub-2]}",
		"tenant": "{routes: [fleet], tenants: [retail]}", "agent": "{routes: [fleet], owners: [a]}", "forge": "{routes: [webhook]}",
	})
	s := serving(t, k.use)
	s.say(repository(map[string]string{fileA: memberA + "s3cret-key: x\n"}))
	for name, want := range map[string]int{"people": 200, "here": 200, "there": 403, "tenant": 403, "agent": 403, "forge": 403, "wrong": 401} {
		token := k.values[name]
		if name == "wrong" {
			token = "a-token-that-nobody-has-declared"
		}
		r := s.get("/readyz", "Authorization", "Bearer "+token)
		if r.code != want || strings.Contains(r.body, "s3cret-key") != (want == http.StatusOK) {
			t.Errorf("%s: %d %s", name, r.code, r.body)
		}
	}
	s.get("/readyz", "Authorization", "").is(t, http.StatusOK, "a probe")
}

// TestNoReasonBeforeTheFirstStateForRestrictedTokens: why there is no state yet may be in a file of
// another tenant.
func TestNoReasonBeforeTheFirstStateForRestrictedTokens(t *testing.T) {
	t.Parallel()
	k := tokensOf(t, map[string]string{"tenant": "{routes: [fleet, getparams], tenants: [payments]}"})
	s := start(t, k.use)
	s.say(repository(map[string]string{"fleet/layout.yaml": "s3cret-key: x\n"}))
	if r := s.get("/api/v1/fleet", "Authorization", "Bearer "+k.values["tenant"]); r.code != 503 || strings.Contains(r.body, "s3cret-key") {
		t.Errorf("%d %s", r.code, r.body)
	}
	s.get("/api/v1/fleet").is(t, 503, "", "s3cret-key")
}

// TestReplicaIsReadyOnceItReadItsRecords: a replica that starts while a member is held gets no
// requests before it can respond to all of them. One whose store goes away meanwhile does get them.
func TestReplicaIsReadyOnceItReadItsRecords(t *testing.T) {
	t.Parallel()
	broken := repository(map[string]string{fileA: memberA + "tenant: twice\n"})
	for what, away := range map[string]error{"slow": nil, "away": errors.New("it is away")} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			kept, memory := storetest.New()
			serving(t, in(kept)).say(broken)
			second := start(t, in(kept))
			begun, goOn := make(chan struct{}), make(chan struct{})
			var once sync.Once
			memory.OnGet(func(name string) error {
				if !strings.Contains(name, "_holds") || second.Refresher().State() == nil {
					return nil
				}
				once.Do(func() { close(begun) })
				<-goOn
				return away
			})
			second.say(broken)
			<-begun
			second.get("/readyz").is(t, http.StatusServiceUnavailable, "while it reads", "is being read")
			close(goOn)
			for deadline := time.Now().Add(patient); second.get("/readyz").code != http.StatusOK; {
				if time.Now().After(deadline) {
					t.Fatal("it never gets ready")
				}
			}
			code := http.StatusOK
			if away != nil {
				code = http.StatusServiceUnavailable
			}
			second.ask(`{"view":"members"}`).is(t, code, "the members once it is ready")
		})
	}
}
