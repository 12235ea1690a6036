package fleet

import (
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// reported fails when problems are without a reason, or too many (H10).
func reported(t *testing.T, ps []problem.Problem) {
	t.Helper()
	if len(ps) > 4*(problem.OfFile+1) {
		t.Errorf("%d problems", len(ps))
	}
	for _, p := range ps {
		if p.Reason == "" || p.Severity == "" || p.Error() == "" {
			t.Errorf("%#v", p)
		}
	}
}

// FuzzMember: no member file makes the reader panic; one without errors has an identity of names,
// lies in the repository with all its levels, and reads the same again.
func FuzzMember(f *testing.F) {
	for _, s := range []string{
		"", "clusterName: c\ntenant: t\nenvironment: e\n", "{clusterName: c, tenant: ../x, environment: \"\"}", "- x\n", "clusterName: [c]\n",
		"clusterName: c\ntenant: t\nenvironment: e\naddons_repo_basepath: ../../etc\nlabels: {a: b, tenant: x}\n",
		"clusterName: c\ntenant: t\nenvironment: e\nuse_remote_argo: yes\nremote_engine: flux\nlifecycle: retired\ndeletion: cascade\n",
	} {
		f.Add(s)
	}
	layout := DefaultLayout()
	f.Fuzz(func(t *testing.T, text string) {
		read := func() *Member {
			file := snapshot.NewFile("fleet/fleet-members/h/c.yaml", []byte(text), snapshot.MaxFileSize)
			doc, err := yamldoc.Parse(file.Path, file.Data)
			return readMember(layout, "h", "c", file, doc, err)
		}
		m, again := read(), read()
		reported(t, m.Problems)
		if a, b := problem.List(m.Problems).Error(), problem.List(again.Problems).Error(); a != b {
			t.Fatalf("%q has problems %q, then %q", text, a, b)
		}
		if len(problem.Errors(m.Problems)) > 0 {
			return
		}
		if m.Name != "c" || m.Tenant == "" || strings.ContainsAny(m.Tenant+m.Environment, "./ ") {
			t.Fatalf("%q is accepted: %q %q", text, m.Tenant, m.Environment)
		}
		dirs, err := layout.LevelsOf(m).Dirs(map[string]any{"root": "addons", "tenant": m.Tenant, "environment": m.Environment, "cluster": m.Name})
		require.NoError(t, err, "%q has no levels", text)
		for _, d := range dirs {
			if _, err := snapshot.CleanPath(d.Path); err != nil || !strings.HasPrefix(d.Path, "addons/") {
				t.Fatalf("%q has the level %q: %v", text, d.Path, err)
			}
		}
	})
}

// FuzzLayout: no layout makes the reader panic; one that is accepted can be used: its levels give
// paths in the repository or a problem, and its paths of members read back what they are made of.
func FuzzLayout(f *testing.F) {
	for _, s := range []string{
		"", "members: m/{{ .hub }}/{{ .tenant }}/{{ .cluster }}.yaml\n", "levels: [{name: a, dir: \"{{ .labels.x }}/{{ .root }}\"}]\n", "groups: {addons: null}\n",
		"secretNames: {cluster: [\"{{ .hub }}/*\"], git: [x]}\n", "merge: [{path: a.b, strategy: {by-key: name}}]\n", "guard: {maxRemovals: 10%}\n", "files: {values: \"{{ .group }}/{{ .component }}\"}\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := yamldoc.Parse(LayoutFile, []byte(text))
		if err != nil {
			return
		}
		l, err := ParseLayout(doc)
		if err != nil {
			reported(t, problem.From(err, "", problem.Pos{}))
			return
		}
		path, err := l.Members.Path("h", "t", "c")
		require.NoError(t, err, "%q", text)
		if hub, cluster, ok := l.Members.Match(path); !ok || hub != "h" || cluster != "c" {
			t.Fatalf("%q: %q is read as %q, %q, %t", text, path, hub, cluster, ok)
		}
		for _, h := range []*hierarchy.Hierarchy{l.Levels, l.HubLevels} {
			dirs, err := h.Dirs(map[string]any{"root": "r", "hub": "h", "tenant": "t", "environment": "e", "cluster": "c", "labels": map[string]any{}})
			reported(t, problem.From(err, "", problem.Pos{}))
			for _, d := range dirs {
				if _, err := snapshot.CleanPath(d.Path); err != nil {
					t.Fatalf("%q: level %q: %v", text, d.Path, err)
				}
			}
		}
		l.SecretNames.Check(GitSecrets, &Member{Hub: "h", Name: "c", Tenant: "t"}, "x")
	})
}

// FuzzApproval: no approval makes the reader panic; one without errors has a last day, and approves
// nothing of a cluster or a component that it does not name (G3). One with errors approves nothing
// at all.
func FuzzApproval(f *testing.F) {
	const head = "apiVersion: argosy.dev/v1alpha1\nkind: RemovalApproval\nexpires: 2026-12-01\n"
	for _, s := range []string{
		"", head, head + "removals: [{cluster: a, component: addons/dns, reason: r}]\n", head + "removals: [{clusters: [a, '*'], components: ['*'], reason: r}]\n",
		head + "removals: [{tenant: t, environment: e, component: addons/*, reason: r}, {hub: h, cluster: b, component: x, reason: ' '}]\n",
		"kind: RemovalApproval\nexpires: 2026-13-01\nremovals: x\n", head + "removals: [null, [], {clusters: {a: b}, components: [1, ~]}]\n",
	} {
		f.Add(s)
	}
	stranger := Removal{Hub: "a-hub", Cluster: "nobody", Group: "no-group", Component: "nothing"}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := yamldoc.Parse("fleet/approvals/x.yaml", []byte(text))
		if err != nil {
			return
		}
		a, problems := readApproval(doc)
		reported(t, problems)
		if len(problem.Errors(problems)) > 0 {
			return
		}
		if a.Expires.IsZero() && !strings.Contains(text, "0001-01-01") || !a.ExpiredAt(a.Ends()) || a.ExpiredAt(a.Expires) {
			t.Fatalf("%q expires %s, ends %s", text, a.Expires, a.Ends())
		}
		everything := false
		for _, r := range a.Removals {
			clusters := slices.Contains(r.Clusters, Any) || slices.Contains(r.Clusters, stranger.Cluster) || len(r.Clusters) == 0
			components := slices.Contains(r.Components, Any) || slices.Contains(r.Components, "no-group/*") || slices.Contains(r.Components, "no-group/nothing")
			everything = everything || clusters && components
			if strings.TrimSpace(r.Reason) == "" || len(r.Components) == 0 {
				t.Fatalf("%q is accepted: %+v", text, r)
			}
		}
		if !everything && a.Approves(stranger) {
			t.Fatalf("%q approves what it does not name", text)
		}
	})
}
