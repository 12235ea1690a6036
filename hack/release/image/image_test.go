package image_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/hack/release/archive"
	"github.com/argosy-hub/argosy/hack/release/image"
)

var config = image.Config{Name: "tool", Created: time.Unix(1, 0), Labels: map[string]string{"a": "b"}}

func TestSameInputsAreTheSameImage(t *testing.T) {
	var digests []string
	for range 2 {
		files := image.System(archive.Files{"usr/bin/git": {Content: []byte("git"), Mode: 0o755}, "usr/lib/x.so": {Link: "y"}})
		index, err := image.Build(config, []image.Platform{{Arch: "amd64", System: files, Binary: []byte("tool")}})
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "layout")
		if err := image.Write(dir, index); err != nil {
			t.Fatal(err)
		}
		if index, err = image.Read(dir); err != nil {
			t.Fatal(err)
		}
		digest, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest.String())
		img, err := image.Find(index, "amd64")
		if err != nil {
			t.Fatal(err)
		}
		root := filepath.Join(t.TempDir(), "root")
		if err := image.Unpack(img, root); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(root, "usr/local/bin/tool")); err != nil || string(text) != "tool" {
			t.Errorf("unpacked: %q, %v", text, err)
		}
	}
	if digests[0] != digests[1] {
		t.Errorf("two builds are %v", digests)
	}
}

// TestImageLacksNoLibrary: a program whose library is not pinned makes no image.
func TestImageLacksNoLibrary(t *testing.T) {
	program, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Skip(err)
	}
	files := image.System(archive.Files{"bin/dash": {Content: program, Mode: 0o755}})
	_, err = image.Build(config, []image.Platform{{Arch: "amd64", System: files}})
	if err == nil || !strings.Contains(err.Error(), "is not in the image: pin its package") {
		t.Errorf("got %v", err)
	}
}

func TestImageHasABound(t *testing.T) {
	noise := make([]byte, image.MaxSize+1)
	for i, x := 0, uint64(1); i < len(noise); i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		noise[i] = byte(x >> 32)
	}
	_, err := image.Build(config, []image.Platform{{Arch: "amd64", System: image.System(archive.Files{}), Binary: noise}})
	if err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("got %v", err)
	}
}
