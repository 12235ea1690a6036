package hub

import (
	"net/http"
	"strings"

	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// tableType asks the API server for the columns that kubectl prints.
const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io"

// metadataClient is a client to which no whole object is sent (rule 1).
func metadataClient(c *rest.Config) (metadata.Interface, error) {
	c = rest.CopyConfig(c)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return partial{next} })
	return metadata.NewForConfig(c)
}

// partial takes plain JSON, the last choice of client-go's metadata client (metadata.go, v0.31),
// out of what a request accepts: some servers would send the whole Secret, and now answer 406.
type partial struct{ next http.RoundTripper }

func (p partial) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("Accept", strings.TrimSuffix(q.Header.Get("Accept"), ",application/json"))
	return p.next.RoundTrip(q)
}
