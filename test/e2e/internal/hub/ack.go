package hub

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// ACKKinds are the kinds of ACK that the sample applications have.
const ACKKinds = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: queues.sqs.services.k8s.aws}
spec:
  group: sqs.services.k8s.aws
  names: {kind: Queue, plural: queues}
  scope: Namespaced
  versions:
    - {name: v1alpha1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: dbinstances.rds.services.k8s.aws}
spec:
  group: rds.services.k8s.aws
  names: {kind: DBInstance, plural: dbinstances}
  scope: Namespaced
  versions:
    - {name: v1alpha1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tables.dynamodb.services.k8s.aws}
spec:
  group: dynamodb.services.k8s.aws
  names: {kind: Table, plural: tables}
  scope: Namespaced
  versions:
    - {name: v1alpha1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// ackResources are those kinds.
var ackResources = []schema.GroupVersionResource{
	{Group: "sqs.services.k8s.aws", Version: "v1alpha1", Resource: "queues"},
	{Group: "rds.services.k8s.aws", Version: "v1alpha1", Resource: "dbinstances"},
	{Group: "dynamodb.services.k8s.aws", Version: "v1alpha1", Resource: "tables"},
}

// standInForACK defines ACK's kinds on a cluster, and reports each object of theirs as ready, until
// the context ends: Argo CD 3 waits for that condition.
func standInForACK(ctx, life context.Context, client *kube.Client) error {
	if err := client.Apply(ctx, "", []byte(ACKKinds)); err != nil {
		return err
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client.Dynamic, 0)
	for _, r := range ackResources {
		report := func(object any) {
			o, ok := object.(*unstructured.Unstructured)
			if !ok || o.Object["status"] != nil {
				return
			}
			o = o.DeepCopy()
			o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
			// An object that has changed meanwhile is seen again.
			_, _ = client.Dynamic.Resource(r).Namespace(o.GetNamespace()).UpdateStatus(life, o, metav1.UpdateOptions{})
		}
		_, err := factory.ForResource(r).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: report, UpdateFunc: func(_, now any) { report(now) },
		})
		if err != nil {
			return err
		}
	}
	factory.Start(life.Done())
	return nil
}
