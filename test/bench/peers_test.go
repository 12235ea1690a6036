//go:build bench

package bench

import (
	"context"
	"encoding/json"
	"io"
	"path"
	"path/filepath"
	"testing"

	"github.com/argoproj/argo-cd/v2/applicationset/generators"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	log "github.com/sirupsen/logrus"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/getter"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// helmMerges is what Helm makes of `-f file -f file ...` for every component of some clusters, on
// all processors.
func (f *fleet) helmMerges(clusters []int) [][]map[string]any {
	providers := getter.All(cli.New())
	out := make([][]map[string]any, len(clusters))
	errs := make([]error, len(clusters))
	parallel(len(clusters), func(i int) {
		out[i] = make([]map[string]any, components)
		for c := range components {
			var opts values.Options
			for _, p := range f.levelFiles(clusters[i], c) {
				opts.ValueFiles = append(opts.ValueFiles, filepath.Join(f.dir, p))
			}
			if out[i][c], errs[i] = opts.MergeValues(providers); errs[i] != nil {
				return
			}
		}
	})
	for _, err := range errs {
		require.NoError(f, err)
	}
	return out
}

// repository is Argo CD's view of a repository: what its repo-server would answer, without the
// network.
type repository struct{ *snapshot.Snapshot }

func (r repository) GetFiles(_ context.Context, _, _, pattern string, _, _ bool) (map[string][]byte, error) {
	if file := r.File(pattern); file != nil {
		return map[string][]byte{pattern: file.Data}, nil
	}
	out := map[string][]byte{}
	for _, p := range r.Under(path.Dir(pattern)) {
		matches, err := path.Match(pattern, p)
		if err != nil {
			return nil, err
		}
		if matches {
			out[p] = r.File(p).Data
		}
	}
	return out, nil
}

func (r repository) GetDirectories(context.Context, string, string, bool, bool) ([]string, error) {
	return nil, nil
}

// matrix is Argo CD's own way to find the members of a hub: the hub's cluster Secret x member files
// x the versions file.
type matrix struct {
	generator generators.Generator
	of        *v1alpha1.ApplicationSetGenerator
	set       *v1alpha1.ApplicationSet
}

func newMatrix(t *testing.T, s *snapshot.Snapshot) *matrix {
	t.Helper()
	log.SetOutput(io.Discard)
	log.SetLevel(log.PanicLevel)
	hub := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: fleettest.Hub, Namespace: "argocd",
			Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster", "fleet_member": "hub-cluster"},
		},
		Data: map[string][]byte{"name": []byte(fleettest.Hub), "server": []byte("https://kubernetes.default.svc"), "config": []byte("{}")},
	}
	settings := []runtime.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "argocd-secret", Namespace: "argocd"}, Data: map[string][]byte{"admin.password": nil, "server.secretkey": nil}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm", Namespace: "argocd", Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}}},
	}
	kube := clientset.NewSimpleClientset(append(settings, hub)...)
	inner := map[string]generators.Generator{
		"Clusters": generators.NewClusterGenerator(fake.NewClientBuilder().WithObjects(hub).Build(), context.Background(), kube, "argocd"),
		"Git":      generators.NewGitGenerator(repository{s}, "argocd"),
	}
	outer := map[string]generators.Generator{"Matrix": generators.NewMatrixGenerator(inner), "Git": inner["Git"]}
	files := func(path string) *v1alpha1.GitGenerator {
		return &v1alpha1.GitGenerator{RepoURL: "https://git.example.com/fleet.git", Revision: "main", Files: []v1alpha1.GitFileGeneratorItem{{Path: path}}}
	}
	nested, err := json.Marshal(v1alpha1.NestedMatrixGenerator{Generators: v1alpha1.ApplicationSetTerminalGenerators{
		{Clusters: &v1alpha1.ClusterGenerator{Selector: metav1.LabelSelector{MatchLabels: map[string]string{"fleet_member": "hub-cluster"}}}},
		{Git: files("fleet/fleet-members/{{.name}}/*.yaml")},
	}})
	require.NoError(t, err)
	set := &v1alpha1.ApplicationSet{}
	set.Spec.GoTemplate = true
	set.Spec.Template.Spec.Project = "{{.tenant}}"
	return &matrix{
		generator: generators.NewMatrixGenerator(outer), set: set,
		of: &v1alpha1.ApplicationSetGenerator{Matrix: &v1alpha1.MatrixGenerator{Generators: []v1alpha1.ApplicationSetNestedGenerator{
			{Matrix: &apiextensions.JSON{Raw: nested}},
			{Git: files("versions/fleetSecrets.yaml")},
		}}},
	}
}

func (m *matrix) params(t *testing.T) []map[string]any {
	t.Helper()
	out, err := m.generator.GenerateParams(m.of, m.set, nil)
	require.NoError(t, err)
	return out
}
