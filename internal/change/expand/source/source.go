package source

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// Source is one of an Application's sources, or the source of one of Flux's objects.
type Source struct {
	RepoURL, Revision, Path, Chart string
	Ref                            string // the name that value files of other sources have for it
	Helm, Kustomize                manifest.Tree
	Directory                      Directory
	Explicit                       []string      // kinds for which it has options
	Field                          []string      // its path in the Application
	tree                           manifest.Tree // as the Application has it
	several                        bool          // it is in spec.sources

	// Flux is what a Kustomization of Flux adds to the build. Values are a HelmRelease's, the later
	// win. Err says why the source is not followed.
	Flux   *Flux
	Values []string
	Err    error
}

// Of returns the sources of an Application.
func Of(application manifest.Tree) []Source {
	spec, _ := manifest.At(application, "spec").(manifest.Tree)
	if spec["sourceHydrator"] != nil {
		return []Source{{Err: NotFollowed{Text: "spec.sourceHydrator is not followed"}}}
	}
	list, _ := spec["sources"].([]any)
	several := len(list) > 0
	if !several {
		list = []any{spec["source"]}
	}
	var out []Source
	for i, item := range list {
		at := []string{"spec", "source"}
		if several {
			at = []string{"spec", "sources", strconv.Itoa(i)}
		}
		s, ok := item.(manifest.Tree)
		if !ok {
			continue
		}
		out = append(out, sourceOf(s, several, at))
	}
	return out
}

func sourceOf(tree manifest.Tree, several bool, at []string) Source {
	helm, _ := tree["helm"].(manifest.Tree)
	kustomize, _ := tree["kustomize"].(manifest.Tree)
	return Source{
		RepoURL: manifest.Text(tree, "repoURL"), Revision: manifest.Text(tree, "targetRevision"), Path: manifest.Text(tree, "path"), Chart: manifest.Text(tree, "chart"), Ref: manifest.Text(tree, "ref"),
		Helm: helm, Kustomize: kustomize, Directory: directoryOf(tree), Explicit: explicit(tree, several), Field: at, tree: tree, several: several,
	}
}

// Name returns the name of a remote source for messages.
func (s Source) Name() string {
	if s.Chart != "" {
		return fmt.Sprintf("%s %s of %s", s.Chart, s.Revision, Shown(s.RepoURL))
	}
	return Place{s.RepoURL, s.Revision, s.Path}.String()
}

// Ports are the default ports by scheme: an address need not name them.
var Ports = map[string]string{"http": "80", "https": "443", "oci": "443", "ssh": "22", "git": "9418"}

// Address returns what the forms of a repository's URL have in common: the host and the path. The
// port of SSH is none of it, as HTTPS has another one.
func Address(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		if host, path, ok := strings.Cut(url, ":"); ok { // git@host:path
			url = host + "/" + path
		}
		rest = url
	}
	host, path, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') && (scheme == "ssh" || host[at+1:] == Ports[scheme]) {
		host = host[:at]
	}
	if path = strings.TrimSuffix(strings.Trim(path, "/"), ".git"); path != "" {
		host += "/" + path
	}
	return strings.ToLower(host)
}

// Shown returns a repository's URL for messages, without parts that may be secret.
func Shown(url string) string {
	url, _, _ = strings.Cut(url, "?")
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		host, folder, _ := strings.Cut(rest, "/")
		return strings.TrimSuffix(scheme+"://"+host[strings.LastIndexByte(host, '@')+1:]+"/"+folder, "/")
	}
	return url
}

// Substituted returns a text with the variables of the build environment that an Application gives
// a source. Only Argo CD knows the commit: its variables stay. (2.14 has no project's.)
func (s Source) Substituted(application manifest.Tree, text string) string {
	known := map[string]string{
		"$": "$", "ARGOCD_APP_NAME": manifest.Text(application, "metadata", "name"),
		"ARGOCD_APP_NAMESPACE":    manifest.Text(application, "spec", "destination", "namespace"),
		"ARGOCD_APP_PROJECT_NAME": manifest.Text(application, "spec", "project"),
		"ARGOCD_APP_SOURCE_PATH":  s.Path, "ARGOCD_APP_SOURCE_REPO_URL": s.RepoURL, "ARGOCD_APP_SOURCE_TARGET_REVISION": s.Revision,
	}
	return os.Expand(text, func(name string) string {
		if strings.HasPrefix(name, "ARGOCD_APP_REVISION") {
			return "$" + name
		}
		return known[name]
	})
}

// WithVariables returns a source whose options of kustomize have these variables substituted, as
// far as Argo CD does that.
func (s Source) WithVariables(application manifest.Tree) Source {
	keys := []string{"images", "commonLabels"}
	if s.Kustomize["commonAnnotationsEnvsubst"] == true {
		keys = append(keys, "commonAnnotations")
	}
	s.Kustomize = maps.Clone(s.Kustomize)
	for _, key := range keys {
		switch of := s.Kustomize[key].(type) {
		case []any:
			out := make([]any, len(of))
			for i, image := range manifest.Strings(of) {
				out[i] = s.Substituted(application, image)
			}
			s.Kustomize[key] = out
		case manifest.Tree:
			out := manifest.Tree{}
			for name, value := range of {
				out[name] = s.Substituted(application, fmt.Sprint(value))
			}
			s.Kustomize[key] = out
		}
	}
	return s
}
