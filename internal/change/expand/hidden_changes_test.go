package expand_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/rendercache"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// Of two objects of one name, Argo CD applies the last (controller/state.go,
// DeduplicateTargetObjects): what that one changes differs, and that there are two is reported.
func TestCompareFindsTwins(t *testing.T) {
	base, cache := commit(t, nil), &rendercache.Cache{}
	head := commit(t, func(f map[string]string) {
		f["fleet/bootstrap/hub-us/more.yaml"] = strings.Replace(f["fleet/bootstrap/hub-us/members.yaml"], "project: platform", "project: default", 1)
	})
	st := state(t, nil, base)
	after := revision(t, state(t, st, head), head, "hub-us", cache)
	differ := map[string]bool{}
	for p := range expand.Compare(revision(t, st, base, "hub-us", cache), after) {
		differ[p.Any().Key().String()] = true
	}
	if !differ["ApplicationSet members"] {
		t.Errorf("differ: %v; expected the ApplicationSet that Argo CD applies", differ)
	}
	assert.Contains(t, strings.Join(texts(after.Problems()), "\n"), `ApplicationSet "members": is made twice`, "problems")
}

// What an unchanged ApplicationSet deploys differs with its files, wherever it names them (rule 5).
func TestCompareFindsNamedFiles(t *testing.T) {
	const set = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: bases, namespace: argocd}
spec:
  goTemplate: true
  goTemplateOptions: [missingkey=error]
  generators:
    - plugin:
        configMapRef: {name: generator-plugin}
        input: {parameters: {view: members, hub: hub-us}}
GENERATOR
  template:
    metadata: {name: 'bases-{{ .name }}'}
    spec:
      project: default
      source:
        repoURL: https://github.com/argosy-hub/argosy
        targetRevision: main
SOURCE
      destination: {name: '{{ .name }}', namespace: base}
PATCH`
	manifests := map[string]string{"charts/bases/prod/base.yaml": configMap("base"), "charts/bases/staging/base.yaml": configMap("base")}
	chart := map[string]string{
		"charts/valued/Chart.yaml":          "apiVersion: v2\nname: valued\nversion: 1.0.0\n",
		"charts/valued/templates/base.yaml": configMap("base") + "data: {x: '{{ .Values.x }}'}\n",
		"charts/shared/base.yaml":           "x: one\n",
	}
	const manifestFile, valuesFile = "charts/bases/prod/base.yaml", "charts/shared/base.yaml"
	for name, c := range map[string]struct {
		generator, source, patch string
		files                    map[string]string
		changed                  string
	}{
		"a computed path":                {source: `        path: '{{ printf "charts/bases/%s" .environment }}'`, files: manifests, changed: manifestFile},
		"a path of the patch":            {patch: "  templatePatch: |\n    spec:\n      source:\n        path: charts/bases/prod\n", files: manifests, changed: manifestFile},
		"a path of a generator's values": {generator: "        values: {path: charts/bases/prod}", source: "        path: '{{ .values.path }}'", files: manifests, changed: manifestFile},
		"a path of a generator":          {generator: "        template:\n          metadata: {}\n          spec:\n            project: ''\n            destination: {}\n            source: {repoURL: 'https://github.com/argosy-hub/argosy', targetRevision: main, path: charts/bases/prod}", files: manifests, changed: manifestFile},
		"a value file":                   {source: "        path: charts/valued\n        helm: {valueFiles: [/charts/shared/base.yaml]}", files: chart, changed: valuesFile},
		"a value file above":             {source: "        path: charts/valued\n        helm: {valueFiles: [../shared/base.yaml]}", files: chart, changed: valuesFile},
		"a value file of a patch": {
			source: "        path: charts/valued", patch: "  templatePatch: |\n    spec:\n      source:\n        helm: {valueFiles: [/charts/shared/base.yaml]}\n", files: chart, changed: valuesFile,
		},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(f map[string]string) {
				f["fleet/bootstrap/hub-us/bases.yaml"] = strings.NewReplacer("GENERATOR", c.generator, "SOURCE", c.source, "PATCH", c.patch).Replace(set)
				maps.Copy(f, c.files)
			}
			base := commit(t, with)
			head := commit(t, func(f map[string]string) {
				with(f)
				f[c.changed] = map[string]string{manifestFile: configMap("base") + "data: {x: two}\n", valuesFile: "x: two\n"}[c.changed]
			})
			st, cache := state(t, nil, base), &rendercache.Cache{}
			before, after := revision(t, st, base, "hub-us", cache), revision(t, state(t, st, head), head, "hub-us", cache)
			engines := map[string]bool{}
			for p := range expand.Compare(before, after) {
				if o := p.Any(); o.Kind() == "ConfigMap" && o.Name() == "base" {
					engines[o.Engine] = true
				}
			}
			if !engines["retail-prod-us-1"] {
				t.Errorf("the ConfigMap differs on %v; expected retail-prod-us-1 among them; problems: %v", engines, texts(after.Problems()))
			}
		})
	}
}

// A template that reads the revision in whatever way differs with each commit.
func TestCompareFindsReadRevisions(t *testing.T) {
	for read, c := range map[string]struct{ goTemplate, name string }{
		"{{revision}}":               {"false", "{{name}}"},
		`{{ get . "revision" }}`:     {"true", "{{ .name }}"},
		`{{ index . "revision" }}`:   {"true", "{{ .name }}"},
		`{{ .revision | trunc 12 }}`: {"true", "{{ .name }}"},
	} {
		t.Run(read, func(t *testing.T) {
			with := func(f map[string]string) {
				f["fleet/bootstrap/hub-us/marks.yaml"] = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: marks, namespace: argocd}
spec:
  goTemplate: ` + c.goTemplate + `
  generators:
    - plugin:
        configMapRef: {name: generator-plugin}
        input: {parameters: {view: members, hub: hub-us}}
  template:
    metadata:
      name: 'marks-` + c.name + `'
      annotations: {rev: '` + read + `'}
    spec:
      project: default
      source: {repoURL: 'https://github.com/argosy-hub/argosy', targetRevision: main, path: charts/storage-classes}
      destination: {name: '` + c.name + `', namespace: marks}
`
			}
			base := commit(t, with)
			head := commit(t, func(f map[string]string) {
				with(f)
				f["addons/tenants/retail/defaults/addons/external-dns/values.yaml"] += "\nlogLevel: debug\n"
			})
			st, cache := state(t, nil, base), &rendercache.Cache{}
			differ := 0
			for p := range expand.Compare(revision(t, st, base, "hub-us", cache), revision(t, state(t, st, head), head, "hub-us", cache)) {
				if strings.HasPrefix(p.Any().Name(), "marks-") {
					differ++
				}
			}
			if differ == 0 {
				t.Error("no Application differs, and each has the revision")
			}
		})
	}
}

// Objects without a namespace are in that of their Application.
func TestCompareTellsNamespacesApart(t *testing.T) {
	snap := func(more map[string]string) *snapshot.Snapshot {
		files := root("")
		for _, app := range []string{"one", "two"} {
			files["fleet/bootstrap/hub/"+app+".yaml"] = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + app + ", namespace: argocd}\n" +
				"spec:\n  project: default\n  source:\n    repoURL: https://git.example/fleet\n    targetRevision: main\n    path: apps/" + app + "\n  destination: {name: a, namespace: " + app + "}\n"
			files["apps/"+app+"/keep.yaml"] = configMap("keep")
		}
		maps.Copy(files, more)
		return snapshot.FromMap(files)
	}
	one, two := map[string]string{"apps/one/deny.yaml": configMap("deny")}, map[string]string{"apps/two/deny.yaml": configMap("deny")}
	both := maps.Clone(one)
	maps.Copy(both, two)
	role := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: deny}\n"
	for name, c := range map[string]struct {
		base, head map[string]string
		want       []string
	}{
		"from one to the other":             {one, two, []string{"come two", "gone one"}},
		"in both":                           {nil, both, []string{"come one", "come two"}},
		"an object without namespace moves": {map[string]string{"apps/one/deny.yaml": role}, map[string]string{"apps/two/deny.yaml": role}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := twoRevisions(t, snap(c.base), snap(c.head), "deny", func(o *object.Object) string { return o.Parent.Name() })
			assert.Equal(t, c.want, got)
		})
	}
}

// remoteSets is a remote repository with one folder.
type remoteSets struct{ text string }

func (remoteSets) Chart(source.Reference) (source.Archive, error) {
	return source.Archive{}, &source.Unavailable{Detail: "no charts here"}
}

func (r remoteSets) At(source.Place) (*snapshot.Snapshot, error) {
	return snapshot.FromMap(map[string]string{"sets/set.yaml": r.text}), nil
}

func (remoteSets) Values(string) ([]byte, error) {
	return nil, &source.Unavailable{Detail: "no values here"}
}

// A remote folder that is deployed to its own engine is followed, however the destination says so
// (rule 8).
func TestCompareFollowsRemoteFoldersOfTheHub(t *testing.T) {
	const generated = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: NAME, namespace: argocd}
spec:
  goTemplate: true
  goTemplateOptions: [missingkey=error]
  generators:
    - plugin:
        configMapRef: {name: generator-plugin}
        input: {parameters: {view: members, hub: hub-us SELECTOR}}
  template:
    metadata:
      name: 'NAME-{{ .name }}'
      annotations: {labels: '{{ LABELS | toJson }}'}
    spec:
      project: default
      source: {repoURL: 'https://git.example/other', targetRevision: main, path: PATH}
      destination: {DESTINATION}
`
	inner := strings.NewReplacer("NAME", "inner", "SELECTOR", "", "LABELS", ".metadata.labels", "PATH", "other", "DESTINATION", "name: '{{ .name }}', namespace: x").Replace(generated)
	for _, destination := range []string{"server: 'https://kubernetes.default.svc', namespace: argocd", "name: in-cluster, namespace: argocd"} {
		t.Run(destination, func(t *testing.T) {
			with := func(f map[string]string) {
				f["fleet/bootstrap/hub-us/outer.yaml"] = strings.NewReplacer("NAME", "outer", "SELECTOR", ", selector: {matchLabels: {environment: staging}}",
					"LABELS", ".name", "PATH", "sets", "DESTINATION", destination).Replace(generated)
			}
			base := commit(t, with)
			head := commit(t, func(f map[string]string) {
				with(f)
				replace(t, "fleet/fleet-members/hub-us/payments-prod-us-1.yaml", "labels:\n", "labels:\n  more: label\n")(f)
			})
			st, cache := state(t, nil, base), &rendercache.Cache{}
			hub := func(st *fleetstate.State, s *snapshot.Snapshot) *expand.Hub {
				with := tools()
				with.Remote = remoteSets{inner}
				return expand.New(expand.Options{State: st, Snapshot: s, Hub: "hub-us", Tools: with, Cache: cache, At: func(string) (*snapshot.Snapshot, error) { return base, nil }})
			}
			found := map[string]bool{}
			for p := range expand.Compare(hub(st, base), hub(state(t, st, head), head)) {
				found[p.Any().Name()] = true
			}
			if !found["inner-payments-prod-us-1"] {
				t.Errorf("differ: %v; expected inner-payments-prod-us-1", slices.Sorted(maps.Keys(found)))
			}
		})
	}
}

// twoRevisions compares two snapshots, and returns what becomes of the objects of a name.
func twoRevisions(t *testing.T, base, head *snapshot.Snapshot, name string, say func(*object.Object) string) (got []string) {
	t.Helper()
	st, cache := state(t, nil, base), &rendercache.Cache{}
	hub := func(st *fleetstate.State, s *snapshot.Snapshot) *expand.Hub {
		return expand.New(expand.Options{State: st, Snapshot: s, Hub: "hub", Tools: tools(), Cache: cache})
	}
	for p := range expand.Compare(hub(st, base), hub(state(t, st, head), head)) {
		if o := p.Any(); o.Name() == name {
			what := changed
			switch {
			case p.Before == nil:
				what = come
			case p.After == nil:
				what = gone
			}
			got = append(got, what+" "+say(o))
		}
	}
	slices.Sort(got)
	return got
}

// Objects of one kind and name in two API groups are two objects.
func TestCompareTellsGroupsApart(t *testing.T) {
	const aws = "apiVersion: iam.services.k8s.aws/v1alpha1\nkind: Role\nmetadata: {name: reader}\n"
	role := func(verb string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: reader}\nrules: [{apiGroups: [''], resources: [secrets], verbs: ['" + verb + "']}]\n"
	}
	secret := func(version, password string) string {
		return "apiVersion: " + version + "\nkind: Secret\nmetadata: {name: reader}\nstringData: {password: " + password + "}\n"
	}
	snap := func(text string) *snapshot.Snapshot {
		files := root("")
		files["fleet/bootstrap/hub/objects.yaml"] = text
		return snapshot.FromMap(files)
	}
	for name, c := range map[string]struct {
		base, head string
		want       []string
	}{
		"the first changes": {role("get") + "---\n" + aws, role("*") + "---\n" + aws, []string{"changed rbac.authorization.k8s.io/v1"}},
		"the last goes":     {role("get") + "---\n" + aws, role("get"), []string{"gone iam.services.k8s.aws/v1alpha1"}},
		"another group":     {secret("v1", "one"), secret("example.com/v1", "two"), []string{"come example.com/v1", "gone v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := twoRevisions(t, snap(c.base), snap(c.head), "reader", (*object.Object).APIVersion)
			assert.Equal(t, c.want, got)
		})
	}
}

// Objects without a namespace are in that of their HelmRelease.
func TestCompareTellsNamespacesOfHelmReleasesApart(t *testing.T) {
	snap := func(deny ...string) *snapshot.Snapshot {
		files := root("")
		text := "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: flux-system}\nspec: {url: 'https://git.example/fleet', ref: {branch: main}}\n"
		for _, name := range []string{"one", "two"} {
			text += "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: " + name + ", namespace: flux-system}\n" +
				"spec:\n  targetNamespace: " + name + "\n  chart: {spec: {chart: ./charts/" + name + ", sourceRef: {kind: GitRepository, name: fleet}}}\n"
			files["charts/"+name+"/Chart.yaml"] = "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n"
			files["charts/"+name+"/templates/keep.yaml"] = configMap("keep")
		}
		files["fleet/bootstrap/hub/flux.yaml"] = text
		for _, name := range deny {
			files["charts/"+name+"/templates/deny.yaml"] = configMap("deny")
		}
		return snapshot.FromMap(files)
	}
	for name, c := range map[string]struct {
		base, head []string
		want       []string
	}{
		"from one to the other": {[]string{"one"}, []string{"two"}, []string{"come two", "gone one"}},
		"in none any more":      {[]string{"one", "two"}, nil, []string{"gone one", "gone two"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := twoRevisions(t, snap(c.base...), snap(c.head...), "deny", func(o *object.Object) string { return o.Parent.Name() })
			assert.Equal(t, c.want, got)
		})
	}
}

// An Application is followed however its file spells its API.
func TestCompareFollowsEscapedVersions(t *testing.T) {
	for _, version := range []string{`apiVersion: argoproj.io/v1alpha1`, `apiVersion: "argoproj.io\u002fv1alpha1"`, `"api\x56ersion": "argoproj.io\x2fv1alpha1"`} {
		t.Run(version, func(t *testing.T) {
			snap := func(text string) *snapshot.Snapshot {
				files := root("")
				app := func(version, name, path, destination string) string {
					return version + "\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\nspec:\n  project: default\n" +
						"  source: {repoURL: 'https://git.example/fleet', targetRevision: main, path: " + path + "}\n  destination: {" + destination + "}\n"
				}
				files["fleet/bootstrap/hub/outer.yaml"] = app("apiVersion: argoproj.io/v1alpha1", "outer", "inner", "server: 'https://kubernetes.default.svc', namespace: argocd")
				files["inner/deep.yaml"] = app(version, "deep", "deep", "name: a, namespace: deep")
				files["deep/map.yaml"] = configMap("map") + "data: {text: " + text + "}\n"
				return snapshot.FromMap(files)
			}
			if got := twoRevisions(t, snap("one"), snap("two"), "map", (*object.Object).Kind); len(got) != 1 {
				t.Errorf("the ConfigMap differs: %q", got)
			}
		})
	}
}

// An Application with a hydrator is named as not followed.
func TestHydratorsAreNamed(t *testing.T) {
	files := root("")
	files["fleet/bootstrap/hub/dry.yaml"] = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: dry, namespace: argocd}\nspec:\n  project: default\n" +
		"  sourceHydrator:\n    drySource: {repoURL: 'https://git.example/fleet', targetRevision: main, path: tools}\n    syncSource: {targetBranch: env, path: tools}\n  destination: {name: a, namespace: x}\n"
	files["tools/a.yaml"] = configMap("a")
	_, problems := below(t, files)
	assert.Contains(t, strings.Join(problems, "\n"), `Application "dry": spec.sourceHydrator is not followed`, "problems")
}

// Two Applications of one name of one ApplicationSet are an error, as they are to render.
func TestCompareFindsTwinsOfAnApplicationSet(t *testing.T) {
	base, cache := commit(t, nil), &rendercache.Cache{}
	head := commit(t, replace(t, "fleet/bootstrap/hub-us/members.yaml", "name: '{{ .applicationName }}'", "name: 'of-{{ .environment }}'"))
	st := state(t, nil, base)
	after := revision(t, state(t, st, head), head, "hub-us", cache)
	for range expand.Compare(revision(t, st, base, "hub-us", cache), after) {
	}
	assert.Contains(t, strings.Join(texts(after.Problems()), "\n"), `Application "of-prod": is made twice`, "problems")
}
