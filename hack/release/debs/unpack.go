package debs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/argosy-hub/argosy/hack/release/archive"
)

// kept are the files that a service needs of its packages: Git over HTTPS and SSH, their
// libraries, and each package's licence. Git starts its ssh command and credential helper by sh.
var kept = []string{
	"bin/dash", "bin/sh", "usr/bin/git", "usr/bin/ssh", "usr/bin/ssh-keygen",
	"usr/lib/git-core/git-remote-http", "usr/lib/git-core/git-remote-https",
	"lib/*/*.so*", "usr/lib/*/*.so*", "lib/*.so*", "lib64/*.so*",
	"etc/os-release", "usr/lib/os-release", "etc/debian_version",
	"usr/share/doc/*/copyright", "usr/share/ca-certificates/mozilla/*.crt",
}

const certificates = "usr/share/ca-certificates/mozilla/"

// Unpack adds a package's files, and its entry in dpkg's status, by which scanners know it.
func Unpack(ctx context.Context, file string, p Pin, files archive.Files) error {
	data, err := run(ctx, "", "dpkg-deb", "--fsys-tarfile", file)
	if err != nil {
		return err
	}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		name := path.Clean(h.Name)
		if h.Typeflag == tar.TypeDir || !isKept(name) {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		switch {
		case strings.HasPrefix(name, certificates):
			// What update-ca-certificates makes of them, which no script can here.
			bundle := files["etc/ssl/certs/ca-certificates.crt"]
			files["etc/ssl/certs/ca-certificates.crt"] = archive.File{Content: append(bundle.Content, content...), Mode: 0o644}
		case h.Typeflag == tar.TypeSymlink:
			files[name] = archive.File{Link: h.Linkname}
		case h.Typeflag == tar.TypeReg:
			files[name] = archive.File{Content: content, Mode: h.Mode & 0o755}
		default:
			return fmt.Errorf("%s: %s: expected a file or a symbolic link", file, name)
		}
	}
	control, err := run(ctx, "", "dpkg-deb", "--field", file)
	if err != nil {
		return err
	}
	files["var/lib/dpkg/status.d/"+p.Name] = archive.File{Content: control, Mode: 0o644}
	return nil
}

func isKept(name string) bool {
	for _, pattern := range kept {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}
