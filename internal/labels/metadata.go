package labels

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

// NewMetadata returns Metadata as JSON.
func NewMetadata(labels, annotations map[string]string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(Metadata{Labels: nonNil(labels), Annotations: nonNil(annotations)}); err != nil {
		panic(err) //nolint:forbidigo // maps of strings can always be written
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func nonNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
