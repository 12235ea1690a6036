package hub

import (
	"net/http"
	"strings"

	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// tableType requests the columns that kubectl prints.
const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io"

// metadataClient returns a client that never receives a whole object, so no data of a Secret.
func metadataClient(c *rest.Config) (metadata.Interface, error) {
	c = rest.CopyConfig(c)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return partial{next} })
	return metadata.NewForConfig(c)
}

// partial removes plain JSON, the last choice of client-go's metadata client (metadata.go, v0.31),
// from the accepted types of a request. Some servers would send the whole Secret, and now answer
// 406.
type partial struct{ next http.RoundTripper }

func (p partial) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("Accept", strings.TrimSuffix(q.Header.Get("Accept"), ",application/json"))
	return p.next.RoundTrip(q)
}
