package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// The kinds of Argo CD's objects that Objects lists.
const (
	ApplicationsOf    = "applications"
	ApplicationSetsOf = "applicationsets"
)

// maxAnswer bounds one page of objects, in bytes.
const maxAnswer = 256 << 20

// Objects returns the live Applications or ApplicationSets as JSON. They hold no credentials; no
// other resource is ever listed as a whole.
func Objects(ctx context.Context, o Options, resource string) ([]json.RawMessage, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(o.Config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(o.Config)
	if err != nil {
		return nil, err
	}
	at := base.JoinPath("apis", "argoproj.io", "v1alpha1", "namespaces", o.Namespace, resource)
	f := &follower{followed: followed{what: resource, namespace: o.Namespace}}
	var out []json.RawMessage
	for next := ""; ; {
		at.RawQuery = url.Values{"limit": {strconv.Itoa(page)}, "continue": {next}}.Encode()
		var list struct {
			Metadata metav1.ListMeta
			Items    []json.RawMessage
		}
		if err := get(ctx, client, at.String(), &list); err != nil {
			return nil, f.short(err, "list on "+resource+".argoproj.io")
		}
		out = append(out, list.Items...)
		if len(out) > maxListed {
			return nil, fmt.Errorf("%s in namespace %q: %d and more; the limit is %d", resource, o.Namespace, len(out), maxListed)
		}
		if next = list.Metadata.Continue; next == "" {
			return out, nil
		}
	}
}

// get reads a list. Any other response is the API server's error.
func get(ctx context.Context, client *http.Client, url string, to any) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	q.Header.Set("Accept", "application/json")
	q.Header.Set("User-Agent", "argosy")
	r, err := client.Do(q)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	data, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxAnswer:
		return fmt.Errorf("an answer of more than %d bytes", maxAnswer)
	case r.StatusCode != http.StatusOK:
		status := metav1.Status{Status: metav1.StatusFailure, Code: int32(r.StatusCode)} //nolint:gosec // three digits
		_ = json.Unmarshal(data, &status)
		return apierrors.FromObject(&status)
	}
	return json.Unmarshal(data, to)
}

// collection returns the URL path of a resource in a namespace.
func collection(r schema.GroupVersionResource, namespace string) string {
	root := path.Join("/apis", r.Group)
	if r.Group == "" {
		root = "/api"
	}
	return path.Join(root, r.Version, "namespaces", namespace, r.Resource)
}
