package git

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/source"
)

// Options say which repository to read, and how. Only Location is required.
type Options struct {
	// Location is a folder, a bare repository's folder, or anything `git fetch` takes as a URL.
	Location string
	Limits   source.Limits

	// The fields below concern only Git.

	// Ref is a branch, a tag or a whole commit id. A name beginning with "refs/" and "HEAD" are
	// used as they are; any other name must not be both a branch and a tag. Default "main".
	Ref string
	// Interval is the time between two polls of the server; default one minute.
	Interval time.Duration
	// StateDir keeps the mirror across restarts. Without it, the mirror is temporary.
	StateDir string
	// Credentials is a folder with the files username and password (or only password, for tokens),
	// githubAppID, githubAppInstallationID and githubAppPrivateKey, or identity and known_hosts for
	// ssh; a mounted Secret. The files are read each time they are needed.
	Credentials string
	// Signers is a file of allowed signers (ssh-keygen(1)). With it, only commits are served that
	// one of them has signed, directly or by the tag that Ref is. Without it, any commit is.
	Signers string
	// Timeout bounds one conversation with the server; a fetch may take five times as long. Default
	// two minutes.
	Timeout time.Duration
	// Turns bounds the repositories that fetch at the same time, by its capacity; nil bounds none.
	Turns chan struct{}
}

// nameOf returns the name of a repository in errors, without credentials.
func nameOf(a address) string { return fmt.Sprintf("git %q", a.display) }

// parse reads the location and the ref.
func (o Options) parse() (address, string, error) {
	a, wrong := parseAddress(o.Location)
	ref, hint := cmp.Or(o.Ref, defaultRef), ""
	switch {
	case wrong != "" && a.url != "":
		hint = "credentials belong into the credentials folder"
	case wrong == "" && !validRef(ref):
		wrong, hint = fmt.Sprintf("ref %q is not a valid name", ref), "give a branch, a tag or a commit id"
	}
	if wrong != "" {
		return a, ref, &source.Error{Reason: source.InvalidOptions, Source: nameOf(a), Detail: wrong, Hint: hint}
	}
	return a, ref, nil
}

// IsURL reports whether Git would take the location for the address of a server: a URL with a
// scheme, the short form [user@]host:path, or helper::address.
func IsURL(location string) bool {
	if strings.Contains(location, "://") {
		return true
	}
	colon := strings.IndexByte(location, ':')
	slash := strings.IndexByte(location, '/')
	if colon <= 0 || slash >= 0 && slash < colon {
		return false
	}
	_, err := os.Stat(location) // a folder may have a colon in its name
	return err != nil
}

// IsBareRepository reports whether the folder is a Git repository without a working tree.
func IsBareRepository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() != (name != "HEAD") {
			return false
		}
	}
	return true
}
