package server_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestSecondMemberFileStopsNobody: a file that claims the name of another file's cluster, or the
// hub, has an error alone, whatever is in it and whichever path comes first. All that was accepted
// before stays as it was, and the commit's other changes go on, over a restart, too. (W1)
func TestSecondMemberFileStopsNobody(t *testing.T) {
	const byTenant = "members: fleet/members/{{ .tenant }}/{{ .hub }}/{{ .cluster }}.yaml\n" +
		"hubs: {hub-1: {tenant: p, environment: prod}, hub-2: {tenant: p, environment: prod}}\n"
	const a = "{clusterName: a, tenant: blue, environment: prod, secretManagerSecretName: blue/a}\n"
	tenants := fleettest.TwoHubs().With(fleettest.Tree{"fleet/layout.yaml": byTenant, "fleet/members/blue/hub-1/a.yaml": a})
	for name, c := range map[string]struct {
		files      fleettest.Tree
		path, text string
	}{
		"before":             {tenants, "fleet/members/acme/hub-1/a.yaml", strings.Replace(a, "blue", "acme", 2)},
		"after":              {tenants, "fleet/members/red/hub-1/a.yaml", strings.Replace(a, "blue", "red", 2)},
		"retired":            {tenants, "fleet/members/acme/hub-1/a.yaml", strings.Replace(a, "tenant: blue", "tenant: acme, lifecycle: retired, deletion: cascade", 1)},
		"no YAML":            {tenants, "fleet/members/acme/hub-1/a.yaml", "["},
		"the declared hub's": {tenants, "fleet/members/acme/hub-1/hub-1.yaml", "["},
		"claims a hub":       {fleettest.TwoHubs(), "fleet/fleet-members/hub-1/a0.yaml", "{clusterName: a0, tenant: retail, environment: dev, fleet_member: hub-cluster}\n"},
		"claims a hub late":  {fleettest.TwoHubs(), "fleet/fleet-members/hub-1/z.yaml", "{clusterName: z, tenant: retail, environment: dev, fleet_member: hub-cluster}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			const components = `{"view":"components","group":"addons"}`
			dir := t.TempDir()
			keep := func(o *server.Options) { o.Store = folderStore(t, dir) }
			s := start(t, keep)
			served := func() map[string]map[string]any {
				s.Helper()
				out := map[string]map[string]any{}
				for _, query := range []string{components, `{"view":"members"}`} {
					for id, set := range s.sets(query) {
						delete(set, "revision")
						out[query+id] = set
					}
				}
				return out
			}
			check := func(what string, files fleettest.Tree, replicas string) {
				t.Helper()
				values := fleettest.Tree{dnsValues: "replicas: " + replicas + "\n"}
				s.say(c.files.With(values))
				want := served()
				revision := s.say(files.With(values)).Revision
				if got := s.Refresher().Status(); got.Revision != revision {
					t.Fatalf("%s: serves %s: %+v", what, got.Revision, got.Refused)
				}
				if diff := gocmp.Diff(want, served()); diff != "" || !strings.Contains(want[components+"dns-a"]["helmValues"].(string), replicas) {
					t.Errorf("%s: %s", what, diff)
				}
				if errs := s.Refresher().State().Errors("hub-1"); len(errs) == 0 || errs[0].Pos.File != c.path {
					t.Errorf("%s: the file has no error: %v", what, errs)
				}
			}
			late := c.files.With(fleettest.Tree{c.path: c.text})
			check("at first", late, "21")
			was := late.With(fleettest.Tree{dnsValues: "replicas: 21\n"})
			s.say(was)
			before := served()
			require.NoError(t, s.Stop(t.Context()))
			s = start(t, keep)
			s.say(was)
			assert.Equal(t, before, served(), "over a restart")
			s.say(was.With(fleettest.Tree{"README.yaml": "x: 1\n"}))
			assert.Equal(t, before, served(), "after a restart and another commit")
			check("after a restart", late, "22")
			s.say(c.files)
			if errs := s.Refresher().State().Errors("hub-1"); len(errs) > 0 {
				t.Errorf("without the file: %v", errs)
			}
		})
	}
}

// TestTwinThatCameLaterStopsNobody: a member file of another hub that provisions a cluster of the
// same name in the same account and region is held alone. (W1)
func TestTwinThatCameLaterStopsNobody(t *testing.T) {
	const a = "clusterName: a, tenant: retail, environment: dev, secretManagerSecretName: x, provision: {class: eks, version: \"1.31\"}"
	files := repository(map[string]string{
		"fleet/layout.yaml":          "groups:\n  provisioning: {catalog: catalogs/provisioning.yaml}\n",
		"catalogs/provisioning.yaml": "eks: {enabled: true, chart: {repoURL: https://git.example/argosy, path: charts/eks, version: main}, namespace: clusters}\n",
		fileA:                        "{" + a + "}\n",
	})
	twin := with(files, map[string]string{"fleet/fleet-members/hub-2/a.yaml": "{" + strings.Replace(a, "retail", "red", 1) + "}\n"})
	dir := t.TempDir()
	keep := func(o *server.Options) { o.Store = folderStore(t, dir) }
	s := start(t, keep)
	s.say(files)
	replicas := func(n string) map[string]string {
		return with(twin, map[string]string{dnsValues: "replicas: " + n + "\n"})
	}
	check := func(what, n string) {
		t.Helper()
		set := s.sets(`{"view":"components","group":"addons"}`)["dns-a"]
		if set["hold"] != nil || !strings.Contains(set["helmValues"].(string), n) {
			t.Errorf("%s: %v", what, set)
		}
	}
	s.say(replicas("21"))
	check("at first", "21")
	require.NoError(t, s.Stop(t.Context()))
	s = start(t, keep)
	s.say(replicas("22"))
	check("after a restart", "22")
}

// TestUnreadableHubIsNotTakenOver: a file that claims a hub whose own file cannot be read since an
// earlier commit does not become the hub, then or when the file is fixed. (W1)
func TestUnreadableHubIsNotTakenOver(t *testing.T) {
	const hub, late = "fleet/fleet-members/hub-1/hub-1.yaml", "fleet/fleet-members/hub-1/z.yaml"
	s, base := start(t), fleettest.TwoHubs()
	claim := fleettest.Tree{late: "{clusterName: z, tenant: retail, environment: dev, fleet_member: hub-cluster}\n"}
	for _, commit := range []struct {
		what  string
		files fleettest.Tree
		want  string
	}{
		{"at first", base, hub},
		{"its file is broken", base.With(fleettest.Tree{hub: "["}), ""},
		{"and claimed", base.With(claim).With(fleettest.Tree{hub: "["}), ""},
		{"still claimed", base.With(claim).With(fleettest.Tree{hub: "[", dnsValues: "replicas: 5\n"}), ""},
		{"fixed", base.With(claim), hub},
		{"handed over", base.With(claim).With(fleettest.Tree{hub: "clusterName: hub-1\ntenant: platform\nenvironment: prod\n"}), late},
	} {
		s.say(commit.files)
		got := ""
		if m := s.Refresher().State().Fleet.HubMember("hub-1"); m != nil {
			got = m.Pos.File
		}
		if got != commit.want {
			t.Errorf("%s: the hub's file is %q; expected %q", commit.what, got, commit.want)
		}
	}
}
