// Package externalsecrets runs the External Secrets Operator on a hub, with a store that needs no
// cloud.
//
//  1. CRDs are those of the operator's release, all of them. Its webhooks are not run: objects are
//     not validated beyond the CRDs' schemas, and none is converted.
//  2. The ClusterSecretStore is called as charts/hub calls it, and has its contents in its own
//     specification: the operator's provider "fake".
//  3. The operator has the token of its ServiceAccount, with the rights that its chart gives it
//     (rbac.yaml), and no others.
//  4. What Put and Remove change arrives as it would from a cloud's secret manager: when an
//     ExternalSecret is next refreshed, by its refreshInterval or by Sync.
package externalsecrets

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

const (
	// Store is the ClusterSecretStore's name.
	Store = "fleet-secrets"

	name           = "external-secrets"
	localhost      = "127.0.0.1:"
	syncAnnotation = "force-sync" // any changed annotation does; this one the operator's documentation suggests
)

var stores = schema.GroupVersionResource{Group: "external-secrets.io", Version: "v1", Resource: "clustersecretstores"}

// dataPath is the contents' in a store: a list of {key, value}.
var dataPath = []string{"spec", "provider", "fake", "data"}

// rights are the operator's ServiceAccount, with what it may do.
//
//go:embed rbac.yaml
var rights []byte

// Options say what to run and where. Binaries, Group and Cluster are required.
type Options struct {
	Binaries component.Binaries // with external-secrets
	Group    *process.Group
	Cluster  *controlplane.Cluster

	Prefix  string // of the process's name, where there is another operator in the group
	NoStore bool   // where something else makes the store of that name
	Env     []string
}

// Operator is what runs.
type Operator struct {
	Process *process.Process

	client     *kube.Client
	cluster    *controlplane.Cluster
	kubeconfig string
}

// Start installs the operator on the cluster and starts it, with an empty store.
func Start(ctx context.Context, o Options) (*Operator, error) {
	client, err := kube.New(o.Cluster.Config())
	if err != nil {
		return nil, fmt.Errorf("external secrets: %w", err)
	}
	op := &Operator{client: client, cluster: o.Cluster, kubeconfig: filepath.Join(filepath.Dir(o.Cluster.Kubeconfig), o.Prefix+name+".kubeconfig")}
	if err := op.install(ctx, filepath.Join(o.Binaries.Files(name), "crds"), !o.NoStore); err != nil {
		return nil, fmt.Errorf("install external secrets on %s: %w", o.Cluster.Name, err)
	}
	spec, err := specification(o)
	if err != nil {
		return nil, fmt.Errorf("external secrets: %w", err)
	}
	if err := op.login(ctx); err != nil {
		return nil, err
	}
	spec.Env = append([]string{"KUBECONFIG=" + op.kubeconfig}, o.Env...)
	if op.Process, err = o.Group.Start(ctx, spec); err != nil {
		return nil, err
	}
	return op, nil
}

// login writes the kubeconfig with a token of the operator's ServiceAccount (rule 3).
func (o *Operator) login(ctx context.Context) error {
	if err := o.cluster.ServiceAccountKubeconfig(ctx, name, name, o.kubeconfig); err != nil {
		return fmt.Errorf("external secrets: %w", err)
	}
	return nil
}

// Reinstalled starts an operator again that was removed together with its ServiceAccount, of which
// there is another one now.
func (o *Operator) Reinstalled(ctx context.Context) error {
	if err := o.login(ctx); err != nil {
		return err
	}
	return o.Process.Restart(ctx)
}

// install applies the CRDs, and perhaps the store.
func (o *Operator) install(ctx context.Context, crds string, withStore bool) error {
	if err := o.client.Define(ctx, crds); err != nil {
		return err
	}
	if err := o.client.Namespace(ctx, name); err != nil {
		return err
	}
	if err := o.client.Apply(ctx, name, rights); err != nil || !withStore {
		return err
	}
	store := &unstructured.Unstructured{Object: map[string]any{"apiVersion": stores.GroupVersion().String(), "kind": "ClusterSecretStore"}}
	store.SetName(Store)
	if err := unstructured.SetNestedSlice(store.Object, []any{}, dataPath...); err != nil {
		return err
	}
	return o.client.ApplyObject(ctx, "", store)
}

func specification(o Options) (process.Spec, error) {
	path, err := o.Binaries.Find(name)
	if err != nil {
		return process.Spec{}, err
	}
	metrics, err := process.FreePort()
	if err != nil {
		return process.Spec{}, err
	}
	live, err := process.FreePort()
	if err != nil {
		return process.Spec{}, err
	}
	return process.Spec{
		Name: o.Prefix + name, Path: path,
		Args: []string{
			"--metrics-addr", localhost + strconv.Itoa(metrics),
			"--live-addr", localhost + strconv.Itoa(live),
			"--enable-leader-election=false",
			// The provider "fake" keeps its contents in a map that it does not guard: one
			// reconciliation at a time, and stores looked at when they change only.
			"--concurrent", "1", "--store-requeue-interval", "24h",
			// nothing in the fleet uses these
			"--enable-cluster-push-secret-reconciler=false", "--enable-cluster-external-secret-reconciler=false",
			"--zap-time-encoding", "rfc3339",
		},
		Ports: []int{metrics, live},
		Ready: process.WaitHTTP("http://"+localhost+strconv.Itoa(live)+"/healthz", nil),
	}, nil
}

// Put writes a secret to the store, in place of the one of that key if there is one.
func (o *Operator) Put(ctx context.Context, key, json string) error {
	if key == "" || json == "" {
		return fmt.Errorf("put %q into %s: expected a key and a value", key, Store)
	}
	err := o.change(ctx, func(data []any) ([]any, error) {
		return append(without(data, key), map[string]any{"key": key, "value": json}), nil
	})
	return explain(err, "put %q into %s", key)
}

// Remove deletes a secret from the store; that there is none of that key is an error.
func (o *Operator) Remove(ctx context.Context, key string) error {
	err := o.change(ctx, func(data []any) ([]any, error) {
		rest := without(data, key)
		if len(rest) == len(data) {
			return nil, errors.New("there is none of that key")
		}
		return rest, nil
	})
	return explain(err, "remove %q from %s", key)
}

func explain(err error, what, key string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(what+": %w", key, Store, err)
}

// without is data but for a key's entry, in a list of its own.
func without(data []any, key string) []any {
	return slices.DeleteFunc(slices.Clone(data), func(entry any) bool {
		e, ok := entry.(map[string]any)
		return ok && e["key"] == key
	})
}

// change reads the store, changes its contents and writes it, again if somebody else was faster.
func (o *Operator) change(ctx context.Context, f func(data []any) ([]any, error)) error {
	resource := o.client.Dynamic.Resource(stores)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		store, err := resource.Get(ctx, Store, metav1.GetOptions{})
		if err != nil {
			return err
		}
		data, _, err := unstructured.NestedSlice(store.Object, dataPath...)
		if err != nil {
			return err
		}
		if data, err = f(data); err != nil {
			return err
		}
		if err := unstructured.SetNestedSlice(store.Object, data, dataPath...); err != nil {
			return err
		}
		_, err = resource.Update(ctx, store, metav1.UpdateOptions{})
		return err
	})
}

// Sync has an ExternalSecret refreshed now.
func (o *Operator) Sync(ctx context.Context, namespace, externalSecret string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, syncAnnotation, time.Now().UTC().Format(time.RFC3339Nano))
	_, err := o.client.Dynamic.Resource(kube.ExternalSecrets).Namespace(namespace).
		Patch(ctx, externalSecret, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("sync ExternalSecret %s/%s: %w", namespace, externalSecret, err)
	}
	return nil
}
