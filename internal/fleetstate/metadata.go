package fleetstate

import (
	"bytes"
	"encoding/json"
)

// Metadata is a cluster's labels and annotations, in the place where Argo CD's own cluster
// generator has them.
type Metadata struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// NewMetadata is labels and annotations in the place where Argo CD's own cluster generator has
// them.
func NewMetadata(labels, annotations map[string]string) json.RawMessage {
	text, err := EncodeJSON(Metadata{Labels: nonNil(labels), Annotations: nonNil(annotations)})
	if err != nil {
		panic(err) //nolint:forbidigo // maps of strings can always be written
	}
	return text
}

func nonNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// EncodeJSON is JSON without HTML escaping and without a newline at the end.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
