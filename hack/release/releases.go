package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/hack/release/archive"
	"github.com/argosy-hub/argosy/hack/release/chart"
	"github.com/argosy-hub/argosy/hack/release/debs"
	"github.com/argosy-hub/argosy/hack/release/sbom"
)

var versions = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// release writes everything that users download into dist/release, and images beside it.
func release(ctx context.Context, o options) error {
	if !versions.MatchString(o.version) {
		return fmt.Errorf("version %q: expected vMAJOR.MINOR.PATCH", o.version)
	}
	notes, err := readNotes("CHANGELOG.md", o.version)
	if err != nil {
		return err
	}
	at, err := sourceDate()
	if err != nil {
		return err
	}
	dir := filepath.Join(o.dist, "release")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.dist, "notes.md"), notes, 0o644); err != nil {
		return err
	}
	if err := images(ctx, o); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		if err := releaseProgram(ctx, o, dir, name, at); err != nil {
			return fmt.Errorf("release %s: %w", name, err)
		}
	}
	if err := charts(ctx, o); err != nil {
		return err
	}
	return writeChecksums(dir)
}

// charts writes the packaged charts of a version, all or those that the arguments name, and its
// provenance.
func charts(_ context.Context, o options) error {
	at, err := sourceDate()
	if err != nil {
		return err
	}
	names := o.arguments
	if len(names) == 0 {
		files, err := filepath.Glob("charts/*/Chart.yaml")
		if err != nil {
			return err
		}
		for _, file := range files {
			names = append(names, filepath.Base(filepath.Dir(file)))
		}
	}
	dir := filepath.Join(o.dist, "release")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range names {
		name, content, err := chart.Package(filepath.Join("charts", name), o.plain(), at)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+"-"+o.plain()+".tgz"), content, 0o644); err != nil {
			return err
		}
	}
	return writeProvenance(o, at)
}

// sboms writes the SBOMs of programs that are built, all or those that the arguments name.
func sboms(_ context.Context, o options) error {
	at, err := sourceDate()
	if err != nil {
		return err
	}
	names := o.arguments
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(programs))
	}
	for _, name := range names {
		if err := writeSBOM(o, name, at); err != nil {
			return err
		}
	}
	return nil
}

// writeSBOM writes the SBOM of a program as it is built for the platforms.
func writeSBOM(o options, name string, at time.Time) error {
	var binaries []string
	for _, platform := range strings.Fields(o.platforms) {
		binaries = append(binaries, filepath.Join(o.dist, "bin", strings.ReplaceAll(platform, "/", "_"), name))
	}
	pins, err := debs.ReadPins(o.pins)
	if err != nil {
		return err
	}
	document, err := sbom.Write(name, o.version, at, binaries, pins)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.dist, "release", name+"_"+o.plain()+".spdx.json"), document, 0o644)
}

// releaseProgram writes a program's archives, its image as one file, and its SBOM.
func releaseProgram(ctx context.Context, o options, dir, name string, at time.Time) error {
	papers := archive.Files{}
	for _, file := range []string{"LICENSE", "README.md"} {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		papers[file] = archive.File{Content: content, Mode: 0o644}
	}
	plain := o.plain()
	for _, platform := range strings.Fields(o.platforms) {
		system, arch, _ := strings.Cut(platform, "/")
		binary, err := build(ctx, o, name, system, arch)
		if err != nil {
			return err
		}
		if err := archive.CheckProgram(binary, system, arch); err != nil {
			return fmt.Errorf("archive for %s: %w", platform, err)
		}
		files := maps.Clone(papers)
		files[name] = archive.File{Content: binary, Mode: 0o755}
		content, err := files.TarGz(at)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s_%s_%s_%s.tar.gz", name, plain, system, arch)), content, 0o644); err != nil {
			return err
		}
	}
	layout := archive.Files{}
	root := filepath.Join(o.dist, "image", name)
	err := filepath.WalkDir(root, func(file string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, file)
		layout[filepath.ToSlash(inside)] = archive.File{Content: content, Mode: 0o644}
		return err
	})
	if err != nil {
		return err
	}
	var image bytes.Buffer
	if err := layout.Tar(&image, at); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s_%s_image.tar", name, plain)), image.Bytes(), 0o644); err != nil {
		return err
	}
	return writeSBOM(o, name, at)
}

// writeChecksums writes the SHA-256 of all files of a folder as sha256sum(1) does.
func writeChecksums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(text.String()), 0o644)
}

// writeProvenance writes the predicate of SLSA's provenance (slsa.dev/spec/v1.0/provenance), which
// cosign signs together with the digest of what it is about.
func writeProvenance(o options, at time.Time) error {
	builder := "https://github.com/argosy-hub/argosy/blob/main/.github/workflows/release.yaml"
	if os.Getenv("GITHUB_ACTIONS") == "" {
		builder = "https://github.com/argosy-hub/argosy/blob/main/Makefile"
	}
	text, err := json.MarshalIndent(map[string]any{
		"buildDefinition": map[string]any{
			"buildType":          "https://github.com/argosy-hub/argosy/blob/main/Makefile#release",
			"externalParameters": map[string]any{"version": o.version},
			"resolvedDependencies": []map[string]any{{
				"uri": "git+https://github.com/argosy-hub/argosy", "digest": map[string]string{"gitCommit": o.revision},
			}},
		},
		"runDetails": map[string]any{
			"builder":  map[string]string{"id": builder},
			"metadata": map[string]string{"startedOn": at.UTC().Format(time.RFC3339)},
		},
	}, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.provenance(), text, 0o644)
}

// readNotes is the section of a version in a changelog.
func readNotes(file, version string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	heading := "## [" + strings.TrimPrefix(version, "v") + "]"
	_, section, is := bytes.Cut(text, []byte("\n"+heading))
	if !is {
		return nil, fmt.Errorf("%s: no section %s: expected the changes of the version", file, heading)
	}
	_, section, _ = bytes.Cut(section, []byte("\n")) // the date
	section, _, _ = bytes.Cut(section, []byte("\n## ["))
	return append(bytes.TrimSpace(section), '\n'), nil
}
