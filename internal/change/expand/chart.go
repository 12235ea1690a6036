package expand

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// chart returns a source's chart with everything that Argo CD gives Helm: value files, then values,
// then parameters. A remote chart has no folder.
func (h *Hub) chart(o *object.Object, s source.Source, f *source.Folder) (*source.Chart, error) {
	c := &source.Chart{
		Name: s.Name(), ReleaseName: cmp.Or(manifest.Text(s.Helm, "releaseName"), o.Name()),
		Namespace:   cmp.Or(manifest.Text(s.Helm, "namespace"), manifest.Text(o.Tree, "spec", "destination", "namespace")),
		KubeVersion: cmp.Or(manifest.Text(s.Helm, "kubeVersion"), h.o.KubeVersion), APIVersions: manifest.Strings(s.Helm["apiVersions"]),
	}
	if f != nil {
		c.Name = f.Dir
		files, err := source.ChartFiles(f)
		if err != nil {
			return nil, err
		}
		c.Files = files
	}
	if len(c.APIVersions) == 0 {
		c.APIVersions = h.o.APIVersions
	}
	c.SkipCRDs, _ = s.Helm["skipCrds"].(bool)
	c.SkipTests, _ = s.Helm["skipTests"].(bool)
	c.SkipSchema, _ = s.Helm["skipSchemaValidation"].(bool)
	optional, _ := s.Helm["ignoreMissingValueFiles"].(bool)
	for _, name := range manifest.Strings(s.Helm["valueFiles"]) {
		values, file, err := h.valueFile(o, s, f, name)
		switch {
		case err != nil:
			return nil, err
		case file == nil && f != nil && strings.ContainsAny(name, "*?[{"):
			return nil, source.NotFollowed{Text: fmt.Sprintf("value files by a pattern, which Argo CD 3.6 takes, are not followed: %s", name)}
		case file != nil && slices.Contains(c.Own, file):
			continue // Argo CD 3.6 reads it once, 2.14 again
		case file != nil:
			values.Text, values.Path = string(file.Data), file.Path
			c.Own = append(c.Own, file)
		case values == source.Values{} && optional:
			continue
		case values == source.Values{} && f != nil && !strings.HasPrefix(name, "$"):
			return nil, fmt.Errorf("value file %s is not in %s", name, f.Dir)
		case values == source.Values{}:
			return nil, fmt.Errorf("value file %s is not there", name)
		}
		values.Optional = optional
		c.Values = append(c.Values, values)
	}
	// Argo CD lets valuesObject win over values as a whole, even when it is empty.
	if object, ok := s.Helm["valuesObject"].(manifest.Tree); ok {
		c.Values = append(c.Values, source.Values{Text: string(manifest.Canonical(object))})
	} else if v := manifest.Text(s.Helm, "values"); v != "" {
		c.Values = append(c.Values, source.Values{Text: v})
	}
	for _, v := range s.Values {
		c.Values = append(c.Values, source.Values{Text: v})
	}
	if files, _ := s.Helm["fileParameters"].([]any); len(files) > 0 {
		return nil, source.NotFollowed{Text: "helm.fileParameters is not followed", Hint: "a value file is"}
	}
	parameters, _ := s.Helm["parameters"].([]any)
	for _, p := range parameters {
		forced, _ := cmp.Or(manifest.At(p, "forceString"), manifest.At(p, "forcestring")).(bool) // as the image updater writes it
		c.Parameters = append(c.Parameters, source.Parameter{Name: manifest.Text(p, "name"), Value: s.Substituted(o.Tree, manifest.Text(p, "value")), ForceString: forced})
	}
	return c, nil
}

// valueFile finds a value file: relative to the chart, with a leading slash relative to its
// repository, with $REF in another source of the Application, or at a URL. It returns a file of
// this repository, which may be nil, or the place of a remote one.
func (h *Hub) valueFile(o *object.Object, s source.Source, f *source.Folder, name string) (source.Values, *snapshot.File, error) {
	var snap *snapshot.Snapshot
	var p string
	of := s                                                // the source whose repository the file is in
	if !strings.HasPrefix(name, "$") || len(s.Field) < 3 { // the only source has no ref
		name = s.Substituted(o.Tree, name)
	}
	switch scheme, _, isURL := strings.Cut(name, "://"); {
	case isURL && h.o.Tools.Remote == nil:
		return source.Values{}, nil, source.NotFollowed{Text: fmt.Sprintf("value file %s is not in this repository, and not followed: --render reads it", source.Shown(name))}
	case isURL && scheme != "http" && scheme != "https":
		return source.Values{}, nil, fmt.Errorf("value file %s: Argo CD reads none by %s", source.Shown(name), scheme)
	case isURL:
		return source.Values{URL: name}, nil, nil
	case strings.HasPrefix(name, "$"):
		ref, rest, _ := strings.Cut(name[1:], "/")
		i := slices.IndexFunc(o.Sources(), func(s source.Source) bool { return s.Ref != "" && s.Ref == ref })
		if i < 0 {
			return source.Values{}, nil, fmt.Errorf("value file %s: no source of the Application has ref %s", name, ref)
		}
		of, p = o.Sources()[i], path.Clean(s.Substituted(o.Tree, rest))
		var missing string
		if snap, missing = h.revision(of); missing != "" {
			return source.Values{}, nil, fmt.Errorf("value file %s: %s", name, missing)
		}
		if snap == nil && h.o.Tools.Remote == nil {
			return source.Values{}, nil, source.NotFollowed{Text: fmt.Sprintf("value file %s is in another repository, which is not followed: --render reads it", name)}
		}
	case s.Chart != "":
		return source.Values{File: path.Clean(strings.TrimPrefix(name, "/"))}, nil, nil
	case strings.HasPrefix(name, "/"):
		p = strings.TrimPrefix(path.Clean(name), "/")
	default:
		p = path.Join(s.Path, name)
	}
	if f != nil && snap == nil && !strings.HasPrefix(name, "$") {
		snap = f.Snapshot
	}
	clean, err := snapshot.CleanPath(p)
	if err != nil {
		return source.Values{}, nil, fmt.Errorf("value file %s: %w", name, err)
	}
	if snap == nil {
		return source.Values{At: &source.Place{RepoURL: of.RepoURL, Revision: of.Revision, Path: clean}}, nil, nil
	}
	file := snap.File(clean)
	if file != nil && file.Err != nil {
		return source.Values{}, nil, file.Err
	}
	return source.Values{}, file, nil
}
