package flux_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var update = flag.Bool("update", false, "write the expected outputs anew")

// state is a repository's, with what its file facts.yaml says is known.
func state(t *testing.T, files map[string]string) *fleetstate.State {
	t.Helper()
	known, err := facts.Parse("facts.yaml", []byte(cmp.Or(files["facts.yaml"], "kind: Facts\n")))
	require.NoError(t, err)
	st, err := fleetstate.Build(nil, snapshot.FromMap(files), known)
	require.NoError(t, err)
	for _, p := range st.Problems {
		t.Errorf("%v", p)
	}
	return st
}

// fleetOf is a fleet of one hub and the members given, a name and further keys each, with one
// catalog entry a line.
func fleetOf(members map[string]string, catalog string, more map[string]string) map[string]string {
	files := map[string]string{
		"versions/applicationSets.yaml":                "releases: {addons: [{type: default, chartRepo: r, ecrChartName: c, version: \"1\"}]}\n",
		"versions/fleetSecrets.yaml":                   "releases: [{type: default, chartRepo: r, ecrChartName: c, version: \"1\"}]\n",
		"fleet/fleet-members/hub/hub.yaml":             "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
		"addons/defaults/application-sets/addons.yaml": catalog,
	}
	for name, keys := range members {
		files["fleet/fleet-members/hub/"+name+".yaml"] = "clusterName: " + name + "\ntenant: retail\nenvironment: prod\n" + keys
	}
	maps.Copy(files, more)
	return files
}

const agent = "use_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n"

func render(t *testing.T, st *fleetstate.State, owner string) map[string]string {
	t.Helper()
	owned, err := flux.OwnedBy(st, "hub", owner)
	require.NoError(t, err)
	files, problems := flux.Render(owned)
	for _, p := range problem.Errors(problems) {
		t.Errorf("%v", p)
	}
	out := map[string]string{}
	for _, f := range files {
		out[f.Name] = string(f.Data)
	}
	return out
}

// T4 on Flux, which fetches from any repository: one that the team's file does not name is refused
// before, of a chart and of a companion, and nobody else's application goes by it.
func TestFluxTakesNoForeignRepository(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/teams.txtar")
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	for _, foreign := range []string{"https://git.example/bank/web", "https://git.example/cart/../bank", "oci://git.example/cart/web"} {
		for _, entry := range []string{"web: {chart: {repoURL: '" + foreign + "'}}\n", "web: {companions: {cache: {chart: {repoURL: '" + foreign + "'}}}}\n"} {
			hostile := maps.Clone(files)
			hostile["workloads/tenants/shop/clusters/two/application-sets/workloads.yaml"] = entry
			st, err := fleetstate.Build(nil, snapshot.FromMap(hostile), facts.Set{})
			require.NoError(t, err)
			p := st.Problems
			if len(p) != 1 || p[0].Reason != problem.InvalidApp || p[0].Cluster != "two" || !strings.Contains(p[0].Error(), strings.TrimPrefix(foreign, "oci://")+" is not one of team \"cart\"") {
				t.Errorf("%s: %v", entry, p)
			}
		}
	}
}

// TestGoldens: an input is a repository. Files below want/<owner>/ are objects that the owner's
// Flux gets: kustomization.yaml, which names all of them, and the ones that the input is about.
func TestGoldens(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no inputs", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			files, want := map[string]string{}, map[string]string{}
			var kept []txtar.File
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, "want/") {
					want[f.Name] = string(f.Data)
					continue
				}
				files[f.Name] = string(f.Data)
				kept = append(kept, f)
			}
			st := state(t, files)
			got := map[string]string{}
			var order []string
			for _, owner := range strings.Fields(strings.SplitN(string(archive.Comment), "\n", 2)[0]) {
				owned, err := flux.OwnedBy(st, "hub", owner)
				require.NoError(t, err)
				rendered, problems := flux.Render(owned)
				for _, f := range rendered {
					name := "want/" + owner + "/" + f.Name
					if _, is := want[name]; is || f.Name == "kustomization.yaml" {
						got[name] = string(f.Data)
						order = append(order, name)
					}
				}
				if len(problems) > 0 {
					name := "want/" + owner + "/problems"
					order = append(order, name)
					for _, p := range problems {
						got[name] += fmt.Sprintf("%s: %s [%s]\n", p.Severity, p.Error(), p.Reason)
					}
				}
			}
			if *update {
				archive.Files = kept
				for _, name := range order {
					archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(got[name])})
				}
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o600))
				return
			}
			assert.Equal(t, want, got)
		})
	}
}

// TestRule2_ValuesAreWhatHelmReads: null, numbers and `${}` reach Helm as `-f` would bring them
// (H2).
func TestRule2_ValuesAreWhatHelmReads(t *testing.T) {
	t.Parallel()
	const values = "account: 123456789012345678\nexact: 1000000\nlimits:\n  cpu: null\nscript: echo ${HOME}\n"
	files := render(t, state(t, fleetOf(map[string]string{"one": agent}, "dns: {enabled: true, chart: {repoURL: \"https://c.example\", name: dns, version: 1.0.0}}\n",
		map[string]string{"addons/defaults/addons/dns/values.yaml": values})), "one")
	docs := strings.Split(files["components/dns-one.yaml"], "---\n")
	var config struct{ Data map[string]string }
	var release struct {
		Spec struct {
			ValuesFrom []struct{ Kind, Name, ValuesKey string }
			Values     any
		}
		Metadata struct{ Annotations map[string]string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(docs[1]), &config))
	require.NoError(t, yaml.Unmarshal([]byte(docs[2]), &release))
	from := release.Spec.ValuesFrom
	if len(from) != 1 || release.Spec.Values != nil || release.Metadata.Annotations["kustomize.toolkit.fluxcd.io/substitute"] != "disabled" {
		t.Fatalf("release %+v", release)
	}
	got, err := chartutil.ReadValues([]byte(config.Data[from[0].ValuesKey]))
	require.NoError(t, err)
	want, err := chartutil.ReadValues([]byte(values))
	require.NoError(t, err)
	assert.Equal(t, want, got, "(-Helm +Flux)")
}

// TestRule6_SameBytes: neither another commit nor the order of anything changes the artifact.
func TestRule6_SameBytes(t *testing.T) {
	t.Parallel()
	files := fleetOf(map[string]string{"one": agent, "two": ""}, "dns: {enabled: true, chart: {repoURL: \"https://c.example\", name: dns, version: 1.0.0}}\n", nil)
	var before flux.Artifact
	for i := range 5 {
		files["README.md"] = strings.Repeat("x", i)
		a, err := flux.Build(state(t, files), "hub", "one")
		require.NoError(t, err)
		if i > 0 && (a.Manifest.Digest != before.Manifest.Digest || !bytes.Equal(a.Layer.Data, before.Layer.Data)) {
			t.Fatalf("%s, then %s", before.Manifest.Digest, a.Manifest.Digest)
		}
		before = a
	}
}

// TestSources: how Argo CD's coordinates of a chart become Flux's sources.
func TestSources(t *testing.T) {
	t.Parallel()
	for chart, want := range map[string]string{
		`{repoURL: "https://c.example/x", name: dns, version: 1.0.0}`:                              "HelmRepository https://c.example/x map[]",
		`{repoURL: "oci://r.example/charts", name: dns, version: 1.0.0+b1}`:                        "OCIRepository oci://r.example/charts/dns map[tag:1.0.0_b1]",
		`{repoURL: r.example/charts/, name: dns, version: "1.x"}`:                                  "OCIRepository oci://r.example/charts/dns map[semver:1.x]",
		`{repoURL: r.example, name: dns, version: "~1.2"}`:                                         "OCIRepository oci://r.example/dns map[semver:~1.2]",
		`{repoURL: "https://g.example/f", path: charts/dns, version: main}`:                        "GitRepository https://g.example/f map[branch:main]",
		`{repoURL: "https://g.example/f", path: charts/dns, version: v1.2.3}`:                      "GitRepository https://g.example/f map[tag:v1.2.3]",
		`{repoURL: "https://g.example/f", path: charts/dns, version: "1.2"}`:                       "GitRepository https://g.example/f map[branch:1.2]",
		`{repoURL: "https://g.example/f", path: charts/dns, version: ">=1.0"}`:                     "GitRepository https://g.example/f map[semver:>=1.0]",
		`{repoURL: "git@g.example:f/g.git", path: charts/dns, version: refs/x}`:                    "GitRepository ssh://git@g.example/f/g.git map[name:refs/x]",
		`{repoURL: "ssh://g.example/f", path: c, version: ` + "'" + strings.Repeat("0", 40) + `'}`: "GitRepository ssh://g.example/f map[commit:" + strings.Repeat("0", 40) + "]",
	} {
		files := render(t, state(t, fleetOf(map[string]string{"one": agent}, "dns: {enabled: true, chart: "+chart+"}\n", nil)), "one")
		got := ""
		for _, text := range files {
			for _, doc := range strings.Split(text, "---\n") {
				var o struct {
					Kind string
					Spec struct {
						URL string
						Ref map[string]string
					}
				}
				require.NoError(t, yaml.Unmarshal([]byte(doc), &o))
				if o.Spec.URL != "" {
					got += fmt.Sprintf("%s %s %v", o.Kind, o.Spec.URL, o.Spec.Ref)
				}
			}
		}
		assert.Equal(t, want, got, "%s", chart)
	}
}

// TestLint: of members that run Flux, and of no others, what Flux cannot express has its place.
func TestLint(t *testing.T) {
	t.Parallel()
	files := fleetOf(map[string]string{"one": agent, "two": "", "gone": agent + "lifecycle: retired\n"},
		"dns: {enabled: true, chart: {repoURL: \"file:///charts\", name: dns, version: 1.0.0}}\n",
		map[string]string{"fleet/fleet-members/hub/three.yaml": "clusterName: three\ntenant: retail\nenvironment: prod\n" + agent + "labels: {a-b: x, a_b: y}\n"})
	got := ""
	for _, p := range problem.OnePerPlace(problem.Sorted(flux.Lint(state(t, files)))) {
		got += fmt.Sprintf("%s: %s [%s]\n", p.Severity, p.Error(), p.Reason)
	}
	const want = `error: addons/defaults/application-sets/addons.yaml:1:39: component "dns" of group "addons": chart.repoURL "file:///charts" is not one that Flux reads charts from; expected https://, http://, or a registry without a scheme [unsupported-engine]
warning: fleet/fleet-members/hub/three.yaml:7:23: label "a_b": is label_a_b in ConfigMap cluster-info, as "a-b" is, which has it; expected keys that differ in more than punctuation [duplicate-name]
`
	assert.Equal(t, want, got)
}

// An order that leads back to itself would never end: Flux waits for each before the other. Of one
// kind alone, and on one cluster: nothing else is waited for.
func TestOrderWithoutEnd(t *testing.T) {
	t.Parallel()
	entry := func(name, kind, dependsOn string) string {
		return fmt.Sprintf("%s: {enabled: true, kind: %s, chart: {repoURL: \"https://git.example/fleet\", path: x, version: main}, dependsOn: [%s]}\n", name, kind, dependsOn)
	}
	for catalog, want := range map[string]string{
		entry("a", "manifests", "a"): `addons/defaults/application-sets/addons.yaml:1:119: dependsOn of component "a": leads back to itself: neither would ever be deployed; expected an order`,
		entry("a", "manifests", "b") + entry("b", "manifests", "c") + entry("c", "manifests", "b"): `addons/defaults/application-sets/addons.yaml:2:119: dependsOn of component "b": leads back to itself: neither would ever be deployed; expected an order
addons/defaults/application-sets/addons.yaml:3:119: dependsOn of component "c": leads back to itself: neither would ever be deployed; expected an order`,
		entry("a", "chart", "b") + entry("b", "chart", "a"):     "2",
		entry("a", "manifests", "b") + entry("b", "chart", "a"): "",
	} {
		st := state(t, fleetOf(map[string]string{"one": agent}, catalog, nil))
		owned, err := flux.OwnedBy(st, "hub", "one")
		require.NoError(t, err)
		_, problems := flux.Render(owned)
		var got []string
		for _, p := range problem.Errors(problems) {
			got = append(got, p.Error())
		}
		if text := strings.Join(got, "\n"); text != want && fmt.Sprint(len(got)) != want {
			t.Errorf("%s\ngot  %s\nwant %s", catalog, text, want)
		}
	}
}

// TestCompanionIsAHelmReleaseBefore: a companion is a HelmRelease of its own, with its values and
// the labels of its component, which waits for it.
func TestCompanionIsAHelmReleaseBefore(t *testing.T) {
	t.Parallel()
	st := state(t, fleetOf(map[string]string{"one": agent},
		"dns: {enabled: true, chart: {repoURL: \"https://charts.example\", name: dns, version: 1.0.0}, companions: {identity: {chart: {repoURL: \"https://charts.example\", name: aws-identity, version: 2.0.0}, values: {role: '{{ .cluster }}'}}}}\n",
		map[string]string{"addons/tenants/retail/defaults/addons/dns/identity.yaml": "enabled: \"false\"\n"}))
	owned, err := flux.OwnedBy(st, "hub", "one")
	require.NoError(t, err)
	files, problems := flux.Render(owned)
	if len(problem.Errors(problems)) > 0 {
		t.Fatal(problems)
	}
	var got []string
	for _, f := range files {
		for doc := range strings.SplitSeq(string(f.Data), "\n---\n") {
			var o struct {
				Kind     string
				Metadata struct {
					Name   string
					Labels map[string]string
				}
				Spec struct{ DependsOn []struct{ Name string } }
				Data map[string]string
			}
			require.NoError(t, yaml.Unmarshal([]byte(doc), &o))
			for _, text := range o.Data {
				if o.Kind == "ConfigMap" && strings.HasPrefix(o.Metadata.Name, "dns-identity") {
					got = append(got, "values "+strings.ReplaceAll(text, "\n", " "))
				}
			}
			if o.Kind == "HelmRelease" {
				got = append(got, fmt.Sprint(o.Metadata.Name, " ", o.Metadata.Labels["argosy.dev/component"], " ", o.Spec.DependsOn))
			}
		}
	}
	want := []string{`values enabled: "false" role: one `, "dns-identity-one dns []", "dns-one dns [{dns-identity-one}]"}
	assert.Equal(t, want, got)
}

// What it reads for a member has the credentials of that member, and what it
// reads for another, for itself or to register a member has none of them.
func TestHubReadsWithTheMembersCredentials(t *testing.T) {
	const web = "web: {enabled: true, chart: {repoURL: https://git.example/shop/web, path: chart, version: main}}\n" +
		"other: {enabled: true, chart: {repoURL: https://git.example.evil/shop/web, path: chart, version: main}}\n" +
		"named: {enabled: true, chart: {repoURL: 'https://git.example:x@evil/shop/web', path: chart, version: main}}\n"
	files := fleetOf(map[string]string{"one": "", "two": ""}, web, map[string]string{
		"fleet/fleet-members/hub/hub.yaml": "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: flux}\n",
		"versions/fleetSecrets.yaml":       "releases: [{type: default, chartRepoUrl: https://git.example/shop/fleet, chartRepoPath: charts, chartRepoRevision: main, use_helm_repo_path: true}]\n",
		"addons/defaults/fleet/fleet-secret/values.yaml.gotmpl": "{{ if eq .cluster \"one\" }}gitCredentials:\n" +
			"  shop: {type: http, url: https://git.example/shop/, secretName: shop}\n" +
			"  app: {type: http, kind: repository, url: https://git.example/shop/web.git, secretName: web, local: false}\n" +
			"  fleet: {type: http, kind: repository, url: https://git.example/shop/web.git, secretName: web}\n" +
			"  host: {type: http, url: https://git.example, secretName: host}\n{{ end }}",
	})
	secrets := map[string]bool{}
	for file, text := range render(t, state(t, files), fleet.OwnerHub) {
		if strings.Contains(text, "kind: GitRepository") {
			secrets[file] = strings.Contains(text, "secretRef:\n    name: one-git-shop\n")
			if !secrets[file] && strings.Contains(text, "secretRef:\n    name: one-git-") {
				t.Errorf("%s:\n%s", file, text)
			}
		}
	}
	for file, is := range secrets {
		if is != strings.Contains(file, "web-one") {
			t.Errorf("%s is read with the credentials of one: %t", file, is)
		}
	}
	if len(secrets) < 5 {
		t.Errorf("%v", secrets)
	}
}

// A member that pulls its credentials, or is given them, reads charts in Git with them: the Secret
// for that very repository, or else the one for the longest URL above it. A deploy key has other
// keys for Flux, the hub's own secrets are not the member's, and without credentials on the member
// there are none to name.
func TestMemberReadsChartsWithItsCredentials(t *testing.T) {
	t.Parallel()
	catalog := ""
	for name, url := range map[string]string{
		"app": "https://github.com/acme/charts", "fleet": "https://git.example/fleet", "keyed": "git@git.example:keyed/charts.git",
		"other": "https://git.example/other", "public": "https://elsewhere.example/charts", "team": "https://git.example/team/charts",
	} {
		catalog += fmt.Sprintf("%s: {enabled: true, chart: {repoURL: %q, path: x, version: main}}\n", name, url)
	}
	st := state(t, fleetOf(map[string]string{
		"one":   agent + "githubSecret: true\ngithubSecretName: app\n",
		"two":   agent + "use_external_secrets: false\npush_argo_secrets: true\n",
		"three": agent + "use_external_secrets: false\n",
	}, catalog, map[string]string{"addons/defaults/fleet/fleet-secret/values.yaml": `github: {url: "https://github.com/acme"}
gitCredentials:
  fleet: {type: http, kind: repository, url: "https://git.example/fleet.git", secretName: s}
  all: {type: http, url: "https://git.example", secretName: s}
  team: {type: http, url: "https://git.example/team", secretName: s}
  key: {type: ssh, kind: repository, url: "git@git.example:keyed/charts.git", secretName: s}
  off: {type: http, kind: repository, url: "https://git.example/other", secretName: s, enabled: false}
  elsewhere: {type: http, secretName: s}
`}))
	const key = ": are of type \"ssh\": Flux does not know its keys, and reads git@git.example:keyed/charts.git without"
	for owner, want := range map[string]string{
		"one":   "app=one-git-github fleet=one-git-fleet keyed= other=one-git-all public= team=one-git-team; one-git-key" + key,
		"two":   "app= fleet=two-git-fleet keyed= other=two-git-all public= team=two-git-team; two-git-key" + key,
		"three": "app= fleet= keyed= other= public= team=",
	} {
		owned, err := flux.OwnedBy(st, "hub", owner)
		require.NoError(t, err)
		files, problems := flux.Render(owned)
		var got []string
		for _, f := range files {
			for doc := range strings.SplitSeq(string(f.Data), "---\n") {
				var o struct {
					Kind     string
					Metadata struct{ Name string }
					Spec     struct{ SecretRef struct{ Name string } }
				}
				require.NoError(t, yaml.Unmarshal([]byte(doc), &o))
				if o.Kind == "GitRepository" {
					got = append(got, strings.TrimSuffix(o.Metadata.Name, "-"+owner)+"="+o.Spec.SecretRef.Name)
				}
			}
		}
		slices.Sort(got)
		text := strings.Join(got, " ")
		for _, p := range problems {
			said, _, _ := strings.Cut(p.Message(), "; expected")
			text += "; " + strings.TrimPrefix(said, "Git credentials ")
		}
		assert.Equal(t, want, text, "%s", owner)
	}
}

// TestSourceSaysItsHost: a source has the digest of its host, by which credentials are chosen.
func TestSourceSaysItsHost(t *testing.T) {
	t.Parallel()
	files := render(t, state(t, fleetOf(map[string]string{"one": agent},
		"a: {enabled: true, chart: {repoURL: 'https://Charts.example/x', name: a, version: 1.0.0}}\n"+
			"b: {enabled: true, chart: {repoURL: 'https://charts.example.evil/x', path: a, version: main}}\n", nil)), "one")
	sum := sha256.Sum256([]byte("charts.example"))
	host, seen := hex.EncodeToString(sum[:])[:32], 0
	for file, text := range files {
		for _, doc := range strings.Split(text, "---\n") {
			var o struct {
				Kind     string
				Metadata struct{ Labels map[string]string }
			}
			require.NoError(t, yaml.Unmarshal([]byte(doc), &o))
			label := o.Metadata.Labels["argosy.dev/source-host"]
			switch o.Kind {
			case "HelmRepository":
				seen++
				if label != host {
					t.Errorf("%s: %s", file, text)
				}
			case "GitRepository":
				seen++
				if label == host || len(label) != 32 {
					t.Errorf("%s: %s", file, text)
				}
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d sources", seen)
	}
}

// TestVariablesAreInTheDigest: what decides what manifests become includes their
// variables, and of others none.
func TestVariablesAreInTheDigest(t *testing.T) {
	t.Parallel()
	const folder = "kind: manifests, chart: {repoURL: https://git.example/f, path: x, version: main}"
	const catalog = "plain: {enabled: true, " + folder + "}\nquotas: {enabled: true, substitute: true, " + folder + "}\n"
	hub := map[string]string{"fleet/fleet-members/hub/hub.yaml": "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: flux}\n"}
	digests := func(owner, keys, component string) string {
		text := render(t, state(t, fleetOf(map[string]string{"one": keys}, catalog, hub)), owner)["components/"+component+"-one.yaml"]
		docs := strings.Split(text, "---\n")
		var o struct {
			Kind     string
			Metadata struct{ Annotations map[string]string }
		}
		if err := yaml.Unmarshal([]byte(docs[len(docs)-1]), &o); err != nil || o.Kind != "Kustomization" {
			t.Fatal(o.Kind, err)
		}
		return o.Metadata.Annotations["argosy.dev/digest"] + " " + o.Metadata.Annotations["reconcile.fluxcd.io/requestedAt"]
	}
	for owner, keys := range map[string]string{"one": agent, "hub": ""} {
		a, b := keys+"labels: {region: a}\n", keys+"labels: {region: b}\n"
		if digests(owner, a, "quotas") == digests(owner, b, "quotas") {
			t.Errorf("%s: a variable changes, and the digest does not", owner)
		}
		if digests(owner, a, "plain") != digests(owner, b, "plain") {
			t.Errorf("%s: what has no variables has another digest", owner)
		}
	}
}

// TestFluxHasNoHEAD: Argo CD's word for a repository's default branch is a branch's name to Flux.
func TestFluxHasNoHEAD(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "kind: manifests, "} {
		all := flux.Lint(state(t, fleetOf(map[string]string{"one": agent}, "dns: {enabled: true, "+kind+"chart: {repoURL: https://g.example/f, path: c, version: HEAD}}\n", nil)))
		if len(all) != 1 || all[0].Severity != problem.Warning || all[0].Reason != problem.UnsupportedEngine || all[0].Pos.Line != 1 || !strings.Contains(all[0].Error(), `chart.version "HEAD"`) {
			t.Errorf("%v", all)
		}
	}
}
