package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/ociregistry"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
)

const (
	documentedRegistry = "ghcr.io/argosy-hub"
	securityDocument   = "SECURITY.md"
)

// forge is where releases are published: a registry, and the key that signs what is in it. Keyless
// signatures need the forge's own identity, so the release workflow alone makes those.
type forge struct {
	checkout, dir string
	host          string // of the registry
	certificate   string // of the registry
	cosign        string
	hasImage      bool // `make image-root` has written the image of the service
}

// newForge starts an empty registry, and makes a key pair.
func newForge(t *testing.T, checkout, dir string) *forge {
	t.Helper()
	f := &forge{checkout: checkout, dir: dir, cosign: tool(t, "COSIGN")}
	var key string
	f.certificate, key = shortLived(t, 24*time.Hour)
	var err error
	f.host, err = ociregistry.Start(t.Context(), f.certificate, key)
	must(t, err)
	must(t, os.MkdirAll(f.dist(), 0o700))
	_, err = os.Stat(filepath.Join(checkout, "dist", "image", "generator-plugin"))
	if f.hasImage = err == nil && plugin.FromImage(checkout) != filepath.Join(checkout, "bin", "generator-plugin"); f.hasImage {
		for _, folder := range []string{"image", "bin"} {
			must(t, os.Symlink(filepath.Join(checkout, "dist", folder), filepath.Join(f.dist(), folder)))
		}
	}
	f.run(t, f.dir, f.cosign, "generate-key-pair")
	return f
}

func (f *forge) dist() string   { return filepath.Join(f.dir, "dist") }
func (f *forge) charts() string { return f.host + "/charts" }

// env lets commands trust the registry's certificate.
func (f *forge) env() []string {
	return []string{"HOME=" + f.dir, "PATH=" + os.Getenv("PATH"), "SSL_CERT_FILE=" + f.certificate, "COSIGN_PASSWORD=", "SOURCE_DATE_EPOCH=1"}
}

// publish packages charts of a version, and pushes and signs them and the service's image, as
// `make release` and `make release-push` do.
func (f *forge) publish(t *testing.T, version string, charts ...string) {
	t.Helper()
	f.release(t, version, slices.Concat([]string{"charts"}, charts)...)
	if f.hasImage {
		f.release(t, version, "sbom", "generator-plugin")
		charts = append(charts, "generator-plugin")
	}
	f.release(t, version, slices.Concat([]string{"push", f.host}, charts)...)
}

// release runs the command that makes releases.
func (f *forge) release(t *testing.T, version string, arguments ...string) {
	t.Helper()
	f.run(t, f.checkout, filepath.Join(f.checkout, "bin", "release"), append([]string{
		"-version", "v" + version, "-dist", f.dist(), "-platforms", "linux/" + runtime.GOARCH, "-cosign", f.cosign, "-key", filepath.Join(f.dir, "cosign.key"),
	}, arguments...)...)
}

func (f *forge) run(t *testing.T, dir, program string, arguments ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, arguments...)
	cmd.Dir, cmd.Env = dir, f.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// image has the files of an image from the registry, and a program that starts the service from
// them.
func (f *forge) image(t *testing.T, reference string) (program string) {
	t.Helper()
	root := filepath.Join(f.dir, "image-root")
	f.release(t, "0.0.0", "unpack", reference, root)
	program = filepath.Join(f.dir, "generator-plugin.sh")
	text := fmt.Sprintf("#!/bin/sh\nIMAGE_ROOT='%s' exec '%s' \"$@\"\n", root, filepath.Join(f.checkout, "hack", "image-run.sh"))
	must(t, os.WriteFile(program, []byte(text), 0o700))
	return program
}

// verifyRelease runs each `cosign verify` and `verify-attestation` of SECURITY.md, by the key in
// the place of the workflow's identity. A chart that somebody else pushed to the registry fails.
func (i *installation) verifyRelease(t *testing.T) {
	t.Helper()
	commands := i.verifications(t)
	if len(commands) < 3 {
		t.Fatalf("%s verifies the image, its SBOM and the chart by %d commands", securityDocument, len(commands))
	}
	chart := ""
	for _, c := range commands {
		switch {
		case strings.Contains(c, i.forge.charts()):
			chart = c
		case !i.forge.hasImage:
			t.Logf("not run, as `make image-root` has not: %s", c)
			continue
		}
		i.run(t, i.forge.dir, c)
	}
	i.run(t, i.forge.dir, fmt.Sprintf("helm push %s/release/hub-0.1.0.tgz oci://%s/stranger", i.forge.dist(), i.forge.host))
	if out, err := i.output(t, i.forge.dir, strings.ReplaceAll(chart, i.forge.charts(), i.forge.host+"/stranger")); err == nil {
		t.Errorf("a chart that nobody signed is verified:\n%s", out)
	}
}

// verifications are the documented commands on what is in the registry.
func (i *installation) verifications(t *testing.T) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(i.checkout, securityDocument))
	must(t, err)
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		c := strings.Join(strings.Fields(line), " ")
		if strings.HasPrefix(c, "cosign verify") && strings.Contains(c, documentedRegistry) {
			c = strings.Replace(c, `--certificate-identity "$identity" --certificate-oidc-issuer "$issuer"`, "--key cosign.pub --insecure-ignore-tlog", 1)
			commands = append(commands, strings.Replace(c, documentedRegistry, i.forge.host, 1))
		}
	}
	return commands
}

// program starts the service from the image that the installed Deployment names, where there is
// one.
func (i *installation) program(t *testing.T) string {
	t.Helper()
	if !i.forge.hasImage {
		return plugin.Program(i.checkout)
	}
	deployment := i.get(t, i.hub, kube.Deployments, argocd.Namespace, "generator-plugin")
	images := imagesOf(t, deployment)
	if want := []string{i.forge.host + "/generator-plugin:0.1.0"}; !slices.Equal(images, want) {
		t.Fatalf("the Deployment has the images %v; expected %v", images, want)
	}
	return i.forge.image(t, images[0])
}

// tool is a program that `make e2e` names in a variable, or that of the PATH.
func tool(t *testing.T, variable string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	path, err := exec.LookPath(strings.ToLower(variable))
	if err != nil {
		t.Fatalf("%v: `make e2e` has one, in %s", err, variable)
	}
	return path
}
