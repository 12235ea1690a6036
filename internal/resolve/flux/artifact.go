package flux

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// Media types of an artifact that `flux push artifact` makes (fluxcd/pkg/oci, v0.68).
const (
	ManifestType = "application/vnd.oci.image.manifest.v1+json"
	ConfigType   = "application/vnd.cncf.flux.config.v1+json"
	LayerType    = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// Blob has bytes with their digest.
type Blob struct {
	MediaType string
	Digest    string // sha256:<hex>
	Data      []byte
}

func newBlob(mediaType string, data []byte) Blob {
	sum := sha256.Sum256(data)
	return Blob{mediaType, "sha256:" + hex.EncodeToString(sum[:]), data}
}

// Artifact is an OCI artifact.
type Artifact struct {
	Manifest, Config, Layer Blob
	// LeftOut are the errors of clusters that the artifact leaves out.
	LeftOut []problem.Problem
	// Objects are the HelmReleases and Kustomizations that it deploys.
	Objects []Object
}

type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

func (b Blob) descriptor() descriptor { return descriptor{b.MediaType, b.Digest, len(b.Data)} }

// Pack makes an artifact of files: same files, same digests.
func Pack(files []File) (Artifact, error) {
	content, err := archive(files)
	if err != nil {
		return Artifact{}, err
	}
	var layer bytes.Buffer
	z := gzip.NewWriter(&layer) // its header has neither a name nor a time
	if _, err := z.Write(content); err != nil {
		return Artifact{}, err
	}
	if err := z.Close(); err != nil {
		return Artifact{}, err
	}
	a := Artifact{Layer: newBlob(LayerType, layer.Bytes())}
	config, err := json.Marshal(map[string]any{
		"architecture": "", "os": "", "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{newBlob("", content).Digest}},
	})
	if err != nil {
		return Artifact{}, err
	}
	a.Config = newBlob(ConfigType, config)
	manifest, err := json.Marshal(struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        descriptor   `json:"config"`
		Layers        []descriptor `json:"layers"`
	}{2, ManifestType, a.Config.descriptor(), []descriptor{a.Layer.descriptor()}})
	a.Manifest = newBlob(ManifestType, manifest)
	return a, err
}

// archive returns files as tar, all with the same time and without an owner.
func archive(files []File) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	seen := map[string]bool{}
	for _, f := range files {
		if dir, _, found := strings.Cut(f.Name, "/"); found && !seen[dir] {
			seen[dir] = true
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}); err != nil {
				return nil, err
			}
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Mode: 0o644, Size: int64(len(f.Data)), ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("file %s: %w", f.Name, err)
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("file %s: %w", f.Name, err)
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// Build renders and packs what an engine runs. The error is a problem.List of what Flux cannot
// express.
func Build(st *fleetstate.State, hub, owner string) (Artifact, error) {
	owned, err := OwnedBy(st, hub, owner)
	if err != nil {
		return Artifact{}, err
	}
	return BuildOwned(owned)
}

// BuildOwned is Build for an Owned that the caller has computed.
func BuildOwned(owned Owned) (Artifact, error) {
	files, problems := Render(owned)
	if files == nil {
		return Artifact{}, problem.List(problem.Errors(problems))
	}
	a, err := Pack(files)
	a.LeftOut, a.Objects = problem.Errors(problems), objectsOf(files)
	return a, err
}
