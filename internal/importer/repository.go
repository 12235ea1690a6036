package importer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/expand/manifest"
	"github.com/argosy-hub/argosy/internal/expand/source"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// Repository is a Git repository that can be read.
type Repository struct {
	URL      string
	Snapshot *snapshot.Snapshot
}

// Away is a repository, or a revision of it, that cannot be read.
type Away struct{ Text, Hint string }

func (a *Away) Error() string { return a.Text }

// repositories are those that ApplicationSets may read. A folder is read as it is, for the one
// revision that is named of it; a second revision is another content, which the folder has not.
type repositories struct {
	others   []Repository
	own      *snapshot.Snapshot
	urls     []string // the own repository's addresses; without any, the first that is named
	guessed  string
	at       func(revision string) (*snapshot.Snapshot, error)
	revision string // the one that the folder stands for
}

// open reads a repository at a revision.
func (r *repositories) open(repoURL, revision string) (*snapshot.Snapshot, error) {
	address := source.Address(repoURL)
	for _, other := range r.others {
		if source.Address(other.URL) == address {
			return other.Snapshot, nil
		}
	}
	if len(r.urls) == 0 && r.guessed == "" {
		r.guessed = repoURL
	}
	if !slices.ContainsFunc(append(r.urls, r.guessed), func(u string) bool { return source.Address(u) == address }) {
		return nil, &Away{
			Text: fmt.Sprintf("repository %s is not %s", source.Shown(repoURL), source.Shown(strings.Join(append(r.urls, r.guessed), ""))),
			Hint: fmt.Sprintf("--repository %s=DIR names a clone of it", source.Shown(repoURL)),
		}
	}
	switch {
	case revision == "" || revision == "HEAD" || revision == r.revision:
		return r.own, nil
	case r.at != nil:
		return r.at(revision)
	case r.revision == "":
		r.revision = revision
		return r.own, nil
	}
	return nil, &Away{
		Text: fmt.Sprintf("repository %s is read at the revisions %s and %s, and a folder has one", source.Shown(repoURL), r.revision, revision),
		Hint: "--from takes a clone, which has both",
	}
}

// applicationSet is one of the repository.
type applicationSet struct {
	name string
	tree tree
	pos  problem.Pos
}

// applicationSets finds those of the repository and of the files given, in order of their place.
func (m *importer) applicationSets() []applicationSet {
	var out []applicationSet
	seen := map[string]problem.Pos{}
	files := slices.Clone(m.o.ApplicationSets)
	if len(files) == 0 {
		for _, p := range m.o.Snapshot.Paths() {
			files = append(files, m.o.Snapshot.File(p))
		}
	}
	for _, f := range files {
		if !manifest.IsFile(f.Path) || !bytes.Contains(f.Data, []byte("ApplicationSet")) {
			continue
		}
		docs, err := manifest.Documents(f)
		for _, doc := range docs {
			root, _ := doc.Root.Any().(tree)
			for _, t := range objects(root) {
				s := applicationSet{name: manifest.Text(t, "metadata", "name"), tree: t, pos: doc.Pos(doc.Root)}
				switch first, twice := seen[s.name]; {
				case manifest.Text(t, "kind") == "Application" && strings.HasPrefix(manifest.Text(t, "apiVersion"), "argoproj.io/"):
					m.report(s.pos, fmt.Sprintf("Application %q", s.name), "no ApplicationSet makes it: it stays as it is")
				case manifest.Text(t, "kind") != "ApplicationSet" || !strings.HasPrefix(manifest.Text(t, "apiVersion"), "argoproj.io/"):
				case twice:
					m.report(s.pos, fmt.Sprintf("ApplicationSet %q", s.name), "is there twice, the first counts: "+first.String())
				default:
					seen[s.name] = s.pos
					out = append(out, s)
				}
			}
		}
		if line := kindLine(f.Data); err != nil && line > 0 {
			m.report(problem.Pos{File: f.Path, Line: line}, "the file", "is no YAML, as a template of a chart: "+oneLine(err.Error()),
				"render it (helm template), and give the output: --applicationsets FILE")
		}
	}
	return out
}

// kindLine is the first line that says that there is an ApplicationSet; 0 if none does.
func kindLine(data []byte) int {
	for i, line := range strings.Split(string(data), "\n") {
		if strings.TrimSpace(line) == "kind: ApplicationSet" {
			return i + 1
		}
	}
	return 0
}

func oneLine(text string) string {
	return problem.Truncate(strings.Join(strings.Fields(text), " "), 300)
}
