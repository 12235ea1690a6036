package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const dnsValues = "addons/defaults/addons/dns/values.yaml"

// sets are the parameter sets of an answer, by cluster and name.
func (s *service) sets(parameters string) map[string]map[string]any {
	s.Helper()
	r := s.answered("try", parameters)
	if r.code != 200 {
		s.Fatalf("%s: %d %s", parameters, r.code, r.body)
	}
	return setsIn(s.TB, r.body)
}

func setsIn(t testing.TB, body string) map[string]map[string]any {
	t.Helper()
	var answer struct {
		Output struct{ Parameters []map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	out := map[string]map[string]any{}
	for _, set := range answer.Output.Parameters {
		name, _ := set["applicationName"].(string)
		out[name] = set
	}
	return out
}

// unflagged is a set without what tells that it is a last good one.
func unflagged(set map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range set {
		if k != "hold" && k != "revision" {
			out[k] = v
		}
	}
	return out
}

// Rule G2: what is broken of one member keeps that member as it was, flagged, in every view; all
// others go on, and when it is fixed, it does too.
func TestBrokenMemberKeepsItsSets(t *testing.T) {
	questions := []string{
		`{"view":"members"}`, `{"view":"components","group":"addons"}`,
		`{"view":"components","group":"addons","component":"dns","base":{"values":{"base":"{{ .cluster }}"}}}`,
	}
	const values = "addons/tenants/retail/clusters/a/addons/dns/values.yaml"
	for what, c := range map[string]struct {
		files map[string]string
		flag  string
	}{
		"member":   {map[string]string{fileA: memberA + "tenant: twice\n"}, "duplicate-key: " + fileA},
		"release":  {map[string]string{fileA: memberA + "labels: {addonsRelease: nosuch}\n"}, "unknown-release: " + fileA},
		"values":   {map[string]string{values: "\n\na: [\n"}, "invalid-yaml: " + values},
		"template": {map[string]string{values + ".gotmpl": "a: {{ .labels.absent }}\n"}, "template-failed: " + values + ".gotmpl"},
	} {
		t.Run(what, func(t *testing.T) {
			s := serving(t)
			good := s.Refresher().State().Revision
			before := map[string]map[string]map[string]any{}
			for _, q := range questions {
				before[q] = s.sets(q)
			}
			c.files[dnsValues] = "replicas: 2\n"
			broken := s.say(repository(c.files))
			for _, q := range questions {
				after := s.sets(q)
				if len(after) != len(before[q]) {
					t.Errorf("%s: %d sets, then %d", q, len(before[q]), len(after))
				}
				for name, set := range after {
					if set["name"] != "a" {
						if _, flagged := set["hold"]; flagged || set["revision"] != broken.Revision {
							t.Errorf("%s: %s has %v", q, name, set)
						}
						continue
					}
					if set["hold"] != "broken" || set["revision"] != good {
						t.Errorf("%s: %s has %q", q, name, set["hold"])
					}
					assert.Equal(t, unflagged(before[q][name]), unflagged(set), "%s: %s has changed", q, name)
				}
			}
			assert.Equal(t, "replicas: 2\n", s.sets(questions[1])["dns-b"]["helmValues"], "b has not gone on")
			// Everybody sees it.
			r, body := s.readiness()
			if r.code != 200 || !body.Ready || body.Revision != broken.Revision || len(body.Refused) != 0 || len(body.Quarantined) != 1 {
				t.Fatalf("%d %s", r.code, r.body)
			}
			q := body.Quarantined[0]
			if q.Hub != "hub-1" || q.Member != "a" || q.Standing != "kept" || q.Revision != good || !strings.HasPrefix(c.flag, q.Reason+": ") ||
				!strings.Contains(q.Problem, strings.TrimPrefix(c.flag, q.Reason+": ")+":") || q.Since.IsZero() {
				t.Errorf("%+v", q)
			}
			s.isSettled(r)
			if m := s.get("/metrics").body; !strings.Contains(m, `argosy_quarantined_members{standing="kept"} 1`+"\n") || strings.Contains(m, `argosy_serving_stale{cause="commit"} 1`) {
				t.Error("the metrics do not say so")
			}
			var listed server.Fleet
			require.NoError(t, json.Unmarshal([]byte(s.get("/api/v1/fleet").body), &listed))
			for _, m := range listed.Clusters {
				switch {
				case m.Hub != "hub-1" || m.Name != "a":
					if m.Quarantine != nil {
						t.Errorf("%+v", m)
					}
				case m.Quarantine == nil || m.Quarantine.Standing != "kept" || m.Quarantine.Revision != good || m.Quarantine.Problem != q.Problem || m.Tenant != "retail" || len(m.Problems) == 0:
					t.Errorf("%+v %+v", m, m.Quarantine)
				}
			}
			if log := s.log.String(); !strings.Contains(log, "msg=quarantined member=a hub=hub-1 standing=kept") {
				t.Error("the log does not say so")
			}
			// A commit that leaves it broken changes nothing of it, and its flag not either.
			first := s.sets(questions[1])["dns-a"]
			c.files["README.md"] = "# more\n"
			s.say(repository(c.files))
			assert.Equal(t, first, s.sets(questions[1])["dns-a"], "another commit")
			fixed := s.say(repository(map[string]string{dnsValues: "replicas: 2\n"}))
			for name, set := range s.sets(questions[1]) {
				if _, flagged := set["hold"]; flagged || set["revision"] != fixed.Revision || set["helmValues"] != "replicas: 2\n" {
					t.Errorf("fixed: %s has %v", name, set)
				}
			}
			if _, body := s.readiness(); len(body.Quarantined) != 0 {
				t.Errorf("%+v", body)
			}
		})
	}
}

// A member whose own Flux runs what the service's registry has for it keeps that, byte by byte.
// (G2)
func TestArtifactOfABrokenAgentStays(t *testing.T) {
	agent := memberA + "use_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n"
	s := start(t)
	s.say(repository(map[string]string{fileA: agent}))
	artifact := func() flux.Artifact {
		t.Helper()
		a, err := flux.Build(s.Refresher().State(), "hub-1", "a")
		require.NoError(t, err)
		return a
	}
	before, agents := artifact(), s.sets(`{"view":"agents"}`)
	s.say(repository(map[string]string{fileA: agent + "tenannt: x\n", dnsValues: "replicas: 2\n"}))
	if after := artifact(); after.Layer.Digest != before.Layer.Digest {
		t.Error("the artifact has changed")
	}
	if diff := cmp.Diff(len(agents), len(s.sets(`{"view":"agents"}`))); diff != "" || s.sets(`{"view":"agents"}`)["agent-a"]["hold"] == nil {
		t.Error("the agent's set is gone, or not flagged")
	}
	if list := s.sets(`{"view":"components","group":"addons","owner":"a"}`); list["dns-a"]["helmValues"] != agents["agent-a"]["components"].([]any)[0].(map[string]any)["helmValues"] {
		t.Errorf("its own engine gets %v", list)
	}
}

// A restart while a member is broken changes no byte of the answers, even when the server of the
// repository is away and its history has been rewritten. (G4)
func TestRestartKeepsABrokenMembersSets(t *testing.T) {
	t.Parallel()
	bare, state := filepath.Join(t.TempDir(), "fleet.git"), t.TempDir()
	w := work{t, t.TempDir()}
	w.git("init", "-q", "--bare", bare)
	w.git("init", "-q")
	w.git("remote", "add", "origin", bare)
	first := w.push(repository(nil))
	open := func(o *server.Options) {
		var err error
		o.Store = folderStore(t, filepath.Join(state, "state"))
		if o.Source, err = location.Open(git.Options{Location: "file://" + bare, StateDir: state, Interval: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, open)
	s.until("serving", func(st refresh.Status) bool { return st.Revision == first })
	second := w.push(map[string]string{fileA: "clusterName: [\n", dnsValues: "replicas: 2\n"})
	s.do(s.request("POST", "/api/v1/webhook", "{}"))
	s.until("serving the broken one", func(st refresh.Status) bool { return st.Revision == second })
	questions := []string{`{"view":"members"}`, `{"view":"components","group":"addons"}`, `{"view":"releases","group":"addons"}`, `{"view":"agents"}`}
	var before []string
	for _, q := range questions {
		before = append(before, s.ask(q).body)
	}
	if sets := setsIn(t, before[1]); sets["dns-a"]["revision"] != first || sets["dns-b"]["revision"] != second {
		t.Fatalf("%v", sets)
	}
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, os.Rename(bare, bare+".away"))
	require.NoError(t, os.RemoveAll(filepath.Join(state, "mirror.git")))
	again := start(t, open)
	again.until("serving again", func(st refresh.Status) bool { return st.Revision == second })
	for i, q := range questions {
		if r := again.ask(q); r.code != 200 || r.body != before[i] {
			t.Errorf("%s: %d %s, before %s", q, r.code, r.body, before[i])
		}
	}
	// Nothing of the first commit is left, and the member is still broken.
	require.NoError(t, os.Rename(bare+".away", bare))
	w.git("checkout", "-q", "--orphan", "other")
	w.git("commit", "-qm", "rewritten")
	w.git("push", "-qf", "origin", "HEAD:main")
	rewritten := w.git("rev-parse", "HEAD")
	again.do(again.request("POST", "/api/v1/webhook", "{}"))
	again.until("serving the rewritten one", func(st refresh.Status) bool { return st.Revision == rewritten })
	if sets := again.sets(questions[1]); sets["dns-a"]["revision"] != first || sets["dns-b"]["revision"] != rewritten {
		t.Errorf("%v", sets)
	}
	fixed := w.push(map[string]string{fileA: memberA})
	again.do(again.request("POST", "/api/v1/webhook", "{}"))
	again.until("fixed", func(st refresh.Status) bool { return st.Revision == fixed && len(st.Quarantined) == 0 })
	require.NoError(t, again.Stop(t.Context()))
	if left, err := filepath.Glob(filepath.Join(state, "state", "snapshots-v3-*")); err != nil || len(left) != 1 {
		t.Errorf("snapshots %v, %v; want that of the accepted revision", left, err)
	}
}

// Rules D2 and G4: a draining member keeps each byte of its answers whatever is committed, over a
// restart with a state file too; /api/v1/fleet says since which revision. It is no quarantine, and
// it takes everything once it is active again.
func TestDrainingMemberTakesNoChanges(t *testing.T) {
	const question = `{"view":"components","group":"addons"}`
	keep := storedIn(t, t.TempDir())
	s := serving(t, keep)
	good := s.Refresher().State().Revision
	before := s.sets(question)["dns-a"]
	draining := map[string]string{
		"fleet/layout.yaml": "guard: {window: 0s}\n",
		fileA:               memberA + "lifecycle: draining\nlabels: {ring: slow}\n", dnsValues: "replicas: 2\n",
		"addons/tenants/defaults/application-sets/addons.yaml": "dns: {enabled: false}\n",
	}
	check := func(s *service, when string) {
		t.Helper()
		after := s.sets(question)
		assert.Equal(t, text(t, unflagged(before)), text(t, unflagged(after["dns-a"])), "%s", when)
		if _, is := after["dns-b"]; is {
			t.Errorf("%s: b has not gone on", when)
		}
		var listed server.Fleet
		require.NoError(t, json.Unmarshal([]byte(s.get("/api/v1/fleet").body), &listed))
		if a := listed.Clusters[0]; a.Name != "a" || a.Lifecycle != "draining" || a.Keeps != good || a.Quarantine != nil {
			t.Errorf("%s: %+v", when, a)
		}
		if _, ready := s.readiness(); ready.QuarantinedMembers != 0 {
			t.Errorf("%s: %+v", when, ready.Quarantined)
		}
	}
	s.say(repository(draining))
	check(s, "the commit")
	draining["addons/defaults/addons/dns/values.yaml"] = "replicas: 3\n"
	s.say(repository(draining))
	check(s, "a later commit")
	require.NoError(t, s.Stop(t.Context()))
	again := start(t, keep)
	again.script.Reports <- fleettest.Report{Snapshot: snapshot.FromMap(repository(draining))}
	again.until("serving again", refresh.Status.Ready)
	check(again, "a restart")
	draining[fileA] = memberA
	again.say(repository(draining))
	if sets := again.sets(question); len(sets["dns-a"]) != 0 {
		t.Errorf("active again: %v", sets["dns-a"])
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}
