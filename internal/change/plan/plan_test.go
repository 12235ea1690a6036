package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// tree is a repository: path to content.
type tree = fleettest.Tree

const (
	catalog  = "addons/defaults/application-sets/addons.yaml"
	versions = "versions/applicationSets.yaml"
	secrets  = "addons/defaults/fleet/fleet-secret/values.yaml"
)

func member(hub, name string) string { return "fleet/fleet-members/" + hub + "/" + name + ".yaml" }

func spoke(name, more string) string {
	return "clusterName: " + name + "\ntenant: t\nenvironment: dev\n" + more
}

// small is a hub with two spokes that run one component, and a hub with one that runs it too.
func small() tree {
	return tree{
		member("h", "h"): "{clusterName: h, tenant: t, environment: prod, fleet_member: hub-cluster}\n",
		member("h", "a"): spoke("a", ""),
		member("h", "b"): spoke("b", ""),
		member("i", "c"): spoke("c", ""),
		versions:         "releases: {addons: [{type: default, version: v1}, {type: canary, version: v2}]}\n",
		catalog:          "web: {enabled: true, chart: {repoURL: r, name: web, version: v1}, selector: {matchLabels: {fleet_member: spoke}}}\n",
		secrets:          "externalSecret: {labels: {tier: gold}}\nrefresh: 1h\n",
	}
}

func build(t *testing.T, previous *fleetstate.State, files tree) *fleetstate.State {
	t.Helper()
	st, err := fleetstate.Build(previous, snapshot.FromMap(files), facts.Set{})
	require.NoError(t, err)
	return st
}

// lines are a plan in short: a line for each cluster, Application and difference.
func lines(p *plan.Plan) string {
	var b strings.Builder
	text := func(s *plan.Side) string {
		if s == nil {
			return "-"
		}
		return fmt.Sprintf("%v@%s", s.Value, s.Position)
	}
	differences := func(ds []plan.Difference) {
		for _, d := range ds {
			fmt.Fprintf(&b, "  %s %s: %s > %s\n", d.Kind, d.Name, text(d.Old), text(d.New))
		}
	}
	for _, h := range p.Hubs {
		for _, c := range h.Clusters {
			if c.Action != "" {
				fmt.Fprintln(&b, strings.TrimSpace(fmt.Sprintf("%s %s/%s %s", c.Action, h.Name, c.Name, c.Cause)))
				differences(c.Differences)
			}
			for _, a := range c.Applications {
				line := fmt.Sprintf("%s %s/%s %s %s", a.Action, h.Name, c.Name, a.Name, a.Cause)
				if a.Deletion != "" {
					line += " (" + a.Deletion + ")"
				}
				if a.Detail != "" && a.Detail != "with its cluster" {
					line += " " + a.Detail
				}
				if !a.Position.IsZero() {
					line += "@" + a.Position.String()
				}
				fmt.Fprintln(&b, strings.TrimSpace(line))
				differences(a.Differences)
			}
		}
	}
	return b.String()
}

func TestCompare(t *testing.T) {
	remote := "use_remote_argo: true\nenable_remote_addons: true\n"
	own := "addons/tenants/t/clusters/a/application-sets/addons.yaml"
	web := "web: {enabled: true, chart: {repoURL: r, name: web, version: v1}, selector: {matchLabels: {web: \"yes\"}}}\n"
	for _, c := range []struct {
		name string
		base tree // over small
		head tree // over base
		want string
	}{
		{"nothing", nil, nil, ""},
		{"a value that is set elsewhere and stays the same", nil, tree{secrets: "# moved\nexternalSecret: {labels: {tier: gold}}\nrefresh: 1h\n"}, ""},
		{"a cluster's tenant and label (the hub's own too)", nil, tree{member("h", "a"): "clusterName: a\ntenant: u\nenvironment: dev\nlabels: {tier: best}\n"}, `change h/a
  setting tenant: t@fleet/fleet-members/h/a.yaml:2:9 > u@fleet/fleet-members/h/a.yaml:2:9
  label tier: gold@addons/defaults/fleet/fleet-secret/values.yaml:1:33 > best@fleet/fleet-members/h/a.yaml:4:16
change h/a fleet-secret-a
`},
		{"an annotation", nil, tree{member("h", "a"): spoke("a", "annotations: {x: z}\n")}, `change h/a
  annotation x: - > z@fleet/fleet-members/h/a.yaml:4:18
change h/a fleet-secret-a
`},
		{"the registration's values, labels apart", nil, tree{secrets: "externalSecret: {labels: {tier: gold}, name: one}\nrefresh: 2h\n", member("i", "c"): ""}, `change h/a fleet-secret-a
  value externalSecret.name: - > one@addons/defaults/fleet/fleet-secret/values.yaml:1:46
  value refresh: 1h@addons/defaults/fleet/fleet-secret/values.yaml:2:10 > 2h@addons/defaults/fleet/fleet-secret/values.yaml:2:10
change h/b fleet-secret-b
  value externalSecret.name: - > one@addons/defaults/fleet/fleet-secret/values.yaml:1:46
  value refresh: 1h@addons/defaults/fleet/fleet-secret/values.yaml:2:10 > 2h@addons/defaults/fleet/fleet-secret/values.yaml:2:10
remove i/c lost
remove i/c web-c lost (orphan)
remove i/c fleet-secret-c lost (orphan)
remove i/i application-sets-addons-default lost
remove i/i application-sets-fleet-default lost
remove i/i application-sets-monitoring-default lost
remove i/i application-sets-resources-default lost
`},
		{"an agent takes its group over", nil, tree{member("h", "a"): spoke("a", remote)}, `change h/a
  label enable_remote_addons: - > true@fleet/fleet-members/h/a.yaml:5:23
  label use_remote_argo: - > true@fleet/fleet-members/h/a.yaml:4:18
create h/a agent-a
move h/a web-a
  setting owner: hub@fleet/fleet-members/h/a.yaml > a@fleet/fleet-members/h/a.yaml:5:23
change h/a fleet-secret-a
create h/a application-sets-addons-default
`},
		{"an agent's engine", tree{member("h", "a"): spoke("a", remote)}, tree{member("h", "a"): spoke("a", remote+"remote_engine: flux\n")}, `change h/a
  label remote_engine: - > flux@fleet/fleet-members/h/a.yaml:6:16
change h/a agent-a
  setting agent.engine: argocd@fleet/fleet-members/h/a.yaml > flux@fleet/fleet-members/h/a.yaml:6:16
move h/a web-a
  setting engine: argocd@fleet/fleet-members/h/a.yaml > flux@fleet/fleet-members/h/a.yaml:6:16
change h/a fleet-secret-a
remove h/a application-sets-addons-default moved
`},
		{"an agent no more", tree{member("h", "a"): spoke("a", "use_remote_argo: true\n")}, tree{member("h", "a"): spoke("a", "")}, `change h/a
  label use_remote_argo: true@fleet/fleet-members/h/a.yaml:4:18 > -
remove h/a agent-a disabled (orphan)@fleet/fleet-members/h/a.yaml
change h/a fleet-secret-a
`},
		{"another catalog entry's options, which Argosy does not read", nil, tree{catalog: "web: {enabled: true, project: p, chart: {repoURL: r, name: web, version: v1}, selector: {matchLabels: {fleet_member: spoke}}}\n"}, ""},
		{"what a flux agent runs", tree{member("h", "a"): spoke("a", remote+"remote_engine: flux\n"), member("h", "b"): "", member("i", "c"): ""}, tree{"addons/tenants/t/defaults/addons/web/values.yaml": "a: 1\n"}, `change h/a web-a
  value a: - > 1@addons/tenants/t/defaults/addons/web/values.yaml:1:4
`},
		{"an agent's credentials", tree{member("h", "a"): spoke("a", "use_remote_argo: true\n"), member("h", "b"): "", member("i", "c"): ""}, tree{secrets: "externalSecret: {labels: {tier: gold}}\nrefresh: 1h\ngitCredentials: {fleet: {type: http}}\n"}, `change h/a agent-a
  setting source.git.credentialsSecret: - > a-git-fleet@addons/defaults/fleet/fleet-secret/values.yaml:3:25
  value gitCredentials.fleet.type: - > http@addons/defaults/fleet/fleet-secret/values.yaml:3:32
change h/a fleet-secret-a
  value gitCredentials.fleet.enabled: - > false@
  value gitCredentials.fleet.type: - > http@addons/defaults/fleet/fleet-secret/values.yaml:3:32
`},
		{"to a folder without a hub", nil, tree{member("h", "a"): "", member("i", "a"): spoke("a", "")}, `remove h/a lost
remove h/a web-a lost (orphan)
remove h/a fleet-secret-a lost (orphan)
create i/a
create i/a web-a
create i/a fleet-secret-a
`},
		{"to another hub", tree{member("i", "i"): "{clusterName: i, tenant: t, environment: prod, fleet_member: hub-cluster}\n"}, tree{member("h", "a"): "", member("i", "a"): spoke("a", "")}, `remove h/a moved
remove h/a web-a moved (orphan)
remove h/a fleet-secret-a moved (orphan)
create i/a
create i/a web-a
create i/a fleet-secret-a
`},
		{"back from retirement", tree{member("h", "a"): spoke("a", "lifecycle: retired\n")}, tree{member("h", "a"): spoke("a", "")}, `create h/a
create h/a web-a
create h/a fleet-secret-a
`},
		{"a release that nobody is on", tree{member("h", "a"): spoke("a", "labels: {addonsRelease: canary}\n")}, tree{member("h", "a"): spoke("a", "lifecycle: retired\nlabels: {addonsRelease: canary}\n")}, `remove h/a retired
remove h/a web-a retired (orphan)
remove h/a fleet-secret-a retired (cascade)
remove h/h application-sets-addons-canary retired
`},
		{"retired with what runs", tree{member("h", "a"): spoke("a", "use_remote_argo: true\n")}, tree{member("h", "a"): spoke("a", "use_remote_argo: true\nlifecycle: retired\ndeletion: cascade\n")}, `remove h/a retired
remove h/a agent-a retired (orphan)
remove h/a web-a retired (cascade)
remove h/a fleet-secret-a retired (cascade)
`},
		{"switched off", nil, tree{own: "web: {enabled: false}\n"}, `remove h/a web-a disabled (cascade) switched off@addons/tenants/t/clusters/a/application-sets/addons.yaml:1:16
`},
		{"taken away", nil, tree{own: "web: null\n"}, `remove h/a web-a lost (orphan) nothing switches it on any more
`},
		{"switched on no more", tree{catalog: "web: {chart: {repoURL: r, name: web, version: v1}}\n", own: "web: {enabled: true}\n", member("i", "c"): ""}, tree{own: ""}, `remove h/a web-a lost (orphan) nothing switches it on any more
change h/h application-sets-addons-default
  setting components.web: enabled@ > -
`},
		{"a label says no", tree{catalog: web, member("h", "a"): spoke("a", "labels: {web: \"yes\"}\n"), member("h", "b"): "", member("i", "c"): ""}, tree{member("h", "a"): spoke("a", "labels: {web: \"no\"}\n")}, `change h/a
  label web: yes@fleet/fleet-members/h/a.yaml:4:15 > no@fleet/fleet-members/h/a.yaml:4:15
remove h/a web-a disabled (cascade) its selector does not match the cluster's labels@addons/defaults/application-sets/addons.yaml:1:77
change h/a fleet-secret-a
`},
		{"a label is gone", tree{catalog: web, member("h", "a"): spoke("a", "labels: {web: \"yes\"}\n"), member("h", "b"): "", member("i", "c"): ""}, tree{member("h", "a"): spoke("a", "")}, `change h/a
  label web: yes@fleet/fleet-members/h/a.yaml:4:15 > -
remove h/a web-a lost (orphan) its selector asks for a label that the cluster does not have@addons/defaults/application-sets/addons.yaml:1:77
change h/a fleet-secret-a
`},
		{"what a flux agent no longer runs", tree{member("h", "a"): spoke("a", remote+"remote_engine: flux\n")}, tree{own: "web: {enabled: false}\n"}, `remove h/a web-a disabled (cascade) switched off@addons/tenants/t/clusters/a/application-sets/addons.yaml:1:16
`},
		{"chart, namespace and name; another chart", nil, tree{catalog: "web: {enabled: true, namespace: net, releaseName: x, chart: {repoURL: r, path: p, version: v1}, selector: {matchLabels: {tenant: t}, matchExpressions: [{key: environment, operator: NotIn, values: [prod]}]}}\n", member("h", "b"): "", member("i", "c"): ""}, `change h/a web-a
  setting chart.path: - > p@addons/defaults/application-sets/addons.yaml:1:80
  setting namespace: web@ > net@addons/defaults/application-sets/addons.yaml:1:33
  setting releaseName: web@ > x@addons/defaults/application-sets/addons.yaml:1:51
  setting chart.name: web@addons/defaults/application-sets/addons.yaml:1:48 > -
remove h/b lost
remove h/b web-b lost (orphan)
remove h/b fleet-secret-b lost (orphan)
remove i/c lost
remove i/c web-c lost (orphan)
remove i/c fleet-secret-c lost (orphan)
remove i/i application-sets-addons-default lost
remove i/i application-sets-fleet-default lost
remove i/i application-sets-monitoring-default lost
remove i/i application-sets-resources-default lost
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := small().With(c.base)
			base := build(t, nil, files)
			head := files.With(c.head)
			updated := build(t, base, head)
			p := plan.Compare(base, updated, nil)
			complete(t, base, updated, p)
			assert.Equal(t, c.want, lines(p))
			// The same from states that share nothing.
			fresh := plan.Compare(build(t, nil, files), build(t, nil, head), nil)
			assert.Equal(t, lines(p), lines(fresh), "states that share nothing")
		})
	}
}

// A member that cannot be computed is named, and keeps what it had; where nothing is known from
// before it is left out (rule 2).
func TestCompareBroken(t *testing.T) {
	files := small()
	broken := files.With(tree{member("h", "a"): "clusterName: a\n", member("h", "b"): spoke("b", "labels: {x: y}\n")})
	good := build(t, nil, files)
	for name, c := range map[string]struct {
		base, head *fleetstate.State
		revision   string
	}{"head": {good, build(t, good, broken), plan.Head}, "base": {build(t, nil, broken), good, plan.Base}} {
		p := plan.Compare(c.base, c.head, nil)
		if len(p.Broken) != 1 || p.Broken[0].Cluster != "a" || p.Broken[0].Revision != c.revision || len(p.Broken[0].Problems) == 0 {
			t.Errorf("%s: broken are %+v", name, p.Broken)
		}
		if got := lines(p); !strings.HasPrefix(got, "change h/b\n") || strings.Contains(got, "h/a") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A plan for 1,000 clusters and 20 components: what one file at the level of the system changes.
func BenchmarkCompare(b *testing.B) {
	files := tree(fleettest.Files(fleettest.Default))
	base, err := fleetstate.Build(nil, snapshot.FromMap(files), facts.Set{})
	require.NoError(b, err)
	name := "addons/defaults/addons/" + fleettest.Component(0) + "/values.yaml"
	changed := snapshot.FromMap(files.With(tree{name: files[name] + "added: 1\n"}))
	b.ResetTimer()
	for range b.N {
		head, err := fleetstate.Build(base, changed, facts.Set{})
		require.NoError(b, err)
		plan.Compare(base, head, nil)
	}
}

// TestRingsOfAgents: what an agent deploys goes through the rings of a policy with agents,
// whichever engine it has.
func TestRingsOfAgents(t *testing.T) {
	const policy = "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nagents: true\nrings:\n- {name: first, selector: {matchLabels: {cluster: a}}}\n- {name: last, selector: {matchLabels: {cluster: b}}}\n"
	for _, engine := range []string{"argocd", "flux"} {
		files := small()
		files["fleet/rollouts/all.yaml"] = policy
		files[member("h", "a")] = spoke("a", "use_remote_argo: true\nremote_engine: "+engine+"\nenable_remote_addons: true\n")
		base := build(t, nil, files)
		files = maps.Clone(files)
		files["addons/tenants/t/clusters/a/addons/web/values.yaml"] = "replicas: 7\n"
		var got []string
		for _, h := range plan.Compare(base, build(t, base, files), nil).Hubs {
			for _, x := range h.Rings {
				for _, step := range x.Rings {
					got = append(got, fmt.Sprint(h.Name, " ", step.Ring, " ", step.Clusters))
				}
			}
		}
		if want := []string{"h first [a]", "h last []"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", engine, got, want)
		}
	}
}

// TestRingsOfAWiderScope: what no policy was about before the commit waits for no ring of it.
func TestRingsOfAWiderScope(t *testing.T) {
	const policy = "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\n%srings:\n- {name: first, selector: {matchLabels: {cluster: a}}}\n- {name: last, selector: {matchLabels: {cluster: b}}}\n"
	for scope, want := range map[string]int{
		"none":                                  1, // a new policy begins at the revision before it
		"scope: {components: [addons/other]}\n": 0, "scope: {components: [addons/web]}\n": 1,
		"scope: {tenants: [other]}\n": 0, "scope: {tenants: [t]}\n": 1,
	} {
		files := small()
		if scope != "none" {
			files["fleet/rollouts/all.yaml"] = fmt.Sprintf(policy, scope)
		}
		base := build(t, nil, files)
		files = maps.Clone(files)
		files["fleet/rollouts/all.yaml"] = fmt.Sprintf(policy, "")
		files["addons/tenants/t/clusters/b/addons/web/values.yaml"] = "replicas: 7\n"
		got := 0
		for _, h := range plan.Compare(base, build(t, base, files), nil).Hubs {
			got += len(h.Rings)
		}
		if got != want {
			t.Errorf("%s: %d rollouts, want %d", scope, got, want)
		}
	}
}
