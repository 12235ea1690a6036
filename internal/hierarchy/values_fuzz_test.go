package hierarchy_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/getter"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// aloneTag is the tag `!`, by which Helm makes a text of a number and the engine does not (rule 1
// of package yamldoc).
var aloneTag = regexp.MustCompile(`!([\s,\]}]|$)`)

// FuzzValues: whatever two value files of a component hold, a cluster of another tenant stays as it
// is; what is accepted is what Helm makes of the same files, and what is not is a problem that
// names one of them (H2, H9, G2).
func FuzzValues(f *testing.F) {
	for _, s := range [][2]string{
		{"", ""},
		{"a: 1\n", "a: null\n"},
		{"a: {b: [1]}\n", "a: {b: [2], c: yes}\n"},
		{"a: &x {b: 012}\nc: *x\n", "<<: {a: 1e3}\n"},
		{"from: \"{{ .cluster }}\"\n", "- x\n"},
		{"a: {b: 1}\n", "a: text\n"},
		{"a: 123456789012345678\n", "a: |\n  x: {{ y }}\n"},
		{"a: [\n", "a: 1\na: 2\n"},
	} {
		f.Add(s[0], s[1])
	}
	const tenants, own = "addons/tenants/retail/defaults/addons/dns/values.yaml", "addons/tenants/retail/clusters/one/addons/dns/values.yaml"
	const question = `{"view":"components","group":"addons","component":"dns"}`
	files := fleettest.Small()
	before := querytest.Build(f, files)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, low, top string) {
		for _, text := range []string{low, top} {
			if len(text) > 4096 || aloneTag.MatchString(text) || strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
				t.Skip()
			}
		}
		st, err := fleetstate.Build(before, fleettest.Snapshot("rev", files.With(fleettest.Tree{tenants: low, own: top})), facts.NewSet(false))
		require.NoError(t, err, "%q: the repository as a whole is refused", []string{low, top})
		fresh := querytest.Build(t, files.With(fleettest.Tree{tenants: low, own: top}))
		if a, b := querytest.Problems(st.Problems), querytest.Problems(fresh.Problems); a != b {
			t.Fatalf("%q: problems %s; without what was before: %s", []string{low, top}, b, a)
		}
		sets, was := querytest.Ask(t, st, question), querytest.Ask(t, before, question)
		require.Equal(t, slices.Sorted(maps.Keys(was)), slices.Sorted(maps.Keys(sets)), "%q: other sets", []string{low, top})
		require.Equal(t, was["dns-hub"]["digest"], sets["dns-hub"]["digest"], "%q: a cluster of another tenant changes", []string{low, top})
		if len(st.Problems) > 0 {
			if diff := cmp.Diff(was["dns-one"]["helmValues"], sets["dns-one"]["helmValues"]); diff != "" || !strings.Contains(querytest.Problems(st.Problems), "dns/values.yaml") {
				t.Fatalf("%q: a cluster with problems does not stay as it was:\n%s%s", []string{low, top}, diff, querytest.Problems(st.Problems))
			}
			return
		}
		require.Equal(t, helmValues(t, dir, files["addons/defaults/addons/dns/values.yaml"], low, top), read(t, sets["dns-one"].Text("helmValues")), "%q (-helm +ours)", []string{low, top})
	})
}

// helmValues are what Helm takes for the values when it is given these files.
func helmValues(t *testing.T, dir string, files ...string) map[string]any {
	t.Helper()
	var o values.Options
	for i, text := range files {
		path := filepath.Join(dir, string(rune('a'+i))+".yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		o.ValueFiles = append(o.ValueFiles, path)
	}
	merged, err := o.MergeValues(getter.Providers{})
	require.NoError(t, err, "%q: Helm refuses", files)
	return merged
}

func read(t *testing.T, text string) map[string]any {
	t.Helper()
	m := map[string]any{}
	require.NoError(t, sigsyaml.Unmarshal([]byte(text), &m), "%q", text)
	return m
}
