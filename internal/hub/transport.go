package hub

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// guarded returns a configuration whose requests all pass a check.
func guarded(c *rest.Config, guard func(http.RoundTripper) http.RoundTripper) *rest.Config {
	c = rest.CopyConfig(c)
	if c.UserAgent == "" {
		c.UserAgent = "argosy"
	}
	c.Wrap(guard)
	return c
}

// metadataOnly is a configuration whose requests cannot bring a whole object (rule 1).
func metadataOnly(c *rest.Config) *rest.Config {
	return guarded(c, func(next http.RoundTripper) http.RoundTripper { return partial{next} })
}

// partial lets only requests for PartialObjectMetadata through. client-go's metadata client accepts
// plain JSON as its last choice (metadata.go, v0.31), for which some servers would send the whole
// Secret. That choice is removed, so that such a server answers 406.
type partial struct{ next http.RoundTripper }

func (p partial) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method != http.MethodGet {
		return nil, fmt.Errorf("%s requests are not made here", q.Method)
	}
	return p.metadata(q)
}

// metadata makes a request accept nothing but metadata.
func (p partial) metadata(q *http.Request) (*http.Response, error) {
	var kept []string
	for _, value := range q.Header.Values("Accept") {
		for _, media := range strings.Split(value, ",") {
			if strings.Contains(media, ";as=PartialObjectMetadata") {
				kept = append(kept, strings.TrimSpace(media))
			}
		}
	}
	if len(kept) == 0 {
		return nil, errors.New("a request for more than metadata is not made here")
	}
	q = q.Clone(q.Context())
	q.Header.Set("Accept", strings.Join(kept, ","))
	return p.next.RoundTrip(q)
}

// applicationSetsOnly is a configuration that reaches the ApplicationSets of one namespace alone
// (rule 9).
func applicationSetsOnly(c *rest.Config, namespace string) *rest.Config {
	collection := path.Join("/apis", applicationSets.Group, applicationSets.Version, "namespaces", namespace, applicationSets.Resource)
	return guarded(c, func(next http.RoundTripper) http.RoundTripper { return narrow{collection, next} })
}

// fluxOnly is a configuration that reads the collections of Flux's objects in one namespace, and
// nothing else (rule 10).
func fluxOnly(c *rest.Config, namespace string) *rest.Config {
	return guarded(c, func(next http.RoundTripper) http.RoundTripper { return fluxReader{namespace, next} })
}

type fluxReader struct {
	namespace string
	next      http.RoundTripper
}

func (f fluxReader) RoundTrip(q *http.Request) (*http.Response, error) {
	for _, r := range []schema.GroupVersionResource{helmReleases, kustomizations, gitRepositories, ociRepositories} {
		if q.Method == http.MethodGet && strings.HasSuffix(q.URL.Path, path.Join("/apis", r.Group, r.Version, "namespaces", f.namespace, r.Resource)) {
			return f.next.RoundTrip(q)
		}
	}
	return nil, fmt.Errorf("requests are not made here but to list Flux's objects: %s %s", q.Method, q.URL.Path)
}

// grantsOnly returns a configuration that reaches the metadata of the ConfigMaps of one namespace
// alone (rule 13).
func grantsOnly(c *rest.Config, namespace string) *rest.Config {
	collection := path.Join("/api", configMaps.Version, "namespaces", namespace, configMaps.Resource)
	return guarded(c, func(next http.RoundTripper) http.RoundTripper {
		return finalizing{narrow{collection, next}, partial{next}}
	})
}

// finalizing lets through what reads metadata of a collection, and merge patches of its members,
// which are answered with metadata, too.
type finalizing struct {
	narrow narrow
	reads  partial
}

func (f finalizing) RoundTrip(q *http.Request) (*http.Response, error) {
	if err := f.narrow.check(q); err != nil {
		return nil, err
	}
	return f.reads.metadata(q)
}

// narrow lets through what reads a collection, and merge patches of its members. An API server may
// be below a path.
type narrow struct {
	collection string
	next       http.RoundTripper
}

func (n narrow) RoundTrip(q *http.Request) (*http.Response, error) {
	if err := n.check(q); err != nil {
		return nil, err
	}
	return n.next.RoundTrip(q)
}

// check refuses all other requests.
func (n narrow) check(q *http.Request) error {
	switch {
	case q.Method == http.MethodGet && strings.HasSuffix(q.URL.Path, n.collection):
	case q.Method == http.MethodPatch && q.Header.Get("Content-Type") == string(mergePatch) && strings.HasSuffix(path.Dir(q.URL.Path), n.collection):
	default:
		return fmt.Errorf("requests are not made here but to read and change the metadata of %s: %s %s", path.Base(n.collection), q.Method, q.URL.Path)
	}
	return nil
}
