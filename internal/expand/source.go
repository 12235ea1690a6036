package expand

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

const ownerHub = fleet.OwnerHub

// inCluster is the cluster that an Argo CD runs on.
const inCluster = "https://kubernetes.default.svc"

// source is one of an Application's sources, or a HelmRelease's.
type source struct {
	repoURL, revision, path, chart string
	ref                            string // the name that value files of other sources have for it
	helm, kustomize                Tree
	directory                      directory
	explicit                       []string // kinds that it has options of
	at                             []string // its path in the Application
	tree                           Tree     // as the Application has it
	several                        bool     // it is in spec.sources

	// Of Flux: what a Kustomization is built with, or a HelmRelease's values, of which the later win; and why it is not followed.
	flux   *Flux
	values []string
	err    error
}

func sources(application *Object) []source {
	if application.flux != nil {
		return []source{application.flux.source}
	}
	spec, _ := At(application.Tree, "spec").(Tree)
	list, _ := spec["sources"].([]any)
	several := len(list) > 0
	if !several {
		list = []any{spec["source"]}
	}
	var out []source
	for i, item := range list {
		at := []string{"spec", "source"}
		if several {
			at = []string{"spec", "sources", strconv.Itoa(i)}
		}
		s, ok := item.(Tree)
		if !ok {
			continue
		}
		out = append(out, sourceOf(s, several, at))
	}
	return out
}

func sourceOf(tree Tree, several bool, at []string) source {
	helm, _ := tree["helm"].(Tree)
	kustomize, _ := tree["kustomize"].(Tree)
	return source{
		repoURL: text(tree, "repoURL"), revision: text(tree, "targetRevision"), path: text(tree, "path"), chart: text(tree, "chart"), ref: text(tree, "ref"),
		helm: helm, kustomize: kustomize, directory: directoryOf(tree), explicit: explicit(tree, several), at: at, tree: tree, several: several,
	}
}

// address is what the forms of a repository's URL have in common.
func address(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	} else if host, rest, ok := strings.Cut(url, ":"); ok { // git@host:path
		url = host + "/" + rest
	}
	if user, rest, ok := strings.Cut(url, "@"); ok && !strings.Contains(user, "/") {
		url = rest
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git"))
}

// shown is a repository's URL for people, without what may be a secret.
func shown(url string) string {
	url, _, _ = strings.Cut(url, "?")
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		host, folder, _ := strings.Cut(rest, "/")
		return strings.TrimSuffix(scheme+"://"+host[strings.LastIndexByte(host, '@')+1:]+"/"+folder, "/")
	}
	return url
}

// local is the snapshot that a source's path is in; nil with an empty reason where that is none of this repository's, and
// with one where it is but cannot be had.
func (h *Hub) local(s source) (snap *snapshot.Snapshot, missing string) {
	if s.chart != "" || s.path == "" {
		return nil, ""
	}
	return h.revision(s)
}

// revision is local for a source as a whole.
func (h *Hub) revision(s source) (snap *snapshot.Snapshot, missing string) {
	tracked, ours := h.urls[address(s.repoURL)]
	switch {
	case !ours:
		return nil, ""
	case s.revision == tracked, s.revision == "", s.revision == "HEAD":
		return h.o.Snapshot, ""
	case h.o.At == nil:
		return nil, "other revisions of this repository cannot be read here"
	}
	snap, err := h.o.At(s.revision)
	if err != nil {
		return nil, oneLine(err)
	}
	return snap, ""
}

// folder is a folder of a snapshot, with what it holds.
type folder struct {
	snap  *snapshot.Snapshot
	dir   string
	files []*snapshot.File // all below it, by paths relative to the repository
	// digest is the same for folders that hold the same. Helm and kustomize tell what the folder is.
	digest          string
	helm, kustomize bool
	// lives tells that its text names kinds that expansion follows.
	lives bool
	there bool
}

type folderKey struct {
	snap *snapshot.Snapshot
	dir  string
}

func (h *Hub) folder(snap *snapshot.Snapshot, dir string) *folder {
	key := folderKey{snap, dir}
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.folders[key]; f != nil {
		return f
	}
	f := &folder{snap: snap, dir: dir}
	var digests []any
	for _, p := range snap.Under(dir) {
		file := snap.File(p)
		f.files = append(f.files, file)
		relative := below(dir, p)
		digests = append(digests, relative, file.Digest)
		f.helm = f.helm || relative == "Chart.yaml"
		f.kustomize = f.kustomize || slices.Contains(KustomizationFiles, relative)
		f.lives = f.lives || !strings.HasSuffix(p, ".md") && lives(file.Data)
	}
	f.digest = digestOf(digests...)
	f.there = len(f.files) > 0 || slices.ContainsFunc(snap.Beside().Unread, func(p string) bool { return strings.HasPrefix(p, dir+"/") })
	h.folders[key] = f
	return f
}

// below is a path relative to a folder that it is in.
func below(dir, p string) string {
	if dir == "." {
		return p
	}
	return strings.TrimPrefix(p, dir+"/")
}

// lives reports whether a text may make objects that expansion follows: they name their API.
func lives(text []byte) bool {
	return bytes.Contains(text, []byte("argoproj.io/v1")) || bytes.Contains(text, []byte(".toolkit.fluxcd.io/v"))
}

// runsOn is whose engine runs what an Application deploys.
func (h *Hub) runsOn(o *Object) string {
	if o.flux != nil {
		return cmp.Or(o.flux.cluster, o.Engine)
	}
	name, server := text(o.Tree, "spec", "destination", "name"), text(o.Tree, "spec", "destination", "server")
	switch self := h.o.State.HubMember(h.o.Hub); {
	case name == "in-cluster", name == "" && (server == inCluster || server == ""):
		return o.Engine
	case self != nil && name == self.Name:
		return ownerHub
	case name != "":
		return name
	}
	return server
}

// missingFolder is the problem of a source that names a folder which is not there.
func missingFolder(s source, where *snapshot.Snapshot) string {
	return fmt.Sprintf("path %q is not in this repository at revision %s", s.path, where.Revision)
}
