package source

import (
	"errors"
	"fmt"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// NotFollowed says why expansion does not follow something that does not fail in Argo CD. Hint may
// be empty.
type NotFollowed struct{ Text, Hint string }

func (e NotFollowed) Error() string { return e.Text }

// Hints returns the hint, if there is one.
func (e NotFollowed) Hints() []string {
	if e.Hint == "" {
		return nil
	}
	return []string{e.Hint}
}

// Remote reads a folder of another repository.
func (x *Folders) Remote(remote Remote, p Place) (*Folder, error) {
	snap, err := remote.At(p)
	if err != nil {
		return nil, err
	}
	if snap.File(p.Path) != nil {
		return nil, fmt.Errorf("%s is a file; expected a folder", p)
	}
	return x.Folder(snap, p.Path), nil
}

// RemoteManifests returns the objects in the manifests of a remote folder.
func RemoteManifests(f *Folder, d Directory) ([]manifest.Manifest, error) {
	files, jsonnet := d.Files(f)
	if len(jsonnet) > 0 {
		return nil, NotFollowed{Text: JsonnetNotFollowed(jsonnet)}
	}
	var out []manifest.Manifest
	for _, file := range files {
		docs, err := manifest.Objects(file)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			if tree, ok := doc.Root.Any().(manifest.Tree); ok {
				out = append(out, manifest.New(Relative(f.Dir, file.Path), manifest.Plain(tree), len(file.Data)/len(docs)))
			}
		}
	}
	return out, nil
}

// ReadValues reads remote value files. It leaves out optional ones that are missing.
func ReadValues(remote Remote, all []Values) ([]Values, error) {
	out := make([]Values, 0, len(all))
	for _, v := range all {
		var data []byte
		var err error
		switch {
		case v.URL != "":
			data, err = remote.Values(v.URL)
		case v.At != nil:
			data, err = textAt(remote, *v.At)
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
			return nil, &Unavailable{Detail: fmt.Sprintf("value file %s: %s", Shown(v.URL), away.Detail), Hint: away.Hint}
		default:
			return nil, err
		}
	}
	return out, nil
}

// textAt returns the text of a file of a remote repository.
func textAt(remote Remote, p Place) ([]byte, error) {
	snap, err := remote.At(p)
	if err != nil {
		return nil, err
	}
	file := snap.File(p.Path)
	switch {
	case file == nil:
		return nil, fmt.Errorf("value file %s is a folder", p)
	case file.Err != nil:
		return nil, Within(p, file.Err)
	}
	return file.Data, nil
}

// Within adds the place in a remote repository to an error of one of its files.
func Within(p Place, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", p, err)
}
