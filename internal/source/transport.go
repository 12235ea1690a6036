package source

import "net/http"

// maxResponse bounds a response of a forge's API, in bytes.
const maxResponse = 1 << 20

// BoundedTransport returns a transport that cuts off responses longer than any of a forge's API.
func BoundedTransport(next http.RoundTripper) http.RoundTripper { return boundedTransport{next} }

type boundedTransport struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxResponse)
	}
	return resp, err
}
