package argocd

import (
	"context"
	"errors"

	"github.com/argoproj/argo-cd/v2/applicationset/generators"
	"github.com/argoproj/argo-cd/v2/common"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v2/util/argo"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// newClusters returns Argo CD's own cluster generator over a list of clusters. Its two Kubernetes
// clients read that list. Any other call of theirs panics, and the generator makes none (argo-cd
// v2.14, applicationset/generators/cluster.go).
func newClusters(clusters []expand.Cluster) generators.Generator {
	list := clusterList{}
	for _, c := range clusters {
		secret := corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: c.Name, Labels: map[string]string{}, Annotations: c.Annotations},
			Data:       map[string][]byte{"name": []byte(c.Name), "server": []byte(c.Server)},
		}
		for k, v := range c.Labels {
			secret.Labels[k] = v
		}
		secret.Labels[common.LabelKeySecretType] = common.LabelValueSecretTypeCluster
		if c.Project != "" {
			secret.Data["project"] = []byte(c.Project)
		}
		list = append(list, secret)
	}
	return generators.NewClusterGenerator(listClient{list: list}, context.Background(), clientset{list: list}, "argocd")
}

// clusterList holds the Secrets of all clusters.
type clusterList []corev1.Secret

type listClient struct {
	client.Client
	list clusterList
}

// List lists the Secrets that match a label selector.
func (c listClient) List(_ context.Context, to client.ObjectList, opts ...client.ListOption) error {
	secrets, ok := to.(*corev1.SecretList)
	if !ok {
		return errors.New("the cluster generator lists only Secrets")
	}
	var o client.ListOptions
	o.ApplyOptions(opts)
	for _, s := range c.list {
		if o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(s.Labels)) {
			secrets.Items = append(secrets.Items, *s.DeepCopy())
		}
	}
	return nil
}

type clientset struct {
	kubernetes.Interface
	list clusterList
}

func (c clientset) CoreV1() core.CoreV1Interface            { return coreV1{list: c.list} }
func (c clientset) Discovery() discovery.DiscoveryInterface { return discovered{} }

type coreV1 struct {
	core.CoreV1Interface
	list clusterList
}

func (c coreV1) Secrets(string) core.SecretInterface { return secrets{list: c.list} }

type secrets struct {
	core.SecretInterface
	list clusterList
}

// List lists all Secrets: Argo CD selects cluster Secrets, and the list holds no others.
func (s secrets) List(context.Context, metav1.ListOptions) (*corev1.SecretList, error) {
	out := &corev1.SecretList{}
	for _, secret := range s.list {
		out.Items = append(out.Items, *secret.DeepCopy())
	}
	return out, nil
}

type discovered struct{ discovery.DiscoveryInterface }

// ServerVersion fails: Argo CD queries it for the local cluster's state, which no parameter shows.
func (discovered) ServerVersion() (*version.Info, error) { return nil, errors.New("offline") }

// Normalize returns an Application as Argo CD compares it with another: without unknown and empty
// fields, and with defaults.
func (a *ApplicationSets) Normalize(tree manifest.Tree) (manifest.Tree, error) {
	var app v1alpha1.Application
	if err := convert(tree, &app); err != nil {
		return nil, err
	}
	app.Spec = *argo.NormalizeApplicationSpec(&app.Spec)
	app.Status, app.Operation = v1alpha1.ApplicationStatus{}, nil
	out, err := encode(&app)
	if err != nil {
		return nil, err
	}
	addNewer(out, tree["spec"])
	return out, nil
}
