// Command release makes what users install: images, archives, charts, and the papers that prove
// what they are. The Makefile calls it in the checkout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/hack/release/debs"
)

// exitUnavailable tells CI that something outside cannot be reached (EX_TEMPFAIL of sysexits.h).
const exitUnavailable = 75

// options are those of all commands.
type options struct {
	version, revision, dist, cache, mirror, local, pins string
	platforms, cosignProgram, key                       string
	insecure                                            bool
	arguments                                           []string
}

var commands = map[string]struct {
	help string
	run  func(context.Context, options) error
}{
	"image":     {"write the images as OCI layouts into dist", images},
	"unpack":    {"write an image's files of this architecture: unpack LAYOUT|REFERENCE FOLDER", unpack},
	"debs":      {"download the pinned Debian packages; status 75 says that they are not to be had", fetch},
	"pins":      {"pin today's versions of the Debian packages", updatePins},
	"release":   {"write archives, images, charts, SBOMs and checksums of a version into dist", release},
	"charts":    {"write the charts of a version, and its provenance, into dist: charts [NAME...]", charts},
	"sbom":      {"write the SBOMs of programs that are built into dist: sbom [NAME...]", sboms},
	"sign":      {"sign the checksums of a release, and its provenance", signRelease},
	"push":      {"push images and charts, and sign them: push REGISTRY [NAME...]", push},
	"licenses":  {"look for licences that are not allowed in what both programs are made of", licenses},
	"vulncheck": {"compare what govulncheck finds with an OpenVEX document: vulncheck GOVULNCHECK DATABASE STATEMENTS", vulncheck},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, debs.ErrUnavailable):
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(exitUnavailable)
	case err != nil:
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	var o options
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&o.version, "version", "", "version, with its v")
	flags.StringVar(&o.revision, "revision", "", "commit of the checkout")
	flags.StringVar(&o.dist, "dist", "dist", "folder of the results")
	flags.StringVar(&o.cache, "cache", "", "folder for downloads")
	flags.StringVar(&o.mirror, "mirror", "", "Debian's archive: the URL that /debian and /debian-security are below")
	flags.StringVar(&o.local, "debs", "", "folder of .deb files to take instead of downloading")
	flags.StringVar(&o.pins, "pins", filepath.Join("hack", "release", "debs.txt"), "file of the pinned packages")
	flags.StringVar(&o.platforms, "platforms", "", "platforms of the archives, for example \"linux/amd64 darwin/arm64\"")
	flags.StringVar(&o.cosignProgram, "cosign", "cosign", "the cosign command")
	flags.StringVar(&o.key, "key", "", "private key to sign with; none is keyless")
	flags.BoolVar(&o.insecure, "insecure", false, "the registry speaks HTTP")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	command, is := commands[flags.Arg(0)]
	if !is {
		var help strings.Builder
		for _, name := range slices.Sorted(maps.Keys(commands)) {
			fmt.Fprintf(&help, "\n  %s: %s", name, commands[name].help)
		}
		return fmt.Errorf("command %q: expected one of%s", flags.Arg(0), help.String())
	}
	o.arguments = flags.Args()[1:]
	return command.run(ctx, o)
}

// plain is the version as images and charts have it.
func (o options) plain() string { return strings.TrimPrefix(o.version, "v") }

// provenance is the file of what is attested of a release.
func (o options) provenance() string { return filepath.Join(o.dist, "provenance.json") }

func (o options) archive() debs.Archive {
	return debs.Archive{Cache: filepath.Join(o.cache, "debs"), Mirror: o.mirror, Local: o.local}
}
