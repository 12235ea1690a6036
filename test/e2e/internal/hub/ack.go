package hub

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// ackResources are the kinds of ACK that the sample applications have.
var ackResources = []schema.GroupVersionResource{
	{Group: "sqs.services.k8s.aws", Version: "v1alpha1", Resource: "queues"},
	{Group: "rds.services.k8s.aws", Version: "v1alpha1", Resource: "dbinstances"},
	{Group: "dynamodb.services.k8s.aws", Version: "v1alpha1", Resource: "tables"},
}

// ACKKinds defines them.
func ACKKinds() []byte {
	return slices.Concat(ACKKind("sqs", "Queue"), ACKKind("rds", "DBInstance"), ACKKind("dynamodb", "Table"))
}

// ACKKind defines a kind of one of ACK's services, without a schema.
func ACKKind(service, kind string) []byte {
	return fmt.Appendf(nil, `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[3]s.%[1]s.services.k8s.aws}
spec:
  group: %[1]s.services.k8s.aws
  names: {kind: %[2]s, plural: %[3]s}
  scope: Namespaced
  versions:
    - {name: v1alpha1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, service, kind, strings.ToLower(kind)+"s")
}

// standInForACK defines ACK's kinds on a cluster, and reports each object of theirs as ready, until
// the context ends: Argo CD 3 waits for that condition.
func standInForACK(ctx, life context.Context, client *kube.Client) error {
	if err := client.Apply(ctx, "", ACKKinds()); err != nil {
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
