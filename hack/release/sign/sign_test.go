package sign_test

import (
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/argosy-hub/argosy/hack/release/archive"
	"github.com/argosy-hub/argosy/hack/release/chart"
	"github.com/argosy-hub/argosy/hack/release/image"
	"github.com/argosy-hub/argosy/hack/release/sign"
)

// withKey is cosign with a new key pair in a folder.
func withKey(t *testing.T) (c sign.Cosign, public string) {
	t.Helper()
	program := os.Getenv("COSIGN")
	if program == "" {
		t.Skip("needs COSIGN: make release-test")
	}
	dir := t.TempDir()
	t.Setenv("COSIGN_PASSWORD", "")
	t.Setenv("HOME", dir)
	cmd := exec.CommandContext(t.Context(), program, "generate-key-pair")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return sign.Cosign{Program: program, Key: filepath.Join(dir, "cosign.key"), Insecure: true}, filepath.Join(dir, "cosign.pub")
}

// verify is what a user runs.
func verify(t *testing.T, c sign.Cosign, public string, arguments ...string) (string, error) {
	t.Helper()
	arguments = append([]string{arguments[0], "--key", public, "--insecure-ignore-tlog"}, arguments[1:]...)
	out, err := exec.CommandContext(t.Context(), c.Program, arguments...).CombinedOutput()
	return string(out), err
}

// TestFlippedByteFailsVerification: cosign verifies the checksums and their provenance, and neither
// when one byte of them differs.
func TestFlippedByteFailsVerification(t *testing.T) {
	c, public := withKey(t)
	dir := t.TempDir()
	checksums, provenance := filepath.Join(dir, sign.Checksums), filepath.Join(dir, "provenance.json")
	write(t, checksums, strings.Repeat("a", 64)+"  argosy_0.1.0_linux_amd64.tar.gz\n")
	write(t, provenance, `{"buildDefinition": {"buildType": "b", "externalParameters": {}}, "runDetails": {"builder": {"id": "i"}}}`)
	if err := c.Release(t.Context(), dir, provenance); err != nil {
		t.Fatal(err)
	}
	blob := []string{"verify-blob", "--bundle", filepath.Join(dir, sign.Signature), checksums}
	attestation := []string{"verify-blob-attestation", "--type", "slsaprovenance1", "--bundle", filepath.Join(dir, sign.Provenance), checksums}
	for _, arguments := range [][]string{blob, attestation} {
		if out, err := verify(t, c, public, arguments...); err != nil {
			t.Errorf("%s: %v\n%s", arguments[0], err, out)
		}
	}
	write(t, checksums, "b"+strings.Repeat("a", 63)+"  argosy_0.1.0_linux_amd64.tar.gz\n")
	for _, arguments := range [][]string{blob, attestation} {
		if out, err := verify(t, c, public, arguments...); err == nil {
			t.Errorf("%s passes with a flipped byte\n%s", arguments[0], out)
		}
	}
}

// TestCosignVerifiesImagesAndCharts pushes both to a registry, and verifies signature and
// attestation of each; what nobody has signed fails.
func TestCosignVerifiesImagesAndCharts(t *testing.T) {
	c, public := withKey(t)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	provenance := filepath.Join(t.TempDir(), "provenance.json")
	write(t, provenance, `{"buildDefinition": {"buildType": "b", "externalParameters": {}}, "runDetails": {"builder": {"id": "i"}}}`)

	push := func(binary string) string {
		index, err := image.Build(image.Config{Name: "tool", Created: time.Unix(1, 0)},
			[]image.Platform{{Arch: "amd64", System: image.System(archive.Files{}), Binary: []byte(binary)}})
		if err != nil {
			t.Fatal(err)
		}
		tag, err := name.NewTag(host + "/tool:1")
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.WriteIndex(tag, index); err != nil {
			t.Fatal(err)
		}
		digest, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return tag.Context().Digest(digest.String()).String()
	}
	tool, other := push("tool"), push("Tool")
	_, content, err := chart.Package("../../../charts/hub", "1.2.3", time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	hub, err := chart.Push(content, host+"/charts", true)
	if err != nil {
		t.Fatal(err)
	}
	insecure := []string{"--allow-http-registry", "--allow-insecure-registry"}
	for _, reference := range []string{tool, hub} {
		if err := c.Reference(t.Context(), reference, map[string]string{"slsaprovenance1": provenance}); err != nil {
			t.Fatal(err)
		}
		if out, err := verify(t, c, public, append([]string{"verify", reference}, insecure...)...); err != nil {
			t.Errorf("signature of %s: %v\n%s", reference, err, out)
		}
		if out, err := verify(t, c, public, append([]string{"verify-attestation", "--type", "slsaprovenance1", reference}, insecure...)...); err != nil {
			t.Errorf("provenance of %s: %v\n%s", reference, err, out)
		}
	}
	if out, err := verify(t, c, public, append([]string{"verify", other}, insecure...)...); err == nil {
		t.Errorf("an image with a flipped byte passes\n%s", out)
	}
}

// TestCosignKnowsTheDocumentedFlags: cosign parses each of its commands in SECURITY.md, and the
// keyless ones of a release. What they prove of an identity is seen where the workflow runs.
func TestCosignKnowsTheDocumentedFlags(t *testing.T) {
	c, _ := withKey(t)
	text, err := os.ReadFile("../../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var commands [][]string
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "cosign" && f[2][0] == '-' {
			commands = append(commands, f[1:])
		}
	}
	if len(commands) < 5 {
		t.Fatalf("SECURITY.md has %d commands of cosign", len(commands))
	}
	record := filepath.Join(t.TempDir(), "arguments") // of a cosign that only writes them down
	c.Program, c.Key, c.Insecure = filepath.Join(t.TempDir(), "cosign"), "", false
	if err := os.WriteFile(c.Program, []byte("#!/bin/sh\necho \"$@\" >>"+record+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Release(t.Context(), "dist", "p.json"), c.Reference(t.Context(), "r", map[string]string{"spdxjson": "s.json"})); err != nil {
		t.Fatal(err)
	}
	keyless, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(keyless)) {
		commands = append(commands, strings.Fields(line))
	}
	for _, arguments := range commands {
		if out, err := exec.CommandContext(t.Context(), os.Getenv("COSIGN"), append(arguments, "--help")...).CombinedOutput(); err != nil {
			t.Errorf("cosign %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
