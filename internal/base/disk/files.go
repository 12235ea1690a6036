package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Replacement replaces the content of a file, unless the file has changed meanwhile.
type Replacement struct {
	Name    string
	Was, Is []byte
}

// ErrChanged means that a file has changed since its writer read it.
var ErrChanged = errors.New("someone else has changed it in the meantime")

// UnfinishedError names the files that WriteAll has written and could not restore.
type UnfinishedError struct{ New, Changed []string }

func (e *UnfinishedError) Error() string {
	var undo []string
	if len(e.Changed) > 0 {
		undo = append(undo, "git checkout -- "+strings.Join(e.Changed, " "))
	}
	if len(e.New) > 0 {
		undo = append(undo, "git clean -fd -- "+strings.Join(e.New, " "))
	}
	return "a part is written; to undo it: " + strings.Join(undo, " && ")
}

// WriteAll writes new files below dir and then replaces others, all of them or none, unless the
// process is killed meanwhile. None of the new files may exist: the error names the files that
// exist and wraps fs.ErrExist. It wraps ErrChanged if a file has changed, and an UnfinishedError if
// some files could not be restored. WriteAll writes nothing outside of dir, even through symbolic
// links.
func WriteAll(dir string, files map[string][]byte, replacements []Replacement) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write below %s: %w", dir, err)
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	names := slices.Sorted(maps.Keys(files))
	var taken []string
	for _, name := range names {
		if _, err := root.Lstat(name); err == nil {
			taken = append(taken, name)
		}
	}
	if len(taken) > 0 {
		return fmt.Errorf("%s: %w", strings.Join(taken, ", "), fs.ErrExist)
	}
	replacements = slices.Clone(replacements)
	for i, r := range replacements {
		replacements[i].Name = target(dir, r.Name)
		now, err := root.ReadFile(replacements[i].Name)
		if err == nil && !bytes.Equal(now, r.Was) {
			err = ErrChanged
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	w := &written{root: root}
	for _, name := range names {
		if err == nil {
			err = w.create(name, files[name])
		}
	}
	for _, r := range replacements {
		if err == nil {
			err = w.replace(r)
		}
	}
	if err != nil {
		err = errors.Join(err, w.undo())
	}
	return err
}

// target returns the file that a name leads to. For a link below dir that is the link's target, so
// that the link stays. Any other name is returned unchanged.
func target(dir, name string) string {
	base, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return name
	}
	file, err := filepath.EvalSymlinks(filepath.Join(base, name))
	if err != nil {
		return name
	}
	if rel, err := filepath.Rel(base, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return name // an access outside of dir fails
}

// written records what a WriteAll has written so far.
type written struct {
	root     *os.Root
	folders  []string
	files    []string
	replaced []Replacement
}

func (w *written) create(name string, data []byte) error {
	made, err := makeFolders(w.root, path.Dir(name))
	w.folders = append(w.folders, made...)
	if err == nil {
		err = create(w.root, name, data)
	}
	if err == nil {
		w.files = append(w.files, name)
	}
	return err
}

func (w *written) replace(r Replacement) error {
	info, err := w.root.Stat(r.Name)
	if err == nil {
		err = replace(w.root, r.Name, r.Is, info.Mode().Perm())
	}
	if err == nil {
		w.replaced = append(w.replaced, Replacement{Name: r.Name, Is: r.Was})
	}
	return err
}

// undo restores replaced files, and removes new files with their folders.
func (w *written) undo() error {
	left := &UnfinishedError{}
	for _, r := range slices.Clone(w.replaced) {
		if w.replace(r) != nil {
			left.Changed = append(left.Changed, r.Name)
		}
	}
	for _, name := range w.files {
		if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			left.New = append(left.New, name)
		}
	}
	for _, folder := range slices.Backward(w.folders) {
		_ = w.root.Remove(folder) // fails, as intended, if the folder is not empty
	}
	if len(left.New)+len(left.Changed) > 0 {
		return left
	}
	return nil
}
