// Package sign has cosign sign what a release consists of: by a key, or, without one, by the
// identity of the workflow that runs (keyless, in sigstore's public transparency log).
package sign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Files of signatures beside the checksums, which cover all other files.
const (
	Checksums  = "checksums.txt"
	Signature  = "checksums.txt.sigstore.json"
	Provenance = "checksums.txt.provenance.sigstore.json"
)

// Cosign is the program, and what it signs with.
type Cosign struct {
	Program  string
	Key      string // a private key; none is keyless
	Insecure bool   // the registry speaks HTTP, as one on this machine does
}

// Release signs the checksums of a folder, and the provenance of what they name.
func (c Cosign) Release(ctx context.Context, dir, provenance string) error {
	checksums := filepath.Join(dir, Checksums)
	return errors.Join(
		c.run(ctx, append([]string{"sign-blob", "--yes", "--bundle", filepath.Join(dir, Signature)}, c.keyed(checksums)...)...),
		c.run(ctx, append([]string{"attest-blob", "--yes", "--type", "slsaprovenance1", "--predicate", provenance, "--bundle", filepath.Join(dir, Provenance)}, c.keyed(checksums)...)...),
	)
}

// Reference signs something in a registry, by digest, and attests predicates: type -> file.
func (c Cosign) Reference(ctx context.Context, reference string, predicates map[string]string) error {
	if err := c.run(ctx, append([]string{"sign", "--yes", "--recursive"}, c.remote(reference)...)...); err != nil {
		return err
	}
	for kind, file := range predicates {
		if err := c.run(ctx, append([]string{"attest", "--yes", "--type", kind, "--predicate", file}, c.remote(reference)...)...); err != nil {
			return err
		}
	}
	return nil
}

func (c Cosign) keyed(last string) []string {
	if c.Key == "" {
		return []string{last}
	}
	return []string{"--key", c.Key, "--tlog-upload=false", last}
}

func (c Cosign) remote(reference string) []string {
	arguments := c.keyed(reference)
	if c.Insecure {
		arguments = append([]string{"--allow-http-registry", "--allow-insecure-registry"}, arguments...)
	}
	return arguments
}

func (c Cosign) run(ctx context.Context, arguments ...string) error {
	cmd := exec.CommandContext(ctx, c.Program, arguments...) //nolint:gosec // cosign
	cmd.Env = os.Environ()                                   // COSIGN_PASSWORD, and the workflow's identity
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cosign %s: %w\n%s", arguments[0], err, out)
	}
	return nil
}
