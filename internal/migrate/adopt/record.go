package adopt

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// Tree is an object as encoding/json decodes it.
type Tree = manifest.Tree

// Record is a handover: the manifests of both sides, and its direction.
type Record struct {
	// Old is the plain ApplicationSet as it was.
	Old Tree `json:"old"`
	// New are the fleet's ApplicationSets that get its Applications.
	New          []Set  `json:"new"`
	Applications []Pair `json:"applications"`
	// Undo says that the Applications go back. Done means that the last step is done.
	Undo bool `json:"undo,omitempty"`
	Done bool `json:"done,omitempty"`
}

// Set is an ApplicationSet of the fleet.
type Set struct {
	Manifest Tree `json:"manifest"`
	// All are the names of all Applications that it creates.
	All []string `json:"all"`
	// Rest are the names that it keeps when the others are given back.
	Rest []string `json:"rest,omitempty"`
}

// Pair is an Application on both sides: its name and its normalised spec there.
type Pair struct {
	Old     string `json:"old"`
	New     string `json:"new"`
	Set     string `json:"set"` // the new ApplicationSet
	OldSpec Tree   `json:"oldSpec"`
	NewSpec Tree   `json:"newSpec"`
	// OldMetadata and NewMetadata are labels and annotations.
	OldMetadata Tree `json:"oldMetadata"`
	NewMetadata Tree `json:"newMetadata"`
	// Synced says whether it was synced before the handover. Objects are the objects that it
	// deploys.
	Synced  bool     `json:"synced"`
	Objects []string `json:"objects"`
}

// Name returns the plain ApplicationSet's name.
func (r *Record) Name() string { return nameOf(r.Old) }

func nameOf(t Tree) string { return manifest.Text(t, "metadata", "name") }

// Renamed counts the Applications that have another name on the other side.
func (r *Record) Renamed() (n int) {
	for _, p := range r.Applications {
		if p.Old != p.New {
			n++
		}
	}
	return n
}

// close ends a handover to the fleet.
func (r *Record) close() {
	r.Done = true
	for i := range r.New {
		r.New[i].Rest = nil
	}
}

const (
	// recordLabel is on the ConfigMaps of a record, with the ApplicationSet's name as its value.
	recordLabel = "argosy.dev/adopt"
	// chunk is how much of a record one ConfigMap holds; the API server takes 1 MiB.
	chunk = 700 << 10
)

// RecordName returns the name of the first ConfigMap of an ApplicationSet's record.
func RecordName(applicationSet string) string { return "argosy-adopt-" + applicationSet }

// ConfigMaps returns the ConfigMaps that hold a record. The first one is written last: it holds
// their number and the digest of their content.
func (r *Record) ConfigMaps(namespace string) ([]Tree, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := json.NewEncoder(z).Encode(r); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	parts := slices.Collect(slices.Chunk(packed.Bytes(), chunk))
	digest := manifest.Digest(packed.Bytes())
	var out []Tree
	for i, part := range parts {
		name := RecordName(r.Name())
		if i > 0 {
			name = fmt.Sprintf("%s.%s.%d", name, digest[:8], i)
		}
		data := Tree{"parts": strconv.Itoa(len(parts)), "digest": digest}
		if i == 0 {
			data["applicationSet"] = r.Name()
		}
		out = append(out, Tree{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": Tree{"name": name, "namespace": namespace, "labels": Tree{recordLabel: r.label()}},
			"data":     data, "binaryData": Tree{"record.json.gz": base64.StdEncoding.EncodeToString(part)},
		})
	}
	slices.Reverse(out)
	return out, nil
}

// label returns a label value for the ApplicationSet's name, which may be longer than a label
// allows.
func (r *Record) label() string {
	if len(r.Name()) <= 63 {
		return r.Name()
	}
	return "sha-" + manifest.Digest(r.Name())
}

// ReadRecord returns the record in the ConfigMaps of a namespace; nil if there is none.
func ReadRecord(applicationSet string, maps map[string]Tree) (*Record, error) {
	first := maps[RecordName(applicationSet)]
	if first == nil {
		return nil, nil
	}
	fail := func(err error) (*Record, error) {
		return nil, fmt.Errorf("the record in ConfigMap %q cannot be read: %w", RecordName(applicationSet), err)
	}
	count, err := strconv.Atoi(manifest.Text(first, "data", "parts"))
	if err != nil {
		return fail(err)
	}
	digest := manifest.Text(first, "data", "digest")
	var packed []byte
	for i := range count {
		part := first
		if i > 0 && len(digest) > 8 {
			part = maps[fmt.Sprintf("%s.%s.%d", RecordName(applicationSet), digest[:8], i)]
		}
		data, err := base64.StdEncoding.DecodeString(manifest.Text(part, "binaryData", "record.json.gz"))
		if err != nil {
			return fail(err)
		}
		packed = append(packed, data...)
	}
	if manifest.Digest(packed) != digest {
		return fail(fmt.Errorf("%d parts do not have the digest %s", count, digest))
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fail(err)
	}
	var out Record
	if err := json.NewDecoder(io.LimitReader(z, 1<<30)).Decode(&out); err != nil {
		return fail(err)
	}
	return &out, nil
}
