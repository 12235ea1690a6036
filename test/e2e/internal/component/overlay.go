package component

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// overlayDir is the folder of a component with the files that replace ones of a module (C8).
const overlayDir = "overlay"

// overlay are a component's files that replace ones of a module, by their paths in it.
func overlay(source string) (out []string, err error) {
	err = fs.WalkDir(os.DirFS(filepath.Join(source, overlayDir)), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return out, err
}

// withOverlay copies a component's module to a folder, with the component's own files, and returns
// the path of a go.mod that reads it there: go build -overlay replaces no files in Go's cache.
func (b *builder) withOverlay(ctx context.Context, p part, dir string) (modfile string, err error) {
	names, err := overlay(p.source)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", fmt.Errorf("%s has no files to replace ones of %s", filepath.Join(p.source, overlayDir), p.recipe.Overlay)
	}
	from, err := moduleOf(ctx, p.source, path.Join(p.recipe.Overlay, path.Dir(names[0])))
	if err != nil {
		return "", err
	}
	module := filepath.Join(dir, "module")
	if err := os.CopyFS(module, os.DirFS(from)); err != nil {
		return "", err
	}
	copies := map[string]string{"go.mod": filepath.Join(dir, "go.mod"), "go.sum": filepath.Join(dir, "go.sum")}
	for _, name := range names {
		copies[filepath.Join(overlayDir, name)] = filepath.Join(module, name)
	}
	for from, to := range copies {
		text, err := os.ReadFile(filepath.Join(p.source, from))
		if err != nil && !(from == "go.sum" && os.IsNotExist(err)) { // a module without dependencies has none
			return "", err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return "", err
		}
	}
	_, err = goOutput(ctx, p.source, "mod", "edit", "-replace="+p.recipe.Overlay+"="+module, copies["go.mod"])
	return copies["go.mod"], err
}

// moduleOf is the folder of a package's module. The package may lack a file that it embeds: then it
// gets one here.
func moduleOf(ctx context.Context, source, of string) (string, error) {
	const found = "{{with .Module}}{{.Dir}}{{end}}"
	out, err := goOutput(ctx, source, "list", "-e", "-find", "-f", found, of)
	if dir := strings.TrimSpace(string(out)); err != nil || dir != "" {
		return dir, err
	}
	_, err = goOutput(ctx, source, "list", "-find", of) // says why there is none
	if err == nil {
		err = fmt.Errorf("package %s is in no module", of)
	}
	return "", err
}
