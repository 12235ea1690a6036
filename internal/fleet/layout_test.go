package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/pathpattern"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func parseLayout(t *testing.T, text string) (*Layout, string) {
	t.Helper()
	doc, err := yamldoc.Parse("fleet/layout.yaml", []byte(text))
	require.NoError(t, err)
	l, err := ParseLayout(doc)
	return l, texts(problem.From(err, "", problem.Pos{}))
}

func texts(ps []problem.Problem) string {
	var lines []string
	for _, p := range ps {
		lines = append(lines, string(p.Reason)+" "+p.Error())
	}
	return strings.Join(lines, "\n")
}

// dirsOf are the folders of the levels for sample facts.
func dirsOf(t *testing.T, l *Layout, m *Member) string {
	t.Helper()
	dirs, err := l.LevelsOf(m).Dirs(map[string]any{"root": "addons", "tenant": "T", "environment": "E", "cluster": "C", "labels": map[string]any{"ring": "R"}})
	require.NoError(t, err)
	var out []string
	for _, d := range dirs {
		out = append(out, d.Level+"="+d.Path)
	}
	return strings.Join(out, " ")
}

// TestDefaultLayout is the contract's (H1: least specific first).
func TestDefaultLayout(t *testing.T) {
	l := DefaultLayout()
	assert.Equal(t, "system=addons/defaults tenants=addons/tenants/defaults tenant=addons/tenants/T/defaults environment=addons/tenants/T/environments/E cluster=addons/tenants/T/clusters/C", dirsOf(t, l, &Member{}))
	assert.Equal(t, "system=addons/defaults hubs=addons/control-plane/defaults environment=addons/control-plane/environments/E cluster=addons/control-plane/clusters/C", dirsOf(t, l, &Member{IsHub: true}))
	roots := map[string]string{}
	for name, g := range l.Groups {
		roots[name] = g.Root
	}
	assert.Equal(t, map[string]string{"addons": "addons", "monitoring": "addons", "fleet": "addons", "resources": "resources"}, roots)
	file, err := l.Values.Path(map[string]any{"group": "g", "component": "c"}, "", "c")
	catalog, err2 := l.Catalog.Path(map[string]any{"group": "g"}, "", "")
	if err != nil || err2 != nil || file != "g/c/values.yaml" || catalog != "application-sets/g.yaml" {
		t.Error(file, catalog, err, err2)
	}
	if l.Members.String() != "fleet/fleet-members/{{ .hub }}/{{ .cluster }}.yaml" || l.ApplicationSets != "versions/applicationSets.yaml" || l.FleetSecrets != "versions/fleetSecrets.yaml" {
		t.Error(l.Members, l.ApplicationSets, l.FleetSecrets)
	}
	assert.Equal(t, map[string][]string{"tenant": {"defaults"}}, l.reserved, "reserved names")
}

// TestLayoutOverDefaults: what a layout does not say is as by default.
func TestLayoutOverDefaults(t *testing.T) {
	l, problems := parseLayout(t, `apiVersion: argosy.dev/v1alpha1
kind: Layout
groups:
  monitoring: null
  apps: {}
  addons: {catalog: charts/catalogs/addons.yaml}
levels:
  - {name: all, dir: "{{ .root }}/all"}
  - {name: ring, dir: "{{ .root }}/rings/{{ .labels.ring }}", required: "true"}
merge:
  - {path: "**.args", strategy: append, group: addons}
  - {path: env, strategy: {by-key: name}}
  - {path: list, strategy: "by-key: id"}
guard: {maxRemovals: 5}
`)
	require.Equal(t, "", problems)
	assert.Equal(t, []string{"addons", "apps", "fleet", "resources"}, l.GroupNames())
	if l.Groups["apps"].Root != "apps" || l.Groups["addons"].Root != "addons" || !slices.Equal(l.Groups["addons"].Catalogs, []string{"charts/catalogs/addons.yaml"}) {
		t.Error(l.Groups)
	}
	assert.Equal(t, "all=addons/all ring=addons/rings/R", dirsOf(t, l, &Member{}))
	if len(l.Merge) != 3 || l.Merge[1].Key != "name" || l.Merge[2].Key != "id" || l.Merge[0].Group != "addons" {
		t.Errorf("%+v", l.Merge)
	}
	if dirs, err := l.Levels.Dirs(map[string]any{"root": "r", "labels": map[string]any{"ring": "x"}}); err != nil || dirs[0].Required || !dirs[1].Required {
		t.Error(dirs, err)
	}
}

// TestLayoutErrors: all findings with their places; errors are golden.
func TestLayoutErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"kind", "kind: Layuot\napiVersion: v1\n", "invalid-value fleet/layout.yaml:1:7: key \"kind\": \"Layuot\"; expected \"Layout\"\ninvalid-value fleet/layout.yaml:2:13: key \"apiVersion\": \"v1\"; expected \"argosy.dev/v1alpha1\""},
		{
			"unknown keys", "level: []\nversions: {applicationsets: x}\nfiles: {value: x}\nguard: {max: 1}\n",
			"unknown-key fleet/layout.yaml:1:1: key \"level\": not known in the layout; did you mean \"levels\"?\nunknown-key fleet/layout.yaml:2:12: key \"applicationsets\": not known in key \"versions\"; did you mean \"applicationSets\"?\nunknown-key fleet/layout.yaml:3:9: key \"value\": not known in key \"files\"; did you mean \"values\"?\nunknown-key fleet/layout.yaml:4:9: key \"max\": not known in key \"guard\"; expected one of maxRemovals, window, approvals",
		},
		{"unknown fact", "levels: [{name: a, dir: 'x/{{ .tenannt }}'}]\n", `invalid-layout fleet/layout.yaml:1:25: template <.tenannt>: no fact "tenannt" is known; for facts that not every cluster has, write {{ index .annotations "x" }} or {{ dig }} with a default`},
		{"broken template", "levels:\n  - name: a\n    dir: 'x/{{ .tenant'\n", `invalid-layout fleet/layout.yaml:3:10: key "levels[0].dir": unclosed action`},
		{"level without name", "levels: [{dir: x}]\n", `invalid-layout fleet/layout.yaml:1:10: key "levels[0].name": missing or empty; expected the level's name`},
		{"level twice", "levels: [{name: a, dir: x}, {name: a, dir: y}]\n", `invalid-layout fleet/layout.yaml:1:36: key "levels[1].name": "a" is given again; expected each level once`},
		{"no levels", "levels: []\n", `invalid-layout fleet/layout.yaml:1:1: key "levels": missing or empty; expected at least one`},
		{"levels no list", "levels: {a: b}\n", "invalid-value fleet/layout.yaml:1:9: key \"levels\": is a map; expected a list"},
		{"upwards", "levels: [{name: a, dir: '../x'}]\n", `invalid-layout fleet/layout.yaml:1:25: key "levels[0].dir": path "../x" leads upwards (..): paths stay inside the repository`},
		{"absolute", "versions: {applicationSets: /etc/passwd}\n", `invalid-layout fleet/layout.yaml:1:29: key "versions.applicationSets": absolute path "/etc/passwd": paths are relative to the repository's root`},
		{"root upwards", "groups: {addons: {root: ../x}}\n", `invalid-layout fleet/layout.yaml:1:25: key "groups.addons.root": path "../x" leads upwards (..): paths stay inside the repository`},
		{"group name", "groups: {Apps: {root: x}}\n", `invalid-layout fleet/layout.yaml:1:10: key "groups.Apps": is not a DNS-1123 label; expected lower case letters, digits and inner hyphens, at most 63`},
		{"group key", "groups: {apps: {rot: x}}\n", `unknown-key fleet/layout.yaml:1:17: key "rot": not known in key "groups.apps"; did you mean "root"?`},
		{"values without component", "files: {values: '{{ .group }}/values.yaml'}\n", `invalid-layout fleet/layout.yaml:1:17: key "files.values": "{{ .group }}/values.yaml" does not use {{ .component }}; expected a path that differs for each component`},
		{"catalog without group", "files: {catalog: catalog.yaml}\n", `invalid-layout fleet/layout.yaml:1:18: key "files.catalog": "catalog.yaml" does not use {{ .group }}; expected a path that differs for each group`},
		{"members without cluster", "members: 'm/{{ .hub }}.yaml'\n", `invalid-layout fleet/layout.yaml:1:10: key "members": "m/{{ .hub }}.yaml" uses {{ .cluster }} 0 times; expected once, so that the name can be read from the path`},
		{"members in one part", "members: 'm/{{ .hub }}-{{ .cluster }}.yaml'\n", `invalid-layout fleet/layout.yaml:1:10: key "members": "m/{{ .hub }}-{{ .cluster }}.yaml" has {{ .hub }} and {{ .cluster }} in one part; expected a slash between them, so that the names can be separated`},
		{"members with another fact", "members: '{{ .environment }}/{{ .hub }}/{{ .cluster }}.yaml'\n", `invalid-layout fleet/layout.yaml:1:10: template <.environment>: no fact "environment" is known; for facts that not every cluster has, write {{ index .annotations "x" }} or {{ dig }} with a default`},
		{
			"merge", "merge: [{path: a, strategy: add}, {path: a..b, strategy: append}, {path: a, strategy: {by: x}}, {paths: a}]\n",
			"invalid-layout fleet/layout.yaml:1:9: key \"merge[0]\": rule for \"a\": unknown strategy \"add\"; expected append, unique, by-key or replace\ninvalid-layout fleet/layout.yaml:1:35: key \"merge[1]\": path \"a..b\": empty part at 3\nunknown-key fleet/layout.yaml:1:88: key \"by\": not known in key \"merge[2].strategy\"; expected one of by-key\nunknown-key fleet/layout.yaml:1:98: key \"paths\": not known in merge[3]; did you mean \"path\"?",
		},
		{"a list", "- a\n", "invalid-value fleet/layout.yaml:1:1: the layout: is a list; expected a map"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, got := parseLayout(t, c.text)
			if diff := cmp.Diff(c.want, got); diff != "" || l != nil {
				t.Error(diff)
			}
		})
	}
}

// TestReservedNames: a name cannot be that of a folder that a level has in its place (H8).
func TestReservedNames(t *testing.T) {
	l, problems := parseLayout(t, `levels:
  - {name: a, dir: "{{ .root }}/all"}
  - {name: b, dir: "{{ .root }}/{{ .tenant }}"}
  - {name: c, dir: "{{ .root }}/{{ .tenant }}/shared"}
  - {name: d, dir: "{{ .root }}/{{ .tenant }}/{{ .environment }}/all"}
  - {name: e, dir: "{{ .root }}/{{ .tenant }}/{{ .environment }}/{{ .cluster }}"}
`)
	require.Equal(t, "", problems)
	want := map[string][]string{"tenant": {"all", "control-plane", "defaults"}, "environment": {"shared"}, "cluster": {"all"}}
	for fact, names := range want {
		for _, name := range names {
			if !contains(l.reserved[fact], name) {
				t.Errorf("a %s may be called %q", fact, name)
			}
		}
	}
	if contains(l.reserved["cluster"], "shared") || contains(l.reserved["environment"], "all") {
		t.Errorf("too much is reserved: %v", l.reserved)
	}
}

func contains(l []string, s string) bool {
	for _, x := range l {
		if x == s {
			return true
		}
	}
	return false
}

func TestPattern(t *testing.T) {
	p, err := pathpattern.NewMembers("fleet/fleet-members/{{ .hub }}/{{ .cluster }}.yaml", "")
	require.NoError(t, err)
	assert.Equal(t, "fleet/fleet-members", p.Folder())
	for path, want := range map[string]string{
		"fleet/fleet-members/h/c.yaml": "h c", "fleet/fleet-members/h/a.b.yaml": "h a.b", "fleet/fleet-members/h/x/c.yaml": "", "fleet/fleet-members/c.yaml": "",
		"fleet/fleet-members/h/c.yml": "", "fleet/fleet-members/h/.yaml": "", "other/fleet/fleet-members/h/c.yaml": "", "fleet/fleet-members/h/c.yaml.bak": "",
	} {
		hub, cluster, ok := p.Match(path)
		if got := strings.TrimSpace(hub + " " + cluster); got != want || ok != (want != "") {
			t.Errorf("%s: %q %q %t", path, hub, cluster, ok)
		}
		if ok {
			if back, err := p.Path(hub, "t", cluster); err != nil || back != path {
				t.Errorf("%s: %s %v", path, back, err)
			}
		}
	}
	p, err = pathpattern.NewMembers("{{ .cluster }}/in.{{ .hub }}/m.yaml", "")
	require.NoError(t, err)
	if hub, cluster, ok := p.Match("c/in.h/m.yaml"); !ok || hub != "h" || cluster != "c" || p.Folder() != "" {
		t.Error(hub, cluster, ok, p.Folder())
	}
	if _, _, ok := p.Match("c/inxh/m.yaml"); ok {
		t.Error("a dot in the pattern matches any character")
	}
}

// TestLevelLimits is rule H10.
func TestLevelLimits(t *testing.T) {
	for n, want := range map[int]string{64: "", 65: `limit-exceeded fleet/layout.yaml:1:9: key "levels": 65 elements; expected at most 64`} {
		text := "levels: ["
		for i := range n {
			text += fmt.Sprintf("{name: n%d, dir: d%d}, ", i, i)
		}
		if _, got := parseLayout(t, text+"]\n"); got != want {
			t.Errorf("%d levels: %s, want %s", n, got, want)
		}
	}
}
