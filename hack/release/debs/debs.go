// Package debs brings the files of pinned Debian packages into images.
//
//  1. A pin names a package's version, architecture and SHA-256. Nothing else gets into an image.
//  2. apt's own client downloads and verifies, with a state of its own in the cache folder. The
//     machine's apt is left as it is.
//  3. A folder of .deb files beside the cache serves where no archive can be reached.
package debs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ErrUnavailable says that the archive cannot be reached, or no longer has a pinned version.
var ErrUnavailable = errors.New("not to be had from the archive")

// Pin is one package.
type Pin struct{ Name, Version, Arch, SHA256 string }

// For reports whether the package belongs to images of an architecture.
func (p Pin) For(arch string) bool { return p.Arch == arch || p.Arch == "all" }

// String is the pin's line in the file of pins.
func (p Pin) String() string {
	return strings.Join([]string{p.Name, p.Version, p.Arch, p.SHA256}, " ")
}

// ReadPins reads a file of pins: lines of name, version, architecture and SHA-256.
func ReadPins(file string) (pins []Pin, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) != 4 || len(f[3]) != 2*sha256.Size {
			return nil, fmt.Errorf("%s:%d: %q: expected name, version, architecture and SHA-256", file, i+1, line)
		}
		pins = append(pins, Pin{f[0], f[1], f[2], f[3]})
	}
	return pins, nil
}

// Archive downloads packages into a cache.
type Archive struct {
	Cache  string // a folder
	Mirror string // the URL that /debian and /debian-security are below
	Local  string // a folder of .deb files that is looked into first; may be empty
}

// File is where a fetched package is.
func (a Archive) File(p Pin) string { return filepath.Join(a.Cache, p.SHA256+".deb") }

// Fetch has all packages in the cache afterwards, each as its pin says.
func (a Archive) Fetch(ctx context.Context, pins []Pin) error {
	if a.Local != "" {
		if err := a.collect(a.Local, pins); err != nil {
			return err
		}
	}
	var arguments []string
	for _, p := range a.missing(pins) {
		arguments = append(arguments, p.Name+":"+p.aptArch()+"="+p.Version)
	}
	if len(arguments) == 0 {
		return nil
	}
	if err := a.update(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(a.Cache, "download")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	_, failed := a.apt(ctx, dir, "apt-get", append([]string{"download"}, arguments...)...)
	if err := a.collect(dir, pins); err != nil {
		return err
	}
	if missing := a.missing(pins); len(missing) > 0 {
		return errors.Join(fmt.Errorf("%v (and %d more): %w: `make pins` takes today's versions", missing[0], len(missing)-1, ErrUnavailable), failed)
	}
	return nil
}

// Latest are the pins of today's versions of the same packages.
func (a Archive) Latest(ctx context.Context, pins []Pin) ([]Pin, error) {
	if err := a.update(ctx); err != nil {
		return nil, err
	}
	arguments := []string{"--no-all-versions", "show"}
	for _, p := range pins {
		arguments = append(arguments, p.Name+":"+p.aptArch())
	}
	text, err := a.apt(ctx, a.Cache, "apt-cache", arguments...)
	if err != nil {
		return nil, err
	}
	var latest []Pin
	for stanza := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		fields := map[string]string{}
		for line := range strings.Lines(stanza) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			fields[key] = value
		}
		latest = append(latest, Pin{fields["Package"], fields["Version"], fields["Architecture"], fields["SHA256"]})
	}
	slices.SortFunc(latest, func(a, b Pin) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(latest), nil
}

// aptArch is an architecture by which apt finds the package.
func (p Pin) aptArch() string {
	if p.Arch == "all" {
		return "amd64"
	}
	return p.Arch
}

func (a Archive) missing(pins []Pin) (missing []Pin) {
	for _, p := range pins {
		if _, err := os.Stat(a.File(p)); err != nil {
			missing = append(missing, p)
		}
	}
	return missing
}

// collect takes the files of a folder that are pinned into the cache.
func (a Archive) collect(dir string, pins []Pin) error {
	if err := os.MkdirAll(a.Cache, 0o755); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		i := slices.IndexFunc(pins, func(p Pin) bool { return p.SHA256 == hex.EncodeToString(sum[:]) })
		if i < 0 {
			continue
		}
		if err := os.WriteFile(a.File(pins[i])+".new", content, 0o644); err != nil {
			return err
		}
		if err := os.Rename(a.File(pins[i])+".new", a.File(pins[i])); err != nil {
			return err
		}
	}
	return nil
}

// update reads the archive's indexes, which are signed.
func (a Archive) update(ctx context.Context) error {
	for _, dir := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.Cache, dir), 0o755); err != nil {
			return err
		}
	}
	const sources = `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %[1]s/debian bookworm main
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %[1]s/debian bookworm-updates main
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %[1]s/debian-security bookworm-security main
`
	for name, text := range map[string]string{"sources.list": fmt.Sprintf(sources, a.Mirror), "status": ""} {
		if err := os.WriteFile(filepath.Join(a.Cache, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if _, err := a.apt(ctx, a.Cache, "apt-get", "-o", "APT::Update::Error-Mode=any", "update"); err != nil {
		return fmt.Errorf("%s: %w: %w", a.Mirror, ErrUnavailable, err)
	}
	return nil
}

func (a Archive) apt(ctx context.Context, dir, program string, arguments ...string) ([]byte, error) {
	cache, err := filepath.Abs(a.Cache)
	if err != nil {
		return nil, err
	}
	var options []string
	for _, o := range []string{
		"Dir::State=" + cache + "/state", "Dir::State::status=" + cache + "/status", "Dir::Cache=" + cache + "/cache",
		"Dir::Etc::sourcelist=" + cache + "/sources.list", "Dir::Etc::sourceparts=/dev/null", "Dir::Etc::preferencesparts=/dev/null",
		"Dir::Etc::preferences=/dev/null", "APT::Architectures=amd64,arm64", "APT::Sandbox::User=", "Acquire::Languages=none",
		"Acquire::Retries=3", "Acquire::http::Timeout=20",
	} {
		options = append(options, "-o", o)
	}
	return run(ctx, dir, program, append(append([]string{"-qq"}, options...), arguments...)...)
}

func run(ctx context.Context, dir, program string, arguments ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w: %s", program, err, lastLine(&stderr))
	}
	return out, nil
}

func lastLine(r io.Reader) (last string) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		last = lines.Text()
	}
	return last
}
