package expand

import (
	"errors"
	"fmt"
	"path"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// What is not in this repository: it is read when it is rendered, and not before.

// name is what a source from elsewhere is, for people.
func (s source) name() string {
	if s.chart != "" {
		return fmt.Sprintf("%s %s of %s", s.chart, s.revision, shown(s.repoURL))
	}
	return Place{s.repoURL, s.revision, s.path}.String()
}

// manifests are what a part makes that is a chart, or from elsewhere. A failure is of the part alone.
func (h *Hub) manifests(p part) ([]Manifest, error) {
	return h.o.Memo.chart(p.key, func() ([]Manifest, error) {
		if p.built != nil {
			return h.o.Tools.Kustomizations.Build(h.kustomization(p.source, p.folder))
		}
		c := *p.chart
		switch {
		case p.elsewhere != nil:
			archive, err := h.o.Tools.Elsewhere.Chart(*p.elsewhere)
			if err != nil {
				return nil, err
			}
			c.Archive = &archive
		case p.git != nil:
			f, err := h.folderAt(*p.git)
			if err != nil {
				return nil, err
			}
			for _, name := range p.overrides {
				if file := f.snap.File(path.Join(f.dir, name)); file != nil {
					return nil, NotFollowed{Text: fmt.Sprintf("%s changes the source, which is not followed in another repository: %s", file.Path, *p.git)}
				}
			}
			kind, err := p.source.kind(f)
			switch {
			case err != nil:
				return nil, within(*p.git, err)
			case kind == kindKustomize:
				out, err := h.kustomizedAt(*p.git, p.source)
				return out, within(*p.git, err)
			case kind == kindDirectory:
				out, err := writtenElsewhere(f, p.source.directory)
				return out, within(*p.git, err)
			}
			if c.Files, err = chartFiles(f); err != nil {
				return nil, within(*p.git, err)
			}
		}
		var err error
		if c.Files, err = h.withDependencies(c.Files); err != nil {
			return nil, err
		}
		if c.Values, err = h.read(c.Values); err != nil {
			return nil, err
		}
		return h.o.Tools.Charts.Template(c)
	})
}

// NotFollowed is why something is not followed that does not fail in Argo CD. Hint may be empty.
type NotFollowed struct{ Text, Hint string }

func (e NotFollowed) Error() string { return e.Text }

func (e NotFollowed) hints() []string {
	if e.Hint == "" {
		return nil
	}
	return []string{e.Hint}
}

// folderAt is a folder of another repository.
func (h *Hub) folderAt(p Place) (*folder, error) {
	snap, err := h.o.Tools.Elsewhere.At(p)
	if err != nil {
		return nil, err
	}
	if snap.File(p.Path) != nil {
		return nil, fmt.Errorf("%s is a file; expected a folder", p)
	}
	return h.folder(snap, p.Path), nil
}

// within is an error of a file that is in a place of another repository.
func within(p Place, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", p, err)
}

// writtenElsewhere are the objects of a folder of another repository as they are written.
func writtenElsewhere(f *folder, d directory) ([]Manifest, error) {
	files, jsonnet := d.files(f)
	if len(jsonnet) > 0 {
		return nil, NotFollowed{Text: programs(jsonnet)}
	}
	var out []Manifest
	for _, file := range files {
		docs, err := objectsIn(file)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			if tree, ok := doc.Root.Any().(Tree); ok {
				out = append(out, NewManifest(below(f.dir, file.Path), plain(tree), len(file.Data)/len(docs)))
			}
		}
	}
	return out, nil
}

// read are values with the text of those that are elsewhere. Optional ones that are not there are left out.
func (h *Hub) read(all []Values) ([]Values, error) {
	out := make([]Values, 0, len(all))
	for _, v := range all {
		var data []byte
		var err error
		switch {
		case v.URL != "":
			data, err = h.o.Tools.Elsewhere.Values(v.URL)
		case v.At != nil:
			data, err = h.textAt(*v.At)
		default:
			out = append(out, v)
			continue
		}
		var away *Unavailable
		switch {
		case err == nil:
			out = append(out, Values{Text: string(data)})
		case errors.As(err, &away) && away.Missing && v.Optional:
		case away != nil && v.At != nil:
			return nil, &Unavailable{Detail: fmt.Sprintf("value file %s: %s", v.At, away.Detail), Hint: away.Hint}
		case away != nil:
			return nil, &Unavailable{Detail: fmt.Sprintf("value file %s: %s", shown(v.URL), away.Detail), Hint: away.Hint}
		default:
			return nil, err
		}
	}
	return out, nil
}

// textAt is a file of another repository.
func (h *Hub) textAt(p Place) ([]byte, error) {
	snap, err := h.o.Tools.Elsewhere.At(p)
	if err != nil {
		return nil, err
	}
	file := snap.File(p.Path)
	switch {
	case file == nil:
		return nil, fmt.Errorf("value file %s is a folder", p)
	case file.Err != nil:
		return nil, within(p, file.Err)
	}
	return file.Data, nil
}

// chartFiles are a folder's files by paths relative to it.
func chartFiles(f *folder) ([]*snapshot.File, error) {
	out := make([]*snapshot.File, 0, len(f.files))
	for _, file := range f.files {
		if file.Err != nil {
			return nil, file.Err
		}
		relative := *file
		relative.Path = below(f.dir, file.Path)
		out = append(out, &relative)
	}
	return out, nil
}

// wants are the questions to Elsewhere that rendering a part takes, by what is asked for.
func (h *Hub) wants(p part, into map[any]func()) {
	from := h.o.Tools.Elsewhere
	if from == nil || p.chart == nil || p.err != nil {
		return
	}
	if r := p.elsewhere; r != nil {
		into[*r] = func() { _, _ = from.Chart(*r) }
	}
	charts, _ := dependencies(p.chart.Files) // what is wrong with them is said when they are rendered
	for _, r := range charts {
		into[r] = func() { _, _ = from.Chart(r) }
	}
	places := []*Place{p.git}
	for _, v := range p.chart.Values {
		places = append(places, v.At)
		if v.URL != "" {
			into[v.URL] = func() { _, _ = from.Values(v.URL) }
		}
	}
	for _, at := range places {
		if at != nil {
			into[*at] = func() { _, _ = from.At(*at) }
		}
	}
}

// unmade names why a source makes no objects: a warning, where Argo CD goes on.
func (h *Hub) unmade(o *Object, s source, err error) {
	severity, hints := problem.Error, []string(nil)
	var beyond NotFollowed
	if errors.As(err, &beyond) {
		severity, hints = problem.Warning, beyond.hints()
	}
	h.faultAt(o, h.chartPos(o, s), severity, oneLine(err), hints...)
}

// unrendered names why a part has no objects.
func (h *Hub) unrendered(o *Object, p part, err error) {
	var away *Unavailable
	if !errors.As(err, &away) {
		h.unmade(o, p.source, err)
		return
	}
	found := problem.Problem{
		Reason: problem.ChartUnavailable, Severity: problem.Error, Pos: h.chartPos(o, p.source), Subject: fmt.Sprintf("chart %q", p.chart.Name), Found: away.Detail,
	}
	if away.Hint != "" {
		found.Hints = []string{away.Hint}
	}
	h.fault(found)
}
