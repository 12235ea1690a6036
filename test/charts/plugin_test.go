package charts_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/argoproj/argo-cd/v2/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v2/applicationset/generators"
	"github.com/argoproj/argo-cd/v2/applicationset/utils"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	log "github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// token is what the plugin and Argo CD share.
const token = "the-token-of-all-the-chart-tests"

// request is what Argo CD's client sends.
type request struct {
	ApplicationSetName string `json:"applicationSetName"`
	Input              struct {
		Parameters map[string]any `json:"parameters"`
	} `json:"input"`
}

// plugin is a server of parameter sets and what it was asked.
type plugin struct {
	URL string

	mu       sync.Mutex
	requests []request
}

// newPlugin serves testdata/plugin/<view>.json: the sets of every hub, filtered by the
// request's hub, group, release and component, as the service does.
func newPlugin(t *testing.T) *plugin {
	t.Helper()
	p := &plugin{}
	p.URL = serve(t, func(w http.ResponseWriter, r *http.Request) {
		var q request
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&q), "request")
		p.mu.Lock()
		p.requests = append(p.requests, q)
		p.mu.Unlock()
		sets, err := fixture(q.Input.Parameters)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			sets, _ = json.Marshal(map[string]string{"message": err.Error()})
		}
		_, _ = w.Write(sets)
	})
	return p
}

// serve starts a server behind the plugin's path and token.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/getparams.execute", func(w http.ResponseWriter, r *http.Request) {
		if got, want := r.Header.Get("Authorization"), "Bearer "+token; got != want {
			http.Error(w, `{"message":"unauthorized"}`, http.StatusUnauthorized)
			return
		}
		handler(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// fixture is the answer to a request from testdata.
func fixture(parameters map[string]any) ([]byte, error) {
	view, _ := parameters["view"].(string)
	data, err := os.ReadFile("testdata/plugin/" + view + ".json")
	if err != nil {
		return nil, err
	}
	var all, sets []map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for _, set := range all {
		release := set["release"]
		if r, ok := release.(map[string]any); ok {
			release = r["type"]
		}
		if matches(parameters["hub"], set["hub"]) && matches(parameters["group"], set["group"]) &&
			matches(parameters["component"], set["component"]) && matches(parameters["release"], release) {
			sets = append(sets, set)
		}
	}
	return json.Marshal(map[string]any{"output": map[string]any{"parameters": sets}})
}

// matches says whether a set has what was asked for; nothing asked matches.
func matches(asked, has any) bool { return asked == nil || has == nil || asked == has }

// asked are the requests of one ApplicationSet.
func (p *plugin) asked(applicationSet string) []request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []request
	for _, q := range p.requests {
		if q.ApplicationSetName == applicationSet {
			out = append(out, q)
		}
	}
	return out
}

// argocd is the ApplicationSet controller's own generation, in process: ConfigMap, Secret and
// cluster Secrets of its namespace, the generators, the renderer.
type argocd struct {
	client     client.Client
	generators map[string]generators.Generator
}

// newArgoCD knows a plugin at url, and clusters.
func newArgoCD(t *testing.T, url string, clusters ...*corev1.Secret) argocd {
	t.Helper()
	const namespace = "argocd"
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "generator-plugin", Namespace: namespace},
		Data:       map[string]string{"baseUrl": url, "token": "$generator-plugin:token", "requestTimeout": "10"},
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "generator-plugin", Namespace: namespace},
		Data:       map[string][]byte{"token": []byte(token)},
	}
	// Argo CD's settings live in these two; its cluster listing reads them.
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "argocd-cm", Namespace: namespace, Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"},
	}}
	own := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "argocd-secret", Namespace: namespace, Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}},
		Data:       map[string][]byte{"server.secretkey": []byte("x")},
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	objects := []client.Object{config, secret, settings, own}
	plain := []runtime.Object{config, secret, settings, own}
	for _, cluster := range clusters {
		objects = append(objects, cluster)
		plain = append(plain, cluster)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	k := clientset.NewSimpleClientset(plain...)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return argocd{client: c, generators: map[string]generators.Generator{
		"Plugin":   generators.NewPluginGenerator(c, ctx, k, namespace),
		"Clusters": generators.NewClusterGenerator(c, ctx, k, namespace),
	}}
}

// applications is what the controller would create.
func (a argocd) applications(set v1alpha1.ApplicationSet) ([]v1alpha1.Application, error) {
	log.SetOutput(io.Discard) // Argo CD logs to the global logger as well
	apps, _, err := template.GenerateApplications(log.NewEntry(log.StandardLogger()), set, a.generators, &utils.Render{}, a.client)
	return apps, err
}

// cluster is a cluster Secret of Argo CD; pairs are label=value, or annotation:name=value.
func cluster(name string, pairs ...string) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "argocd", Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster"}},
		Data:       map[string][]byte{"name": []byte(name), "server": []byte("https://" + name + ".example.com"), "config": []byte("{}")},
	}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		if annotation, ok := strings.CutPrefix(key, "annotation:"); ok {
			if s.Annotations == nil {
				s.Annotations = map[string]string{}
			}
			s.Annotations[annotation] = value
			continue
		}
		s.Labels[key] = value
	}
	return s
}
