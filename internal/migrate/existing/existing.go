package existing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/pipeline"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
)

// Source says where a fleet's existing repositories, clusters and objects are. Errors name the
// flags of the same names.
type Source struct {
	// From is the repository of the ApplicationSets and their value files: a folder or a Git URL.
	// Ref is the revision to read of a URL, main by default. URL is the address by which
	// ApplicationSets name it; empty for the address that they name.
	From, Ref, URL string
	// Repositories are other repositories, as URL=DIR.
	Repositories []string
	// Clusters are files of cluster Secrets, and Facts files of kind Facts. Named are clusters by
	// their names and labels alone: NAME or NAME=LABEL=VALUE.
	Clusters, Facts, Named []string
	// Context names a live hub in Kubeconfig, and Namespace is Argo CD's. Without a context no hub
	// is read.
	Context, Kubeconfig, Namespace string
	// Failed says what the command has not done if it fails.
	Failed string
}

// limits are the limits for imported repositories. They allow any file, because a generator may
// read it, and large files, because ApplicationSets with long lists are large.
var limits = source.Limits{Charts: true, AnyName: true, FileSize: 16 << 20}

// Open reads the repositories.
func (s *Source) Open(ctx context.Context) (*verify.Repositories, error) {
	out := &verify.Repositories{}
	var err error
	if s.From != "" {
		from := pipeline.Repository{Location: s.From, Ref: s.Ref, Flag: "--from"}
		if out.Own.Snapshot, err = from.Snapshot(ctx, limits); err != nil {
			return nil, err
		}
		if out.Own.URL = s.URL; s.URL == "" && git.IsURL(s.From) {
			out.Own.URL = s.From
		}
		out.Own.At = revisions(ctx, s.From)
	}
	for _, pair := range s.Repositories {
		url, dir, ok := strings.Cut(pair, "=")
		if !ok || url == "" || dir == "" {
			return nil, problem.Usage([]string{"for example --repository https://git.example.com/apps.git=../apps"}, "--repository %q: expected URL=DIR", pair)
		}
		other, err := pipeline.Repository{Location: dir, Flag: "--repository"}.Snapshot(ctx, limits)
		if err != nil {
			return nil, err
		}
		out.Others = append(out.Others, verify.Repository{URL: url, Snapshot: other, At: revisions(ctx, dir)})
	}
	return out, nil
}

// revisions reads revisions of a clone; nil for another folder.
func revisions(ctx context.Context, dir string) func(string) (*snapshot.Snapshot, error) {
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		return nil
	}
	known, away := map[string]*snapshot.Snapshot{}, map[string]*verify.Away{}
	return func(revision string) (*snapshot.Snapshot, error) {
		if at := known[revision]; at != nil {
			return at, nil
		}
		if missing := away[revision]; missing != nil {
			return nil, missing
		}
		names := git.InClone(revision)
		slices.Reverse(names) // the server's revisions come before the user's own
		at, err := git.FirstRevision(ctx, dir, limits, names...)
		if err != nil {
			away[revision] = &verify.Away{Text: fmt.Sprintf("revision %s of the repository cannot be read: %v", revision, err)}
			if !errors.Is(err, source.AmbiguousRef) {
				away[revision].Hint = "git fetch origin " + revision
			}
			return nil, away[revision]
		}
		known[revision] = at
		return at, nil
	}
}

// maxFile is the largest size of an exported file, in bytes.
const maxFile = 64 << 20

// readFiles reads files that a flag names.
func readFiles(flag string, names []string) ([]*snapshot.File, error) {
	var out []*snapshot.File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, problem.Usage(nil, "--%s: %w", flag, err)
		}
		out = append(out, snapshot.NewFile(filepath.ToSlash(name), data, maxFile))
	}
	return out, nil
}

// Generated reads the parameter sets of generators that cannot be run, by ApplicationSet; nil
// without a file.
func Generated(file string) (map[string][]any, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, problem.Usage(nil, "--generated: %w", err)
	}
	doc, err := yamldoc.Parse(file, data)
	if err != nil {
		return nil, problem.Usage(nil, "--generated: %w", err)
	}
	if len(doc.Ambiguous) > 0 { // generators have texts, and templates print numbers differently
		a := doc.Ambiguous[0]
		return nil, problem.Usage([]string{"put it in quotes"}, "--generated %s: %s without quotes is %s", a.Pos, a.Text, a.Means)
	}
	sets, ok := doc.Root.Any().(map[string]any)
	out := map[string][]any{}
	for set, elements := range sets {
		list, isList := elements.([]any)
		ok = ok && isList
		out[set] = list
	}
	if !ok {
		return nil, problem.Usage([]string{"my-applicationset: [{organization: acme, repository: shop, url: ...}]"}, "--generated %s: expected a list of parameter sets for each ApplicationSet", file)
	}
	return out, nil
}
