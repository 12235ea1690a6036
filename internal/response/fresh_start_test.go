package response_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// shipped are the YAML files of the fleet that this repository has.
func shipped(t *testing.T) fleettest.Tree {
	t.Helper()
	out, root := fleettest.Tree{}, os.DirFS("../..")
	for _, folder := range []string{"fleet", "addons", "resources", "versions", "provisioning", "workloads", "charts"} {
		require.NoError(t, fs.WalkDir(root, folder, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(p) != ".yaml" {
				return err
			}
			text, err := fs.ReadFile(root, p)
			out[p] = string(text)
			return err
		}))
	}
	return out
}

// ofEachKind is one file of each depth and name below each folder; members' files are of one name.
func ofEachKind(files fleettest.Tree) []string {
	kinds := map[string]string{}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		folder, rest, _ := strings.Cut(p, "/")
		name := path.Base(p)
		if strings.HasPrefix(rest, "fleet-members/") {
			name = "member"
		}
		if folder == "charts" && !strings.Contains(p, "/catalogs/") {
			continue // the engine reads no chart
		}
		kinds[folder+strconv.Itoa(strings.Count(p, "/"))+name] = p
	}
	return slices.Sorted(maps.Values(kinds))
}

// TestBrokenFileRemovesNothingAtAFreshStart is G1 where no earlier snapshot is known, and nothing
// of what runs: whatever file is broken, each response has all that it had, or there is none.
func TestBrokenFileRemovesNothingAtAFreshStart(t *testing.T) {
	t.Parallel()
	files := shipped(t)
	good := rebuild(t, nil, "good", files)
	applications := func(st *fleetstate.State, q query.Query) map[string]bool {
		data, err := response.Bytes(st, q)
		if err != nil {
			return nil
		}
		out := map[string]bool{}
		for _, s := range querytest.Sets(t, data) {
			out[s.Text("applicationName")+" "+s.Text("name")+" "+s.Text("group")] = true
		}
		return out
	}
	var all []query.Query
	for _, hub := range good.Fleet.Hubs() {
		all = append(all, query.Query{View: query.Members, Hub: hub}, query.Query{View: query.Grants, Hub: hub})
		for _, group := range good.Groups() {
			all = append(all, query.Query{View: query.Components, Hub: hub, Group: group})
		}
	}
	had := make([]map[string]bool, len(all))
	for i, q := range all {
		had[i] = applications(good, q)
	}
	complete, none := 0, 0
	for _, p := range ofEachKind(files) {
		texts := []string{"x: [\n", "- a\n"}
		if strings.HasSuffix(p, "/fleet-secret/values.yaml") {
			texts = append(texts, "externalSecret: text\n", "externalSecret: {labels: 7}\n")
		}
		if strings.Contains(files[p], "\ncomponents:") {
			texts = append(texts, strings.Replace(files[p], "\ncomponents:", "\ncomponent:", 1))
		}
		if strings.Contains(p, "/application-sets/") {
			texts = append(texts, strings.Replace(files[p], "enabled:", "enabeld:", 1))
		}
		for _, broken := range texts {
			st, err := fleetstate.Build(nil, fleettest.Snapshot("broken", files.With(fleettest.Tree{p: broken})), facts.Set{})
			if err != nil {
				none++
				continue
			}
			for i, q := range all {
				got := applications(st, q)
				if got == nil {
					none++
					continue
				}
				complete++
				for name := range had[i] {
					if !got[name] {
						t.Errorf("%s begins with %.10q: view %s of hub %s, group %q, is answered without %s", p, broken, q.View, q.Hub, q.Group, name)
					}
				}
			}
		}
	}
	if complete < 100 || none < 100 {
		t.Errorf("%d responses are complete, and there are %d times none; expected at least 100 of each, or nothing is shown", complete, none)
	}
}
