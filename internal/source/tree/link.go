package tree

import (
	"errors"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// maxLinks is how many symbolic links one path may lead through (Linux: MAXSYMLINKS, 40).
const maxLinks = 40

var (
	errOutside = errors.New("leads out of the repository")
	errLoop    = errors.New("leads in a circle")
	errMissing = errors.New("leads to nothing")
	errCircle  = errors.New("leads back to the folder that it is read for")
	errUnread  = errors.New("leads into a folder that cannot be read")
)

// target is the file or folder that a link leads to.
type target struct {
	path string
	err  error
}

// target follows a link, and remembers the result.
func (t *Tree) target(link string) (string, error) {
	known, ok := t.targets[link]
	if !ok {
		known.path, known.err = t.follow(link)
		t.targets[link] = known
	}
	return known.path, known.err
}

// contains reports whether a link is below the folder that it leads to. Such a link adds nothing:
// the snapshot already has the folder's files.
func contains(final, link string) bool { return final == "" || strings.HasPrefix(link, final+"/") }

// placement is the result of Place.
type placement struct {
	*Tree
	files  []Placed
	broken []*snapshot.File
	looked int      // entries of linked folders
	within []string // the folders that are being placed, each by a link in the one before
}

// fits reports whether what has been placed is within the limit of files.
func (o *placement) fits() bool { return len(o.files)+len(o.broken) <= o.limits.Files }

// link adds the file, or the files of the folder, that a link leads to, at a path. It returns false
// beyond the limit of files: links to folders of links multiply.
func (o *placement) link(at string, link *Node) bool {
	final, err := o.target(link.Path)
	switch {
	case errors.Is(err, errOutside):
		o.broken = append(o.broken, snapshot.Outside(at, link.Target))
		return o.fits()
	case err == nil && slices.Contains(o.within, final):
		err = errCircle
	}
	if err != nil {
		if errors.Is(err, errUnread) || errors.Is(err, errCircle) {
			entry := brokenLink(at, link.Target, err)
			entry.Folder = true
			o.broken = append(o.broken, entry)
		} else if o.limits.Wanted(at) {
			o.broken = append(o.broken, brokenLink(at, link.Target, err))
		}
		return o.fits()
	}
	if n := o.nodes[final]; n != nil {
		if o.limits.Wanted(at) {
			o.files = append(o.files, Placed{at, n})
		}
		return o.fits()
	}
	if contains(final, link.Path) {
		return true
	}
	o.within = append(o.within, final)
	defer func() { o.within = o.within[:len(o.within)-1] }()
	for _, p := range below(o.paths, final) {
		rest := strings.TrimPrefix(p, final)
		n, place := o.nodes[p], at+rest
		if o.looked++; o.looked > o.limits.Entries() {
			return false
		}
		switch {
		case Hidden(rest[1:]) || len(place) > snapshot.MaxPath:
		case n.Link:
			if !o.link(place, n) {
				return false
			}
		case o.limits.Wanted(place):
			o.files = append(o.files, Placed{place, n})
			if !o.fits() {
				return false
			}
		}
	}
	return true
}

// follow returns the file or folder that a path leads to, through any links.
func (t *Tree) follow(p string) (string, error) {
	at, rest, hops := "", strings.Split(p, "/"), 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		if !t.dirs[at] {
			return "", errMissing // a part of the path is a file
		}
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			if at == "" {
				return "", errOutside
			}
			at = parent(at)
			continue
		}
		next := path.Join(at, part)
		n := t.nodes[next]
		if n == nil || !n.Link {
			at = next
			if n == nil && !t.dirs[at] {
				switch {
				case t.isUnreadable(at):
					return "", errUnread
				case climbs(at, rest):
					// A missing path may still be known to be outside: a/../../x from a link in the
					// root.
					return "", errOutside
				}
				return "", errMissing
			}
			continue
		}
		if n.Outside {
			return "", errOutside
		}
		if hops++; hops > maxLinks {
			return "", errLoop
		}
		if strings.HasPrefix(n.Target, "/") {
			at = ""
		}
		rest = append(strings.Split(n.Target, "/"), rest...)
	}
	return at, nil
}

// climbs reports whether the rest of a path, seen from at, leads above the root, by its text only.
func climbs(at string, rest []string) bool {
	return strings.HasPrefix(path.Join(append([]string{at}, rest...)...), "..")
}

// below returns the paths below a folder; paths must be sorted.
func below(paths []string, folder string) []string {
	prefix := folder + "/"
	from := sort.SearchStrings(paths, prefix)
	to := from + sort.Search(len(paths)-from, func(i int) bool { return !strings.HasPrefix(paths[from+i], prefix) })
	return paths[from:to]
}

// brokenLink returns the entry of a link to nothing or in a circle.
func brokenLink(p, target string, err error) *snapshot.File {
	short, digest := snapshot.Target(target)
	return &snapshot.File{Path: p, Digest: "broken-link:" + err.Error() + ":" + digest, Err: problem.Problem{
		Reason: problem.MissingFile, Severity: problem.Error, Pos: problem.Pos{File: p},
		Found: `symbolic link to "` + short + `" ` + err.Error(), Expected: "a file inside the repository",
	}}
}
