package flux_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// owned is what an artifact holds: what runs by its name, what is to go with its deletion as well.
func owned(t testing.TB, st *fleetstate.State, hub, owner string) string {
	t.Helper()
	o, err := flux.OwnedBy(st, hub, owner)
	require.NoError(t, err)
	var out []string
	for _, c := range o.Components {
		if c.Deletion != fleet.Orphan {
			t.Errorf("%s is to run, and says %s", c.ApplicationName, c.Deletion)
		}
		out = append(out, c.ApplicationName)
	}
	for _, c := range o.Removals {
		out = append(out, c.ApplicationName+":"+c.Deletion)
	}
	return strings.Join(out, " ")
}

const fluxAgent = "use_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n"

// TestDeletionOfHelmReleases is rules D1 to D4 for an engine that is Flux: for what reason a
// component is to leave the artifact decides whether it is in there before, marked for what is to
// become of what runs.
func TestDeletionOfHelmReleases(t *testing.T) {
	flux := func(more string) fleettest.Tree {
		return fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", fluxAgent+more)}
	}
	off := flux("").With(fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: false}\n"})
	centralized := fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "")}
	argo := fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", strings.Replace(fluxAgent, "engine: flux", "engine: argocd", 1))}
	hubOwns := fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", strings.Replace(fluxAgent, "enable_remote_addons: true\n", "", 1))}
	label := func(selector, label string) fleettest.Tree {
		return flux("labels: {other: x" + label + "}\n").With(fleettest.Tree{
			fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + ", selector: " + selector + "}\n", fleettest.Member("two"): "",
		})
	}
	const useDNS = "{matchLabels: {use_dns: \"true\"}}"
	dns := fleettest.HelmRelease("dns", "one", "one")
	ofHub := fleettest.HelmRelease("dns", "one", "hub")
	other := func(change func(*facts.Application)) facts.Application { r := dns; change(&r); return r }
	for _, c := range []struct {
		name  string
		more  fleettest.Tree
		there []facts.Application
		owner string
		want  string
	}{
		{"D1 what is to run, runs", flux(""), []facts.Application{dns}, "one", "dns-one"},
		{"D1 what is to run, whatever its HelmRelease says", flux(""), []facts.Application{fleettest.WithFinalizer(fleettest.Suspended(dns))}, "one", "dns-one"},
		{"D1 lost: what switched it on is gone", flux("").With(fleettest.Tree{fleettest.SystemCatalog: "dns: {" + fleettest.DNSChart + "}\n"}), []facts.Application{dns}, "one", ""},
		{"D1 lost: no catalog knows it", flux("").With(fleettest.Tree{fleettest.SystemCatalog: "cert: {enabled: true, " + fleettest.DNSChart + "}\n"}), []facts.Application{dns}, "one", "cert-one"},
		{"D1 lost: the entry is null", flux("").With(fleettest.Tree{fleettest.OneCatalog: "dns: null\n"}), []facts.Application{dns}, "one", ""},
		{"D1 lost: the label is gone", label(useDNS, ""), []facts.Application{dns}, "one", ""},
		{"D1 lost, and moved: the hub does not run it", hubOwns.With(fleettest.Tree{fleettest.SystemCatalog: "dns: {" + fleettest.DNSChart + "}\n"}), []facts.Application{dns}, "one", ""},
		{"D1 lost: the member file of a hub's", fleettest.Tree{fleettest.Member("one"): ""}, []facts.Application{ofHub}, "hub", "dns-hub dns-two"},

		{"D3 disabled", off, []facts.Application{dns}, "one", "dns-one:cascade"},
		{"D3 disabled: the mark shows", off, []facts.Application{fleettest.WithFinalizer(dns)}, "one", ""},
		{"D3 disabled: another mark shows", off, []facts.Application{fleettest.Suspended(dns)}, "one", "dns-one:cascade"},
		{"D3 disabled: it is gone", off, nil, "one", ""},
		{"D3 disabled: never there", off, []facts.Application{fleettest.HelmRelease("cert", "one", "one")}, "one", ""},
		{"D3 disabled: switched on again", flux(""), []facts.Application{fleettest.WithFinalizer(dns)}, "one", "dns-one"},
		{"D3 disabled by a label", label(useDNS, ", use_dns: \"false\""), []facts.Application{dns}, "one", "dns-one:cascade"},
		{"D3 disabled, and moved: nobody is to have it", hubOwns.With(fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: false}\n"}), []facts.Application{dns}, "one", "dns-one:cascade"},
		{"D3 what cannot be computed any more stays", flux("").With(fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: false, values: {x: '{{ .labels.gone }}'}}\n"}), []facts.Application{dns}, "one", ""},
		{"D3 disabled: on a hub that runs Flux", centralized.With(fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: false}\n"}), []facts.Application{ofHub}, "hub", "dns-hub dns-two dns-one:cascade"},
		{"D3 retired, cascade", flux("lifecycle: retired\ndeletion: cascade\n"), []facts.Application{dns}, "one", "dns-one:cascade"},
		{"D3 retired, cascade: the mark shows", flux("lifecycle: retired\ndeletion: cascade\n"), []facts.Application{fleettest.WithFinalizer(dns)}, "one", ""},
		{"D3 retired: what runs stays", flux("lifecycle: retired\n"), []facts.Application{dns}, "one", "dns-one:orphan"},
		{"D3 retired: the mark shows", flux("lifecycle: retired\n"), []facts.Application{fleettest.Suspended(dns)}, "one", ""},
		{"D3 retired, of a hub that runs Flux", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\n")}, []facts.Application{ofHub}, "hub", "dns-hub dns-two dns-one:cascade"},

		{"D4 the group goes to the hub", hubOwns, []facts.Application{dns}, "one", "dns-one:orphan"},
		{"D4 the group goes to the hub: the mark shows", hubOwns, []facts.Application{fleettest.Suspended(dns)}, "one", ""},
		{"D4 the group goes to the hub: another mark shows", hubOwns, []facts.Application{fleettest.WithFinalizer(dns)}, "one", "dns-one:orphan"},
		{"D4 the group goes to the hub, which has it", hubOwns, []facts.Application{dns}, "hub", "dns-hub dns-one dns-two"},
		{"D4 back again", flux(""), []facts.Application{fleettest.Suspended(dns)}, "one", "dns-one"},
		{"D4 the hub's own Flux lets go", flux(""), []facts.Application{ofHub}, "hub", "dns-hub dns-two dns-one:orphan"},
		{"D4 the hub's own Flux has let go", flux(""), []facts.Application{fleettest.Suspended(ofHub)}, "hub", "dns-hub dns-two"},
		{"D4 the member's engine is Argo CD", argo, []facts.Application{dns}, "one", "dns-one:orphan"},
		{"D4 the member's engine is Argo CD: the mark shows", argo, []facts.Application{fleettest.Suspended(dns)}, "one", ""},
		{"D4 the member has no engine any more", centralized, []facts.Application{dns}, "one", "dns-one:orphan"},
		{"D4 and is retired", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\n")}, []facts.Application{dns}, "one", "dns-one:cascade"},
		{"D4 the member goes to another hub", fleettest.Tree{fleettest.Member("one"): "", "fleet/fleet-members/other/one.yaml": fleettest.Spoke("one", "")}, []facts.Application{ofHub}, "hub", "dns-hub dns-two dns-one:orphan"},

		{"another owner's is none of one's own", off, []facts.Application{ofHub}, "one", ""},
		{"another hub's is none of one's own", off, []facts.Application{other(func(r *facts.Application) { r.Owner = "other/one" })}, "one", ""},
		{"a name that says another component", flux("").With(fleettest.Tree{fleettest.SystemCatalog: "cert: {enabled: false, " + fleettest.DNSChart + "}\n"}), []facts.Application{other(func(r *facts.Application) { r.Component = "cert" })}, "one", ""},
		{"a name that another has, which runs", fleettest.Tree{fleettest.Member("two-one"): fleettest.Spoke("two-one", ""), fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\ndns-two: {enabled: false, " + fleettest.DNSChart + "}\n"}, []facts.Application{fleettest.HelmRelease("dns-two", "one", "hub")}, "hub", "dns-hub dns-one dns-two dns-two-one"},
		{"a group that the layout does not have", off, []facts.Application{other(func(r *facts.Application) { r.Group = "gone" })}, "one", ""},
		{"Argo CD's Applications are no HelmReleases", off, nil, "one", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := facts.NewSet(false).WithApplications(fleettest.Application("dns", "one", "default")).WithHelmReleases(c.there...)
			st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Small().With(c.more)), set)
			require.NoError(t, err)
			querytest.NoProblems(t, st)
			assert.Equal(t, c.want, owned(t, st, "hub", c.owner))
		})
	}
}

// A team's component is removed after the team's applications on its cluster, which Flux removes
// with the rights that it gives. Another team's, another cluster's and what Flux keeps do not hold
// it up. (D3, T4)
func TestTeamIsRemovedAfterItsApplications(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/teams.txtar")
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	of := func(group, component, cluster string) facts.Application {
		r := fleettest.HelmRelease(component, cluster, "one")
		r.Group = group
		return r
	}
	cart, web, unknown := of("teams", "team-cart", "one"), of("workloads", "web", "one"), of("workloads", "gone", "one")
	const cascade, orphan = "lifecycle: retired, deletion: cascade", "lifecycle: retired"
	for _, c := range []struct {
		name, retired string
		there         []facts.Application
		want          string
	}{
		{"its application is there", cascade, []facts.Application{cart, web}, "web-one:cascade"},
		{"its application is marked", cascade, []facts.Application{cart, fleettest.WithFinalizer(web)}, ""},
		{"its application is gone", cascade, []facts.Application{cart}, "team-cart-one:cascade"},
		{"one of no team", cascade, []facts.Application{cart, unknown}, "team-cart-one:cascade"},
		{"on another cluster", cascade, []facts.Application{cart, of("workloads", "web", "two")}, "team-cart-one:cascade web-two:orphan"},
		{"what runs stays", orphan, []facts.Application{cart, web}, "team-cart-one:orphan web-one:orphan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			retired := maps.Clone(files)
			const member = "fleet/fleet-members/hub/one.yaml"
			retired[member] = strings.Replace(files[member], "enable_remote_teams: true", "enable_remote_teams: true, "+c.retired, 1)
			st, err := fleetstate.Build(nil, snapshot.FromMap(retired), facts.NewSet(false).WithHelmReleases(c.there...))
			require.NoError(t, err)
			assert.Equal(t, c.want, owned(t, st, "hub", "one"))
		})
	}
}

// TestRegistrationIsRemovedLast: with a hub that runs Flux, the registration of a member that
// retires goes last, and is marked first; whatever the member's deletion says.
func TestRegistrationIsRemovedLast(t *testing.T) {
	const fluxHub = "clusterName: hub\ntenant: platform\nenvironment: prod\nfleet_member: hub-cluster\n"
	registration := facts.Application{Name: "fleet-secret-one", Cluster: "one", Group: "fleet", Component: "fleet-secret", Owner: "hub/hub"}
	dns, ofMember, ofTwo := fleettest.HelmRelease("dns", "one", "hub"), fleettest.HelmRelease("dns", "one", "one"), fleettest.HelmRelease("dns", "two", "hub")
	named := registration
	named.Name = "fleet-secret-two"
	const retired = "lifecycle: retired\n"
	for _, c := range []struct {
		name, hub, more string
		there           []facts.Application
		want            string
	}{
		{"active", "remote_engine: flux\n", "", []facts.Application{registration}, ""},
		{"a component is left", "remote_engine: flux\n", retired + "deletion: cascade\n", []facts.Application{registration, fleettest.WithFinalizer(dns)}, ""},
		{"nothing is left", "remote_engine: flux\n", retired + "deletion: cascade\n", []facts.Application{registration, ofTwo}, "fleet-secret-one:cascade"},
		{"nothing is left, orphan", "remote_engine: flux\n", retired, []facts.Application{registration}, "fleet-secret-one:cascade"},
		{"another owner's is left", "remote_engine: flux\n", retired, []facts.Application{registration, ofMember}, "fleet-secret-one:cascade"},
		{"the mark shows", "remote_engine: flux\n", retired, []facts.Application{fleettest.WithFinalizer(registration)}, ""},
		{"never there", "remote_engine: flux\n", retired, []facts.Application{ofTwo}, ""},
		{"another cluster's", "remote_engine: flux\n", retired, []facts.Application{named}, ""},
		{"a hub that does not say that it runs Flux", "", retired, []facts.Application{registration}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The member's file says nothing of secrets: a retired one needs none.
			files := fleettest.Small().With(fleettest.Tree{"fleet/fleet-members/hub/hub.yaml": fluxHub + c.hub, fleettest.Member("one"): fleettest.Spoke("one", c.more)})
			st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", files), facts.NewSet(false).WithHelmReleases(c.there...))
			require.NoError(t, err)
			o, err := flux.OwnedBy(st, "hub", "hub")
			require.NoError(t, err)
			var got []string
			for _, r := range o.RegistrationRemovals {
				got = append(got, r.ApplicationName+":"+r.Deletion)
			}
			assert.Equal(t, c.want, strings.Join(got, " "), "got %q, want", got)
			for _, d := range o.Removals {
				if d.Component == "fleet-secret" {
					t.Errorf("%s departs as a component", d.ApplicationName)
				}
			}
			registered := 0
			for _, r := range o.Registrations {
				if r.Name == "one" {
					registered++
				}
			}
			if want := c.hub != "" && c.more == ""; (registered == 1) != want {
				t.Errorf("registered %d times", registered)
			}
		})
	}
}

// TestUnknownHelmReleasesAreLeftOutAtOnce: where nothing is known of HelmReleases there is one
// step, whatever Git says: out, and what is out stays. An owner that has no Flux has no artifact,
// either. (D1)
func TestUnknownHelmReleasesAreLeftOutAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		more fleettest.Tree
		want string
	}{
		"disabled":  {fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", fluxAgent), fleettest.OneCatalog: "dns: {enabled: false}\n"}, ""},
		"moved":     {fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "use_remote_argo: true\nremote_engine: flux\n")}, ""},
		"retired":   {fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", fluxAgent+"lifecycle: retired\ndeletion: cascade\n")}, ""},
		"no engine": {fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "")}, `member "one" of hub "hub" has no engine of its own: ask for owner "hub"`},
		"Argo CD":   {fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "use_remote_argo: true\n")}, `the engine of member "one" of hub "hub" is argocd`},
	} {
		for kind, set := range map[string]facts.Set{
			"unknown": facts.NewSet(false).WithApplications(fleettest.Application("dns", "one", "default")), "none": facts.NewSet(false).WithHelmReleases(),
		} {
			st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Small().With(c.more)), set)
			require.NoError(t, err)
			o, err := flux.OwnedBy(st, "hub", "one")
			var e *problem.QueryError
			got := fmt.Sprint(len(o.Components), len(o.Removals))
			if errors.As(err, &e) && e.Kind == problem.KindBadRequest {
				got = e.Error()
			} else if err == nil && got == "0 0" {
				got = ""
			}
			if got != c.want {
				t.Errorf("%s, %s: %q, %v", name, kind, got, err)
			}
		}
	}
}

// TestRemovedHelmReleaseKeepsChartAndValues: what is to go is in the artifact with chart and
// values, so that nothing changes while it waits, and a set that cannot be computed does not hold
// up the others.
func TestRemovedHelmReleaseKeepsChartAndValues(t *testing.T) {
	st := func(more fleettest.Tree) flux.Owned {
		t.Helper()
		files := fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", fluxAgent)}).With(more)
		s, err := fleetstate.Build(nil, fleettest.Snapshot("rev", files), facts.NewSet(false).WithHelmReleases(fleettest.HelmRelease("dns", "one", "one")))
		require.NoError(t, err)
		o, err := flux.OwnedBy(s, "hub", "one")
		require.NoError(t, err)
		return o
	}
	ran := st(nil).Components[0]
	went := st(fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: false}\n"}).Removals[0]
	if ran.Chart != went.Chart || ran.HelmValues != went.HelmValues || ran.Namespace != went.Namespace || went.HelmValues == "" {
		t.Errorf("ran %+v, went %+v", ran, went)
	}
}

const (
	folder    = `kind: manifests, chart: {repoURL: "https://git.example/fleet", path: "policies/{{ .environment }}", version: main}`
	chartKind = `chart: {repoURL: "https://charts.example", name: quotas, version: "1"}`
)

// quotas is a catalog of the chart dns and of quotas, with these keys.
func quotas(keys string) fleettest.Tree {
	return fleettest.Tree{fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\nquotas: {enabled: true, " + keys + "}\n"}
}

// TestRemovedKustomizationsAreMarked is rules D1 to D4 for manifests that Flux applies: as
// HelmReleases, and one kind is let go when the catalog makes the other of a component, which takes
// over what runs.
func TestRemovedKustomizationsAreMarked(t *testing.T) {
	release := fleettest.HelmRelease("quotas", "one", "one")
	kustomization := release
	kustomization.Kind = facts.Kustomization
	agent := fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", fluxAgent)}
	off := fleettest.Tree{fleettest.OneCatalog: "quotas: {enabled: false}\n"}
	const runs = "dns-one: quotas-one:manifests"
	for _, c := range []struct {
		name  string
		keys  string
		more  fleettest.Tree
		there []facts.Application
		want  string
	}{
		{"D1 what is to run, runs", folder, nil, []facts.Application{kustomization}, runs},
		{"D1 lost", folder, fleettest.Tree{fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\n"}, []facts.Application{kustomization}, "dns-one:"},
		{"D3 disabled", folder, off, []facts.Application{kustomization}, "dns-one: quotas-one:manifests:cascade"},
		{"D3 disabled: the mark shows", folder, off, []facts.Application{fleettest.WithFinalizer(kustomization)}, "dns-one:"},
		{"D4 moved", folder, fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", strings.Replace(fluxAgent, "enable_remote_addons: true\n", "", 1))}, []facts.Application{kustomization}, "quotas-one:manifests:orphan"},
		{"D4 it was a chart", folder, nil, []facts.Application{release, kustomization}, runs + " quotas-one::orphan"},
		{"D4 it was a chart: the mark shows", folder, nil, []facts.Application{fleettest.Suspended(release)}, runs},
		{"D4 it is a chart now", chartKind, nil, []facts.Application{kustomization}, "dns-one: quotas-one: quotas-one:manifests:orphan"},
		{"D3 it was a chart, and is switched off", folder, off, []facts.Application{release}, "dns-one: quotas-one::cascade"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Small().With(quotas(c.keys)).With(agent).With(c.more)), facts.NewSet(false).WithHelmReleases(c.there...))
			require.NoError(t, err)
			o, err := flux.OwnedBy(querytest.NoProblems(t, st), "hub", "one")
			require.NoError(t, err)
			var got []string
			for _, s := range o.Components {
				got = append(got, fmt.Sprintf("%s:%s", s.ApplicationName, s.Kind))
			}
			for _, s := range o.Removals {
				got = append(got, fmt.Sprintf("%s:%s:%s", s.ApplicationName, s.Kind, s.Deletion))
			}
			assert.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

// A member whose file is gone is lost: what a cluster of its name says on another hub removes none
// of its workloads. (D1, W1)
func TestAnotherHubsClusterRemovesNoWorkloads(t *testing.T) {
	const theirs = "fleet/fleet-members/other/one.yaml"
	known := facts.NewSet(false).WithHelmReleases(fleettest.HelmRelease("dns", "one", "hub"))
	for name, other := range map[string]fleettest.Tree{
		"switched off": {
			theirs: "clusterName: one\ntenant: red\nenvironment: prod\n",
			"addons/tenants/red/clusters/one/application-sets/addons.yaml": "dns: {enabled: false}\n",
		},
		"retired": {theirs: "clusterName: one\ntenant: red\nenvironment: prod\nlifecycle: retired\ndeletion: cascade\n"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fleettest.Small().With(fleettest.Tree{
				"fleet/fleet-members/other/other.yaml": "{clusterName: other, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
			}).With(other)
			before := querytest.NoProblems(t, querytest.Next(t, nil, fleettest.Snapshot("1", files), known))
			lost := querytest.Next(t, before, fleettest.Snapshot("2", files.With(fleettest.Tree{fleettest.Member("one"): ""})), known)
			if got := owned(t, lost, "hub", "hub"); strings.Contains(got, "cascade") {
				t.Errorf("a lost member's workloads are removed: %s", got)
			}
		})
	}
}

// With Flux, too, what makes a retired member's cluster stays until an approval names it, and is
// removed after everything else of the member. (C3)
func TestFluxRemovesAClusterLast(t *testing.T) {
	dns, eks := fleettest.HelmRelease("dns", "one", "hub"), fleettest.HelmRelease("eks", "one", "hub")
	eks.Group = "provisioning"
	registration := facts.Application{Name: "fleet-secret-one", Cluster: "one", Group: "fleet", Component: "fleet-secret", Owner: "hub/hub"}
	files := fleettest.Small().With(fleettest.Tree{
		"fleet/layout.yaml":          "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n  provisioning: {catalog: catalogs/provisioning.yaml}\n",
		"catalogs/provisioning.yaml": "eks: {enabled: true, chart: {repoURL: https://git.example/c, path: eks, version: main}}\n",
		fleettest.Member("hub"):      "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: flux}\n",
		fleettest.Member("one"):      fleettest.Spoke("one", "provision: {class: eks, version: \"1.31\"}\nlifecycle: retired\ndeletion: cascade\ninfrastructure: delete\n"),
	})
	approval := fleettest.Tree{"fleet/approvals/one.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: RemovalApproval\nexpires: 2099-01-01\n" +
		"removals: [{hub: hub, clusters: [one], components: [provisioning/eks], reason: a test}]\n"}
	for _, c := range []struct {
		name  string
		more  fleettest.Tree
		there []facts.Application
		want  string
		last  int // registrations that are removed
	}{
		{"not approved", nil, []facts.Application{dns, eks}, "dns-hub dns-two dns-one:cascade", 0},
		{"approved, and more is there", approval, []facts.Application{dns, eks}, "dns-hub dns-two dns-one:cascade", 0},
		{"the registration is left", approval, []facts.Application{registration, eks}, "dns-hub dns-two", 1},
		{"the last", approval, []facts.Application{eks}, "dns-hub dns-two eks-one:cascade", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := querytest.NoProblems(t, querytest.Next(t, nil, fleettest.Snapshot("rev", files.With(c.more)), facts.NewSet(false).WithHelmReleases(c.there...)))
			assert.Equal(t, c.want, owned(t, st, "hub", "hub"))
			o, err := flux.OwnedBy(st, "hub", "hub")
			if err != nil || len(o.RegistrationRemovals) != c.last {
				t.Errorf("%d registrations are removed, %v", len(o.RegistrationRemovals), err)
			}
		})
	}
}

// TestFluxRemovesInReverseOrder: with Flux, too, what depends on another component is removed
// before it, and nodes before their control plane. What Flux keeps holds up nothing. (P2, C3)
func TestFluxRemovesInReverseOrder(t *testing.T) {
	of := func(group, component string) facts.Application {
		r := fleettest.HelmRelease(component, "one", "hub")
		r.Group = group
		return r
	}
	dns, web, eks, nodes := of("addons", "dns"), of("addons", "web"), of("provisioning", "eks"), of("provisioning", "eks-nodes")
	const chart = "chart: {repoURL: https://git.example/c, path: p, version: main}"
	files := fleettest.Small().With(fleettest.Tree{
		"fleet/layout.yaml":          "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups:\n  provisioning: {catalog: catalogs/provisioning.yaml}\n",
		"catalogs/provisioning.yaml": "eks: {enabled: true, " + chart + "}\neks-nodes: {enabled: true, dependsOn: [eks], " + chart + "}\n",
		fleettest.SystemCatalog:      "dns: {enabled: true, " + fleettest.DNSChart + "}\nweb: {enabled: true, dependsOn: [dns], " + fleettest.DNSChart + "}\n",
		fleettest.Member("hub"):      "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: flux}\n",
	})
	retired := fleettest.Tree{
		fleettest.Member("one"): fleettest.Spoke("one", "provision: {class: eks, version: \"1.31\"}\nlifecycle: retired\ndeletion: cascade\ninfrastructure: delete\n"),
		"fleet/approvals/one.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: RemovalApproval\nexpires: 2099-01-01\n" +
			"removals: [{hub: hub, clusters: [one], components: [provisioning/eks], reason: a test}]\n",
	}
	off := fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: false}\nweb: {enabled: false}\n"}
	lost := fleettest.Tree{ // nothing says that web is off
		fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\nweb: {dependsOn: [dns], " + fleettest.DNSChart + "}\n",
		fleettest.OneCatalog:    "dns: {enabled: false}\n",
	}
	const rest = "dns-hub web-hub dns-two web-two"
	for _, c := range []struct {
		name  string
		more  fleettest.Tree
		there []facts.Application
		want  string
	}{
		{"disabled", off, []facts.Application{dns, web}, rest + " web-one:cascade"},
		{"disabled: the first is under way", off, []facts.Application{dns, fleettest.WithFinalizer(web)}, rest},
		{"disabled: the first is gone", off, []facts.Application{dns}, rest + " dns-one:cascade"},
		{"what is lost holds up nothing", lost, []facts.Application{dns, web}, "dns-hub dns-two dns-one:cascade"},
		{"what cannot be computed any more holds up nothing", fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: false}\nweb: {enabled: false, values: {x: '{{ .labels.gone }}'}}\n"}, []facts.Application{dns, web}, rest + " dns-one:cascade"},
		{"retired: components", retired, []facts.Application{dns, web, eks, nodes}, rest + " web-one:cascade"},
		{"retired: nodes", retired, []facts.Application{eks, nodes}, rest + " eks-nodes-one:cascade"},
		{"retired: nodes are under way", retired, []facts.Application{eks, fleettest.WithFinalizer(nodes)}, rest},
		{"retired: the control plane", retired, []facts.Application{eks}, rest + " eks-one:cascade"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := querytest.NoProblems(t, querytest.Next(t, nil, fleettest.Snapshot("rev", files.With(c.more)), facts.NewSet(false).WithHelmReleases(c.there...)))
			assert.Equal(t, c.want, owned(t, st, "hub", "hub"))
		})
	}
}
