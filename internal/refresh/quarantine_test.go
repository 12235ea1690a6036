package refresh_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// quarantined checks who is, what becomes of each, and from which revision it is answered.
func (h *harness) quarantined(want ...string) {
	h.Helper()
	got := []string{}
	for _, q := range h.r.Status().Quarantined {
		if q.Reason == "" || q.Problem == "" || q.Problems < 1 || q.Since.IsZero() {
			h.Errorf("%+v", q)
		}
		got = append(got, strings.TrimSpace(q.Member+" "+string(q.Standing)+" "+q.Revision))
	}
	if !slices.Equal(got, want) {
		h.Errorf("quarantined %q, want %q", got, want)
	}
}

// answer is the answer about all members.
func (h *harness) answer() string {
	h.Helper()
	b, err := response.Bytes(h.r.State(), query.Query{View: query.Members, Hub: "hub-1"})
	require.NoError(h, err)
	return string(b)
}

// Rule G2: a commit that breaks a member is taken, and leaves that member at its last good
// revision.
func TestBrokenMemberDoesNotHoldUpTheOthers(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"file":    {"fleet/fleet-members/hub-1/a.yaml": broken},
		"release": {"fleet/fleet-members/hub-1/a.yaml": member + "labels: {addonsRelease: nosuch}\n"},
		"values":  {"addons/tenants/retail/clusters/a/fleet/fleet-secret/values.yaml": "a: [\n"},
		"twin":    {"fleet/fleet-members/hub-1/a.yaml": strings.ReplaceAll(member, ": a\n", ": b\n")},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, nil)
			files["addons/defaults/addons/dns/values.yaml"] = "a: 1\n"
			good := h.takes(fleet(map[string]string{"addons/defaults/addons/dns/values.yaml": "a: 1\n"}))
			files["fleet/fleet-members/hub-1/b.yaml"] = strings.ReplaceAll(member, ": a\n", ": b\n") + "labels: {tier: gold}\n"
			h.takes(fleet(files))
			h.quarantined("a kept " + good.Revision)
			first := h.r.Status().Quarantined[0]
			assert.Equal(t, "gold", h.label("b", "tier"), "b is held up")
			// The next commit leaves it where it is, since then.
			files["README.md"] = "# more\n"
			h.takes(fleet(files))
			if again := h.r.Status().Quarantined; len(again) != 1 || again[0] != first {
				t.Errorf("%+v, then %+v", first, again)
			}
			h.takes(good)
			h.quarantined()
		})
	}
}

// What a Secret says reaches a member at home as any other.
func TestFactsReachAQuarantinedMember(t *testing.T) {
	k := newKnown(true, cluster("a"), cluster("b"))
	h := start(t, k)
	good := h.takes(fleet(nil))
	h.takes(fleet(map[string]string{"fleet/fleet-members/hub-1/a.yaml": broken}))
	k.say(cluster("a", "tier", "gold"), cluster("b"))
	h.until("gold", func(refresh.Status) bool { return h.label("a", "tier") == "gold" })
	h.quarantined("a kept " + good.Revision)
	// Facts that break it at home, too, are refused for it alone.
	k.say(cluster("a", "tier", "lead", "addonsRelease", "nosuch"), cluster("b", "tier", "gold"))
	h.refused(refresh.Facts)
	if a, b := h.label("a", "tier"), h.label("b", "tier"); a != "gold" || b != "gold" {
		t.Errorf("a has %s, b has %s", a, b)
	}
	h.quarantined("a kept " + good.Revision)
}

// Facts that break a member which has no Applications are no reason to leave it out: it is answered
// for until now.
func TestFactsDoNotLeaveAMemberOut(t *testing.T) {
	k := newKnown(true)
	k.set = facts.NewSet(true, cluster("a"), cluster("b")).WithApplications()
	h := start(t, k)
	h.takes(fleet(nil))
	k.sayAll(facts.NewSet(true, cluster("a", "addonsRelease", "nosuch"), cluster("b")).WithApplications())
	h.refused(refresh.Facts)
	h.quarantined()
}

// A member that is broken from its first commit has nothing to lose.
func TestANewMemberThatIsBrokenIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	h := startWith(t, nil, folder(t, dir))
	good := h.takes(fleet(nil))
	before := h.answer()
	bad := h.takes(fleet(map[string]string{"fleet/fleet-members/hub-1/n.yaml": "clusterName: [\n"}))
	h.quarantined("n left-out")
	if got := strings.ReplaceAll(h.answer(), bad.Revision, good.Revision); got != before {
		t.Errorf("%s, then %s", before, got)
	}
	// So it is after a restart: that nothing is lost is known only from before it.
	require.NoError(t, h.r.Stop())
	h = startWith(t, nil, folder(t, dir))
	h.say(nil, errors.New("script: away"))
	h.until("serving", func(st refresh.Status) bool { return st.Revision == bad.Revision })
	h.quarantined("n left-out")
	h.answer()
}

// A restart goes on with the members that were at home, whatever the source has of their revisions.
// (G4)
func TestRestartKeepsAQuarantinedMember(t *testing.T) {
	dir := t.TempDir()
	record := func(name string) string { return filepath.Join(dir, name+".record") }
	snapshots := func() []string {
		t.Helper()
		found, err := filepath.Glob(record("snapshots-v3-*"))
		require.NoError(t, err)
		return found
	}
	const fileB = "fleet/fleet-members/hub-1/b.yaml"
	first := fleet(map[string]string{"docs/large.yaml": strings.Repeat("x", snapshot.MaxFileSize+1)})
	files := map[string]string{"fleet/fleet-members/hub-1/a.yaml": broken}
	second := fleet(files)
	files[fileB] = "clusterName: [\n"
	third := fleet(files)
	h := startWith(t, nil, folder(t, dir))
	for _, s := range []*snapshot.Snapshot{first, second, third} {
		h.takes(s)
	}
	h.quarantined("a kept "+first.Revision, "b kept "+second.Revision)
	want := h.answer()
	require.NoError(t, h.r.Stop())
	require.Equal(t, 3, len(snapshots()), "snapshots %q", snapshots())
	restarted := func() *harness {
		t.Helper()
		h := startWith(t, nil, folder(t, dir))
		h.say(nil, errors.New("script: away"))
		h.until("serving what was accepted", func(st refresh.Status) bool { return st.Revision == third.Revision })
		return h
	}
	h = restarted()
	h.quarantined("a kept "+first.Revision, "b kept "+second.Revision)
	if got := h.answer(); got != want {
		t.Errorf("%s, after a restart %s", want, got)
	}
	// It goes on from there; what nobody needs any more is removed.
	delete(files, fileB)
	fourth := h.takes(fleet(files))
	h.quarantined("a kept " + first.Revision)
	require.NoError(t, h.r.Stop())
	assert.Equal(t, 2, len(snapshots()), "snapshots %q", snapshots())
	// A last known good snapshot that is missing, cut off, another's or changed is not used: its
	// member is refused.
	read := func(path string) []byte {
		t.Helper()
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return data
	}
	accepted, path, other := read(record("accepted-v3")), snapshots()[0], snapshots()[1]
	isOf := func(path string) bool {
		content, _, err := folder(t, dir).Read(t.Context(), strings.TrimSuffix(filepath.Base(path), ".record"))
		return err == nil && bytes.Contains(content, []byte(first.Revision))
	}
	if !isOf(path) {
		path, other = other, path
	}
	data, another := read(path), read(other)
	changed := bytes.Clone(data)
	changed[len(changed)-20] ^= 1
	for what, damaged := range map[string][]byte{"missing": nil, "empty": {}, "half": data[:len(data)/2], "another": another, "changed": changed} {
		for p, text := range map[string][]byte{record("accepted-v3"): accepted, other: another, path: damaged} {
			if err := os.Remove(p); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if text == nil {
				continue
			}
			require.NoError(t, os.WriteFile(p, text, 0o600))
		}
		h := startWith(t, nil, folder(t, dir))
		h.say(nil, errors.New("script: away"))
		h.until("serving "+what, func(st refresh.Status) bool { return st.Revision == fourth.Revision })
		h.quarantined("a refused")
		if _, err := response.Bytes(h.r.State(), query.Query{View: query.Members, Hub: "hub-1"}); err == nil {
			t.Errorf("%s: an answer without a", what)
		}
		require.NoError(t, h.r.Stop())
	}
	// A damaged list of members makes the whole state unusable: nobody knows who was left out.
	require.NoError(t, os.WriteFile(record("accepted-v3"), accepted, 0o600))
	overwrite(t, dir, "accepted-v3", `{"hub-1":{"a":`, `{"hub-1":{"a":"","a":`)
	h = startWith(t, nil, folder(t, dir))
	h.say(nil, errors.New("script: away"))
	h.until("waiting for the source", func(st refresh.Status) bool { return st.Waiting == "script: away" })
}
