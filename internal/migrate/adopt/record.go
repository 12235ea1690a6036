package adopt

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// Object is an object of Kubernetes, with the fields of any version of Argo CD.
type Object = unstructured.Unstructured

// Record is a handover: what was there before, for resume and undo.
type Record struct {
	// Old is the plain ApplicationSet as it was.
	Old *Object `json:"old"`
	// New are the fleet's ApplicationSets that get its Applications.
	New          []*Set `json:"new"`
	Applications []Pair `json:"applications"`
	// Undo says that the Applications go back. Done means that the last step is done.
	Undo bool `json:"undo,omitempty"`
	Done bool `json:"done,omitempty"`
}

// Set is an ApplicationSet of the fleet.
type Set struct {
	Manifest *Object `json:"manifest"`
	// All are the names of all Applications that it creates, and Others the names that it has
	// besides the ones of this handover.
	All    []string `json:"all"`
	Others []string `json:"others,omitempty"`
}

// Pair is an Application's name on both sides, and the new ApplicationSet.
type Pair struct {
	Old string `json:"old"`
	New string `json:"new"`
	Set string `json:"set"`
}

// Name returns the plain ApplicationSet's name.
func (r *Record) Name() string { return r.Old.GetName() }

// names returns the names of the fleet's ApplicationSets.
func (r *Record) names() (out []string) {
	for _, s := range r.New {
		out = append(out, s.Manifest.GetName())
	}
	slices.Sort(out)
	return out
}

const (
	// recordLabel is on the ConfigMaps of records.
	recordLabel = "argosy.dev/adopt"
	recordKey   = "record.json.gz"
)

// RecordName returns the name of the ConfigMap of an ApplicationSet's record.
func RecordName(applicationSet string) string { return "argosy-adopt-" + applicationSet }

// ConfigMap returns the ConfigMap that holds a record. It may have 1 MiB, which is enough for more
// than ten thousand Applications.
func (r *Record) ConfigMap(namespace string) (*Object, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := errors.Join(json.NewEncoder(z).Encode(r), z.Close()); err != nil {
		return nil, err
	}
	return &Object{Object: map[string]any{
		"apiVersion": "v1", "kind": kindRecord,
		"metadata":   map[string]any{"name": RecordName(r.Name()), "namespace": namespace, "labels": map[string]any{recordLabel: "record"}},
		"binaryData": map[string]any{recordKey: base64.StdEncoding.EncodeToString(packed.Bytes())},
	}}, nil
}

// ReadRecord returns the record in a ConfigMap.
func ReadRecord(from *Object) (*Record, error) {
	r := &Record{}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(manifest.Text(from.Object, "binaryData", recordKey))))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(z, 1<<30)).Decode(r)
	}
	if err != nil {
		return nil, fmt.Errorf("the record in ConfigMap %q cannot be read: %w", from.GetName(), err)
	}
	return r, nil
}

// WriteText writes a handover for people.
func (r *Record) WriteText(w io.Writer) error {
	from, to := r.Name(), strings.Join(r.names(), ", ")
	if r.Undo {
		from, to = to, from
	}
	text := fmt.Sprintf("%d Applications of %s to %s\n", len(r.Applications), from, to)
	for _, m := range r.moves()[:len(r.Applications)] {
		if text += "    " + m.from; m.isRenamed() {
			text += " becomes " + m.to
		}
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
