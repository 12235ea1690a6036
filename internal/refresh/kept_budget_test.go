package refresh_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestLastKnownGoodSnapshotsHaveABudget: a tenant breaks its members one commit after another, each
// time with other contents. Beyond the budget all of its members stay at their last known good
// snapshots, so that no more are kept, in memory and in the store. No set is lost, others go on,
// a restart serves the same, and with the files fixed all members are up to date. (W2, G2, G6)
func TestLastKnownGoodSnapshotsHaveABudget(t *testing.T) {
	const members, bulk = 12, 64 << 10
	commit := func(step int, broken ...string) *snapshot.Snapshot {
		files := map[string]string{"addons/tenants/other/defaults/fleet/fleet-secret/values.yaml": fmt.Sprintf("externalSecret: {labels: {step: 's%d'}}\n", step)}
		for i := range members {
			name := fmt.Sprintf("m%d", i)
			files["fleet/fleet-members/hub-1/"+name+".yaml"] = strings.NewReplacer(": a\n", ": "+name+"\n", "/a\n", "/"+name+"\n", "retail", "red").Replace(member)
		}
		files["fleet/fleet-members/hub-1/o.yaml"] = strings.NewReplacer(": a\n", ": o\n", "/a\n", "/o\n", "retail", "other").Replace(member)
		files["addons/tenants/red/bulk.yaml"] = "# " + strings.Repeat(fmt.Sprintf("%d ", step), bulk/2)
		for _, name := range broken {
			files["addons/tenants/red/clusters/"+name+"/fleet/fleet-secret/values.yaml"] = "a: [\n"
		}
		return fleet(files)
	}
	dir := t.TempDir()
	// Each snapshot costs some 64 KiB: four of them are beyond a tenant's quarter of 768 KiB.
	h := startWith(t, nil, folder(t, dir), func(o *refresh.Options) { o.MaxKept = 768 << 10 })
	names := func() (out []string) {
		b, err := response.Bytes(h.r.State(), query.Query{View: query.Members, Hub: "hub-1"})
		require.NoError(t, err)
		for _, part := range strings.Split(string(b), `"applicationName":"`)[1:] {
			out = append(out, part[:strings.IndexByte(part, '"')])
		}
		return out
	}
	kept := func() map[string]bool {
		out := map[string]bool{}
		for _, q := range h.r.Status().Quarantined {
			out[q.Revision] = true
		}
		return out
	}
	h.takes(commit(0))
	want := strings.Join(names(), " ")
	var broken []string
	var last *snapshot.Snapshot
	for step := range members - 1 {
		broken = append(broken, fmt.Sprintf("m%d", step))
		last = commit(step+1, broken...)
		h.takes(last)
		require.Equal(t, want, strings.Join(names(), " "), "step %d", step)
		if got := h.label("o", "step"); got != fmt.Sprintf("s%d", step+1) {
			t.Errorf("step %d: the other tenant is at %s", step, got)
		}
	}
	if n := len(kept()); n < 2 || n > 5 {
		t.Errorf("%d last known good snapshots are kept after %d steps", n, members-1)
	}
	if n := len(h.r.Status().Quarantined); n != members {
		t.Errorf("%d members stay where they are; expected all %d of the tenant", n, members)
	}
	records, err := folder(t, dir).Names(t.Context())
	require.NoError(t, err)
	if n := len(records); n > 8 {
		t.Errorf("the store has %d records: %s", n, records)
	}
	answer := h.answer()
	h = startWith(t, nil, folder(t, dir), func(o *refresh.Options) { o.MaxKept = 768 << 10 })
	h.takes(last)
	if got := h.answer(); got != answer {
		t.Errorf("after a restart:\n%.600s\nexpected\n%.600s", got, answer)
	}
	h.takes(commit(members))
	if n := len(h.r.Status().Quarantined); n != 0 || strings.Join(names(), " ") != want {
		t.Errorf("fixed: %d members are quarantined, %s", n, names())
	}
}
