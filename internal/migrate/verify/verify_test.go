package verify

import (
	"errors"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// testReader reads over one repository. Argo CD's and Helm's parts have tests through the command.
func testReader(files map[string]string) *Reader {
	r := &Repositories{Own: Repository{URL: "https://git.example.com/fleet.git", Snapshot: snapshot.FromMap(files)}}
	return &Reader{
		Normalize: func(t manifest.Tree) (manifest.Tree, error) { return t, nil }, SetParameters: func(values map[string]any, all []source.Parameter) error {
			for _, p := range all {
				values[p.Name] = p.Value
			}
			return nil
		},
		Repositories: r, Hub: "hub", Clusters: []expand.Cluster{{Name: "a", Server: "https://a.example.com"}, {Name: "b", Server: "https://bb.example.com/"}},
	}
}

func applicationOf(t *testing.T, spec string) manifest.Tree {
	t.Helper()
	doc, err := yamldoc.Parse("application", []byte("kind: Application\nmetadata: {name: x}\nspec: "+spec))
	require.NoError(t, err)
	tree, _ := doc.Root.Any().(manifest.Tree)
	return tree
}

const (
	otherSource = `{repoURL: git@git.example.com:fleet.git, targetRevision: main, ref: values}`
	chartOf     = `repoURL: https://charts.example.com, chart: web, targetRevision: 1.0.0`
)

// Two Applications are equal if Argo CD deploys the same from them (rules 1 to 6), and only then.
func TestDifferences(t *testing.T) {
	t.Parallel()
	files := map[string]string{"base.yaml": "replicas: 1\nimage: {tag: a, pull: b}\n", "prod.yaml": "replicas: 3\nimage: {tag: null}\n", "web/Chart.yaml": "name: web\n", "web/values.yaml": "a: 1\n", "null/Chart.yaml": "name: web\n", "null/values.yaml": "a: {b: null}\n", "ns/x.yaml": "file: 1\n"}
	tests := []struct {
		name, a, b string
		want       string // paths
	}{
		{
			"value files and their merged values",
			`{destination: {name: a}, sources: [{` + chartOf + `, helm: {releaseName: x, valueFiles: [$values/base.yaml, $values/prod.yaml]}}, ` + otherSource + `]}`,
			`{destination: {server: 'https://a.example.com'}, source: {` + chartOf + `, helm: {valuesObject: {replicas: 3, image: {tag: null, pull: b}}}}}`, "",
		},
		{
			"null is not nothing: Helm drops the chart's default for null alone",
			`{destination: {name: a}, source: {` + chartOf + `, helm: {values: 'image: {tag: null}'}}}`,
			`{destination: {name: a}, source: {` + chartOf + `, helm: {values: 'image: {}'}}}`, "spec.sources.0.helm.values.image.tag",
		},
		{
			"a slash at the end of a server",
			`{destination: {server: 'https://bb.example.com'}, source: {` + chartOf + `}}`,
			`{destination: {server: 'https://a.example.com/'}, source: {` + chartOf + `}}`, "spec.destination.name",
		},
		{
			"null in the chart's own file removes nothing, and in a value file a key",
			`{destination: {name: a}, source: {repoURL: 'https://git.example.com/fleet.git', path: "null", helm: {valueFiles: [values.yaml]}}}`,
			`{destination: {name: a}, source: {repoURL: 'https://git.example.com/fleet.git', path: "null", helm: {}}}`, "spec.sources.0.helm.values",
		},
		{
			"the chart's own file without null",
			`{destination: {name: a}, source: {repoURL: 'https://git.example.com/fleet.git', path: web, helm: {valueFiles: [values.yaml]}}}`,
			`{destination: {name: a}, source: {repoURL: 'https://git.example.com/fleet.git', path: web, helm: {}}}`, "",
		},
		{
			"a large integer is one as a parameter alone",
			`{destination: {name: a}, source: {` + chartOf + `, helm: {parameters: [{name: num, value: "1000650000"}]}}}`,
			`{destination: {name: a}, source: {` + chartOf + `, helm: {values: 'num: 1000650000'}}}`, "spec.sources.0.helm.parameters spec.sources.0.helm.values",
		},
		{
			"the last parameter of a name counts",
			`{destination: {name: a}, source: {` + chartOf + `, helm: {parameters: [{name: num, value: "1000650000"}, {name: num, value: x}]}}}`,
			`{destination: {name: a}, source: {` + chartOf + `, helm: {values: 'num: x'}}}`, "",
		},
		{
			"a parameter with a file of the remote chart, and values that clear nothing twice",
			`{destination: {name: a}, sources: [{` + chartOf + `, helm: {valueFiles: [own.yaml, $values/prod.yaml], parameters: [{name: num, value: x}]}}, ` + otherSource + `]}`,
			`{destination: {name: a}, source: {` + chartOf + `, helm: {valueFiles: [own.yaml], values: '{replicas: 3, image: {tag: null}, num: x}'}}}`, "",
		},
		{
			"the order of value files",
			`{destination: {name: a}, sources: [{` + chartOf + `, helm: {valueFiles: [$values/prod.yaml, $values/base.yaml]}}, ` + otherSource + `]}`,
			`{destination: {name: a}, sources: [{` + chartOf + `, helm: {valueFiles: [$values/base.yaml, $values/prod.yaml]}}, ` + otherSource + `]}`,
			"spec.sources.0.helm.values.image.tag spec.sources.0.helm.values.replicas",
		},
		{
			"an empty valuesObject beats values, too",
			`{destination: {name: a}, source: {` + chartOf + `, helm: {values: 'b: 1', valuesObject: {}}}}`,
			`{destination: {name: a}, source: {` + chartOf + `}}`, "",
		},
		{
			"valuesObject beats values as a whole",
			`{destination: {name: a}, source: {` + chartOf + `, helm: {values: 'b: 1', valuesObject: {a: 1}}}}`,
			`{destination: {name: a}, source: {` + chartOf + `, helm: {values: 'a: 1'}}}`, "",
		},
		{
			"the release's name",
			`{destination: {name: a}, source: {` + chartOf + `, helm: {releaseName: other}}}`,
			`{destination: {name: a}, source: {` + chartOf + `}}`, "spec.sources.0.helm.releaseName",
		},
		{
			"the hub by its address and by its name, a folder with a chart, its own values first",
			`{destination: {server: 'https://kubernetes.default.svc'}, source: {repoURL: 'https://git.example.com/fleet', path: web, helm: {valueFiles: [values.yaml]}}}`,
			`{destination: {name: hub}, source: {repoURL: 'https://git.example.com/fleet', path: web, targetRevision: HEAD}}`, "",
		},
		{
			"Argo CD puts variables into value files and parameters, and none into values",
			`{destination: {name: a, namespace: ns}, sources: [{` + chartOf + `, helm: {releaseName: x, valueFiles: ["$values/$ARGOCD_APP_NAMESPACE/${ARGOCD_APP_NAME}.yaml"], parameters: [{name: app, value: $ARGOCD_APP_NAME}, {name: cost, value: 'a$$b$c'}]}}, ` + otherSource + `]}`,
			`{destination: {name: a, namespace: ns}, source: {` + chartOf + `, helm: {values: '{file: 1, app: x, cost: a$b}'}}}`, "",
		},
		{
			"and into other options",
			`{destination: {name: a}, source: {repoURL: 'https://git.example.com/fleet', path: k, kustomize: {images: ['i=$ARGOCD_APP_NAME:$ARGOCD_APP_REVISION'], commonLabels: {a: '$$ARGOCD_APP_NAME'}, commonAnnotations: {b: $ARGOCD_APP_NAME}}}}`,
			`{destination: {name: a}, source: {repoURL: 'https://git.example.com/fleet', path: k, kustomize: {images: ['i=x:$ARGOCD_APP_REVISION'], commonLabels: {a: '$$ARGOCD_APP_NAME'}, commonAnnotations: {b: $ARGOCD_APP_NAME}}}}`, "",
		},
		{
			"an automated sync that is switched off, as Argo CD 3.5 does in steps, is none",
			`{destination: {name: a}, source: {` + chartOf + `}, syncPolicy: {automated: {enabled: false, prune: true}, syncOptions: [A=true]}}`,
			`{destination: {name: a}, source: {` + chartOf + `}, syncPolicy: {syncOptions: [A=true]}}`, "",
		},
		{
			"and one that is switched on is not",
			`{destination: {name: a}, source: {` + chartOf + `}, syncPolicy: {automated: {enabled: true}}}`,
			`{destination: {name: a}, source: {` + chartOf + `}}`, "spec.syncPolicy",
		},
		{
			"a sync policy that one lacks, and other options of lists",
			`{destination: {name: a}, source: {` + chartOf + `}, syncPolicy: {automated: {}}}`,
			`{destination: {name: a}, source: {` + chartOf + `}, ignoreDifferences: [{kind: x}]}`, "spec.ignoreDifferences spec.syncPolicy",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := testReader(files)
			a, errA := r.Read(applicationOf(t, tt.a))
			b, errB := r.Read(applicationOf(t, tt.b))
			require.NoError(t, errors.Join(errA, errB))
			var got []string
			for _, d := range Differences(a, b) {
				got = append(got, strings.Join(d.Path, "."))
			}
			assert.Equal(t, tt.want, strings.Join(got, " "))
		})
	}
}

// What cannot be read is an error, never taken for empty (rule 7).
func TestUnreadable(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{destination: {server: 'https://b.example.com'}, source: {` + chartOf + `}}`: "no cluster is known to have that server",
		`{source: {` + chartOf + `}}`: "has no destination",
		`{destination: {name: a}, source: {` + chartOf + `, helm: {values: '[1, 2]'}}}`:                                                                                                           "values of the Application: values are a list, and Helm takes only a map",
		`{destination: {name: a}, source: {` + chartOf + `, helm: {parameters: [{name: a, value: $ARGOCD_APP_REVISION}]}}}`:                                                                       "has the variable $ARGOCD_APP_REVISION, which only Argo CD knows",
		`{destination: {name: a}, source: {repoURL: 'https://git.example.com/fleet.git', path: over, helm: {parameters: [{name: a}]}}}`:                                                           "over/.argocd-source.yaml changes Helm's options",
		`{destination: {name: a}, source: {repoURL: 'https://git.example.com/fleet.git', path: own, kustomize: {namePrefix: a}}}`:                                                                 "own/.argocd-source-x.yaml is only for an Application of this name",
		`{destination: {name: a}, sources: [{` + chartOf + `, helm: {valueFiles: [$values/none.yaml]}}, ` + otherSource + `]}`:                                                                    "value file $values/none.yaml is not there",
		`{destination: {name: a}, sources: [{` + chartOf + `, helm: {valueFiles: [$other/base.yaml]}}, ` + otherSource + `]}`:                                                                     "no source has ref other",
		`{destination: {name: a}, sources: [{` + chartOf + `, helm: {valueFiles: [$values/base.yaml, own.yaml]}}, ` + otherSource + `]}`:                                                          "comes after a file of a repository",
		`{destination: {name: a}, sources: [{` + chartOf + `, helm: {ignoreMissingValueFiles: true, valueFiles: [$values/x.yaml]}}, {repoURL: 'https://git.example.com/away.git', ref: values}]}`: "is not git.example.com/fleet",
		`{destination: {name: a}, source: {repoURL: 'https://git.example.com/away.git', path: x}}`:                                                                                                "--repository",
		`{destination: {name: a}, sources: [{` + chartOf + `, helm: {ignoreMissingValueFiles: true, valueFiles: [$values/base.yaml, '$values/envs/*.yaml']}}, ` + otherSource + `]}`:              "is a pattern",
		`{destination: {name: a}, source: {` + chartOf + `, helm: {valueFiles: [own.yaml], parameters: [{name: 'hosts[0].name', value: a}]}}}`:                                                    "sets an item of a list, which own.yaml of the remote chart may have",
		`{destination: {name: a}, sources: [{` + chartOf + `, helm: {valueFiles: [own.yaml, $values/cleared.yaml], values: 'x: {res: {cpu: 5}}'}}, ` + otherSource + `]}`:                         "x.res is first not a map, and then a map: what own.yaml of the remote chart has there",
		`{destination: {name: a}, source: {repoURL: 'https://git.example.com/fleet.git', targetRevision: main}, sourceHydrator: {drySource: {path: a}}}`:                                          "spec.sourceHydrator is not followed",
		`{destination: {name: a}, sources: [{` + chartOf + `, helm: {valueFiles: [$values/../secret]}}, ` + otherSource + `]}`:                                                                    "value file $values/../secret",
	}
	for spec, want := range tests {
		r := testReader(map[string]string{"base.yaml": "a: 1\n", "cleared.yaml": "x: {res: null}\n", "over/.argocd-source.yaml": "helm: {parameters: []}\n", "own/.argocd-source-x.yaml": "kustomize: {}\n"})
		_, err := r.Read(applicationOf(t, spec))
		var away *Away
		text := ""
		if errors.As(err, &away) {
			text = away.Text + " " + away.Hint
		} else if err != nil {
			text = err.Error()
		}
		assert.Contains(t, strings.ReplaceAll(text, "https://git.example.com/fleet.git", "git.example.com/fleet"), want, "%s: error %q, want", spec, text)
	}
}

// A folder stands for one revision of another repository, too: a second one is another content.
func TestOtherRepositoryAtTwoRevisions(t *testing.T) {
	t.Parallel()
	r := &Repositories{Others: []Repository{{URL: "https://git.example.com/other.git", Snapshot: snapshot.FromMap(map[string]string{
		"web/Chart.yaml": "name: web\n", "web/values.yaml": "replicas: 5\n",
	})}}}
	reader := testReader(nil)
	reader.Repositories = r
	read := func() manifest.Tree {
		t.Helper()
		a, err := reader.Read(applicationOf(t, `{destination: {name: a}, sources: [{repoURL: 'https://git.example.com/other.git', path: web, targetRevision: v1, helm: {valueFiles: [$values/web/values.yaml]}}, {repoURL: 'git@git.example.com:other.git', targetRevision: main, ref: values}]}`))
		require.NoError(t, err)
		list, _ := a.Spec["sources"].([]any)
		values, _ := manifest.At(list[0], "helm", "values").(manifest.Tree)
		return values
	}
	if read()["replicas"] == nil {
		t.Error("a value file of another revision than the chart's is lost")
	}
	_, err := r.Open("https://git.example.com/other.git", "v1")
	var away *Away
	if !errors.As(err, &away) || !strings.Contains(away.Text, "at the revisions main and v1") {
		t.Errorf("two revisions are one folder: %v", err)
	}
	r.Others[0].revision = ""
	r.Others[0].At = func(revision string) (*snapshot.Snapshot, error) {
		return snapshot.FromMap(map[string]string{"web/Chart.yaml": "name: web\n", "web/values.yaml": "revision: " + revision + "\n"}), nil
	}
	assert.Equal(t, "main", read()["revision"], "a clone is read at one revision")
}

// A file that changes a source counts at the revision that the source names.
func TestOverriddenAtItsRevision(t *testing.T) {
	t.Parallel()
	r := &Repositories{
		Own: Repository{
			URL: "https://git.example.com/fleet.git", Snapshot: snapshot.FromMap(map[string]string{"own/kustomization.yaml": "resources: []\n"}),
			At: func(string) (*snapshot.Snapshot, error) {
				return snapshot.FromMap(map[string]string{"own/.argocd-source-x.yaml": "kustomize: {images: ['web=web:2']}\n"}), nil
			},
		},
	}
	reader := testReader(nil)
	reader.Repositories = r
	_, err := reader.Read(applicationOf(t, `{destination: {name: a}, source: {repoURL: 'https://git.example.com/fleet.git', path: own, targetRevision: prod, kustomize: {namePrefix: a}}}`))
	if err == nil || !strings.Contains(err.Error(), "own/.argocd-source-x.yaml is only for an Application of this name") {
		t.Errorf("the override of the revision is not seen: %v", err)
	}
}
