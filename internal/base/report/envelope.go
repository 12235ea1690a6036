package report

import (
	"encoding/json"
	"io"

	"sigs.k8s.io/yaml"
)

// APIVersion is the version of every envelope.
const APIVersion = "argosy.dev/v1alpha1"

// WriteJSON writes an envelope as indented JSON.
func WriteJSON(w io.Writer, envelope any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(envelope)
}

// WriteYAML writes an envelope as YAML, with the keys of its JSON in alphabetical order.
func WriteYAML(w io.Writer, envelope any) error {
	data, err := yaml.Marshal(envelope)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// KindVersion is the kind of Version.
const KindVersion = "Version"

// Version names the program's version.
type Version struct {
	APIVersion string `json:"apiVersion" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind" jsonschema:"enum=Version"`
	// Version is the release's version, or "devel".
	Version string `json:"version"`
	// Revision is the commit that the program was built from, when it is known.
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}
