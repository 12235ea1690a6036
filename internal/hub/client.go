package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

const (
	// page is the size of one list request, and maxListed the limit of objects of one kind.
	page      = 500
	maxListed = 200_000
	// rate bounds the requests of a client, per second.
	rate = 10
	// partial is the group and version of metadata without its object.
	partial = "meta.k8s.io"
)

// object is all that is decoded of an object. The decoder skips everything else, such as values of
// charts, so that it stays in the bytes of the response.
type object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Operation *struct{} `json:"operation"` // of an Application, while a sync is pending or running
	Spec      struct {
		Generators json.RawMessage `json:"generators"` // of an ApplicationSet
		Chart      struct {
			Spec struct {
				SourceRef kindOf `json:"sourceRef"`
			} `json:"spec"`
		} `json:"chart"`
		ChartRef  kindOf `json:"chartRef"`
		SourceRef kindOf `json:"sourceRef"`
	} `json:"spec"`
	Status struct {
		Sync struct {
			Status   string `json:"status"`
			Revision string `json:"revision"`
		} `json:"sync"`
		Health struct {
			Status string `json:"status"`
		} `json:"health"`
		Summary struct {
			ExternalURLs []string `json:"externalURLs"`
		} `json:"summary"`
		Conditions             []condition `json:"conditions"`
		ObservedGeneration     int64       `json:"observedGeneration"`
		LastHandledReconcileAt string      `json:"lastHandledReconcileAt"`
		LastAttemptedRevision  string      `json:"lastAttemptedRevision"`
		LastAppliedRevision    string      `json:"lastAppliedRevision"`
		Artifact               struct {
			Revision string `json:"revision"`
		} `json:"artifact"`
	} `json:"status"`
}

// kindOf is the kind of a reference.
type kindOf struct {
	Kind string `json:"kind"`
}

// condition is a condition of a status.
type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// condition returns a condition of the status; the zero value for none.
func (o *object) condition(name string) condition {
	for _, c := range o.Status.Conditions {
		if c.Type == name {
			return c
		}
	}
	return condition{}
}

// DeepCopyObject returns the object itself: no one changes it.
func (o *object) DeepCopyObject() runtime.Object { return o }

// resource is a kind of objects of the API server.
type resource struct {
	schema.GroupVersion
	plural, kind string
	what         string // in texts: "cluster secrets"
	of           string // in texts: whose resource it is; "" for Argo CD
	// isMetadata makes every request accept nothing but metadata (PartialObjectMetadata): no data
	// of a Secret enters the process.
	isMetadata bool
}

// permission returns the permission for verbs.
func (r resource) permission(verbs string) string {
	return verbs + " on " + schema.GroupResource{Group: r.Group, Resource: r.plural}.String()
}

// client sends requests for a resource in one namespace.
type client struct {
	resource
	namespace string
	rest      *rest.RESTClient
}

// newClient makes a client. It sends no request.
func newClient(o Options, r resource) (*client, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	known := runtime.NewScheme()
	metav1.AddToGroupVersion(known, r.GroupVersion)
	known.AddKnownTypeWithName(r.WithKind(r.kind), &object{})
	known.AddKnownTypeWithName(schema.GroupVersionKind{Group: partial, Version: "v1", Kind: "PartialObjectMetadata"}, &object{})
	config := rest.CopyConfig(o.Config)
	config.UserAgent = cmp.Or(config.UserAgent, "argosy")
	config.QPS, config.Burst = rate, rate
	config.GroupVersion, config.APIPath = &r.GroupVersion, "/apis"
	if r.Group == "" {
		config.APIPath = "/api"
	}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NewCodecFactory(known).WithoutConversion()
	sender, err := rest.RESTClientFor(config)
	return &client{r, o.Namespace, sender}, err
}

// request begins a request, for a list or for one object.
func (c *client) request(verb string, isList bool) *rest.Request {
	q := c.rest.Verb(verb).Namespace(c.namespace).Resource(c.plural)
	if c.isMetadata {
		kind := "PartialObjectMetadata"
		if isList {
			kind += "List"
		}
		q.SetHeader("Accept", runtime.ContentTypeJSON+";as="+kind+";g="+partial+";v=v1")
	}
	return q
}

// send sends a request, and decodes the response.
func (c *client) send(ctx context.Context, q *rest.Request, to any) error {
	result := q.Do(ctx)
	if err := result.Error(); err != nil { // the API server's own text
		return err
	}
	data, err := result.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// patch changes an object by a merge patch.
func (c *client) patch(ctx context.Context, name string, patch []byte) error {
	return c.request("PATCH", false).Name(name).Param("fieldManager", "argosy").SetHeader("Content-Type", string(types.MergePatchType)).Body(patch).Do(ctx).Error()
}

// options are the parameters of a list or a watch.
func options(q *rest.Request, o metav1.ListOptions) *rest.Request {
	return q.SpecificallyVersionedParams(&o, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

// watch watches the objects of a selector.
func (c *client) watch(ctx context.Context, selector string, o metav1.ListOptions) (watch.Interface, error) {
	o.LabelSelector, o.Watch = selector, true
	return options(c.request("GET", false), o).Watch(ctx)
}

// tooMany is the error of a list with more objects than maxListed.
type tooMany int

func (n tooMany) Error() string {
	return fmt.Sprintf("%d and more; the limit is %d", int(n), maxListed)
}

// list requests all objects of a selector, and returns the version of the list. The pages come one
// after another: one page at most is in memory. They are of one version, the newest.
func list[I any](ctx context.Context, c *client, selector string, each func(*I)) (version string, err error) {
	o := metav1.ListOptions{LabelSelector: selector, Limit: page}
	for n := 0; ; {
		var got struct {
			metav1.ListMeta `json:"metadata"`

			Items []I `json:"items"`
		}
		if err := c.send(ctx, options(c.request("GET", true), o), &got); err != nil {
			return "", err
		}
		if n += len(got.Items); n > maxListed {
			return "", tooMany(n)
		}
		for i := range got.Items {
			each(&got.Items[i])
		}
		if o.Continue = got.Continue; o.Continue == "" {
			return got.ResourceVersion, nil
		}
	}
}
