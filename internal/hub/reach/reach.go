// Package reach restricts the requests of internal/hub: each client reaches what it is for and
// nothing else, whatever the permissions of the service allow.
package reach

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Guarded returns a configuration whose requests all pass a check.
func Guarded(c *rest.Config, guard func(http.RoundTripper) http.RoundTripper) *rest.Config {
	c = rest.CopyConfig(c)
	if c.UserAgent == "" {
		c.UserAgent = "argosy"
	}
	c.Wrap(guard)
	return c
}

// MetadataOnly is a configuration whose requests cannot bring a whole object (rule 1).
func MetadataOnly(c *rest.Config) *rest.Config {
	return Guarded(c, func(next http.RoundTripper) http.RoundTripper { return partial{next} })
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

// Collection is a configuration that reads a collection, and changes its members by merge patches.
func Collection(c *rest.Config, collection string) *rest.Config {
	return Guarded(c, func(next http.RoundTripper) http.RoundTripper { return narrow{collection, next} })
}

// GET is a configuration that reads what is at these paths, and nothing else.
func GET(c *rest.Config, paths ...string) *rest.Config {
	return Guarded(c, func(next http.RoundTripper) http.RoundTripper { return reader{paths, next} })
}

type reader struct {
	paths []string
	next  http.RoundTripper
}

func (r reader) RoundTrip(q *http.Request) (*http.Response, error) {
	for _, one := range r.paths {
		if q.Method == http.MethodGet && strings.HasSuffix(q.URL.Path, one) {
			return r.next.RoundTrip(q)
		}
	}
	return nil, fmt.Errorf("requests are not made here but to read %s: %s %s", strings.Join(r.paths, ", "), q.Method, q.URL.Path)
}

// Metadata is Collection for metadata alone.
func Metadata(c *rest.Config, collection string) *rest.Config {
	return Guarded(c, func(next http.RoundTripper) http.RoundTripper { return NewMetadata(collection, next) })
}

// NewMetadata is the transport of Metadata.
func NewMetadata(collection string, next http.RoundTripper) http.RoundTripper {
	return finalizing{narrow{collection, next}, partial{next}}
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
	case q.Method == http.MethodPatch && q.Header.Get("Content-Type") == string(types.MergePatchType) && strings.HasSuffix(path.Dir(q.URL.Path), n.collection):
	default:
		return fmt.Errorf("requests are not made here but to read and change the metadata of %s: %s %s", path.Base(n.collection), q.Method, q.URL.Path)
	}
	return nil
}

// TableType asks the API server for the columns that kubectl prints.
const TableType = "application/json;as=Table;v=v1;g=meta.k8s.io"

// Columns is a configuration whose requests bring the printed columns of one collection alone.
func Columns(c *rest.Config, collection string) *rest.Config {
	return Guarded(c, func(next http.RoundTripper) http.RoundTripper { return columns{collection, next} })
}

type columns struct {
	collection string
	next       http.RoundTripper
}

func (c columns) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method != http.MethodGet || !strings.HasSuffix(q.URL.Path, c.collection) || q.Header.Get("Accept") != TableType || q.URL.Query().Get("includeObject") != string(metav1.IncludeNone) {
		return nil, fmt.Errorf("requests are not made here but for the columns of %s: %s %s", path.Base(c.collection), q.Method, q.URL.Path)
	}
	return c.next.RoundTrip(q)
}
