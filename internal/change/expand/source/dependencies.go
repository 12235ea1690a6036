package source

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// Dependencies returns the charts that a chart names and does not have in its folder: Argo CD and
// Flux fetch them. Their versions are from Chart.lock, else from Chart.yaml; requirements.yaml of
// Helm 2 is not read. A dependency without a repository is an error.
func Dependencies(files []*snapshot.File) ([]Reference, error) {
	named, err := dependenciesIn(files, "Chart.yaml")
	if err != nil || len(named) == 0 {
		return nil, err
	}
	locked, err := dependenciesIn(files, "Chart.lock")
	if err != nil {
		return nil, err
	}
	var out []Reference
	for _, d := range named {
		name, repository, version := manifest.Text(d, "name"), manifest.Text(d, "repository"), manifest.Text(d, "version")
		if slices.ContainsFunc(files, func(f *snapshot.File) bool { return bundled(f.Path, name) }) {
			continue
		}
		if i := slices.IndexFunc(locked, func(l manifest.Tree) bool {
			return manifest.Text(l, "name") == name && manifest.Text(l, "repository") == repository
		}); i >= 0 {
			version = manifest.Text(locked[i], "version")
		}
		switch scheme, _, _ := strings.Cut(repository, "://"); scheme {
		case "https", "http", "oci":
			// One chart may have two aliases.
			if r := (Reference{RepoURL: repository, Name: name, Version: version}); !slices.Contains(out, r) {
				out = append(out, r)
			}
		default:
			return nil, NotFollowed{Text: fmt.Sprintf("dependency %s is not in the chart's folder, and its repository %q is not followed", name, Shown(repository))}
		}
	}
	return out, nil
}

// bundled reports whether a chart's file belongs to a dependency, packed or not.
func bundled(p, name string) bool {
	rest, ok := strings.CutPrefix(p, "charts/"+name)
	return ok && (strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "-") && path.Ext(rest) == ".tgz" && !strings.Contains(rest, "/"))
}

func dependenciesIn(files []*snapshot.File, name string) ([]manifest.Tree, error) {
	i := slices.IndexFunc(files, func(f *snapshot.File) bool { return f.Path == name })
	if i < 0 {
		return nil, nil
	}
	doc, err := yamldoc.Parse(name, files[i].Data)
	if err != nil {
		return nil, err
	}
	all, _ := manifest.At(doc.Root.Any(), "dependencies").([]any)
	var out []manifest.Tree
	for _, d := range all {
		if tree, ok := d.(manifest.Tree); ok {
			out = append(out, tree)
		}
	}
	return out, nil
}

// Fetched returns a remote chart that something else has. An error names it.
func Fetched(remote Remote, what string, r Reference) (Archive, error) {
	archive, err := remote.Chart(r)
	var away *Unavailable
	if errors.As(err, &away) {
		err = &Unavailable{Detail: fmt.Sprintf("%s %s %s of %s: %s", what, r.Name, r.Version, Shown(r.RepoURL), away.Detail), Hint: away.Hint}
	}
	return archive, err
}

// WithDependencies adds to a chart's files the archives of the dependencies that are not in its
// folder.
func WithDependencies(remote Remote, files []*snapshot.File) ([]*snapshot.File, error) {
	wanted, err := Dependencies(files)
	if err != nil || len(wanted) == 0 {
		return files, err
	}
	if remote == nil {
		return nil, NotFollowed{fmt.Sprintf("dependency %s is not in the chart's folder", wanted[0].Name), "--render fetches it"}
	}
	out := slices.Clone(files)
	for _, r := range wanted {
		archive, err := Fetched(remote, "dependency", r)
		if err != nil {
			return nil, err
		}
		data, err := archive.Open()
		if err != nil {
			return nil, err
		}
		out = append(out, &snapshot.File{Path: fmt.Sprintf("charts/%s-%s.tgz", r.Name, archive.Version), Data: data, Digest: archive.Digest})
	}
	return out, nil
}
