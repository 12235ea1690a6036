package arch

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	module = "github.com/argosy-hub/argosy"
	root   = "../.."
)

// source is the imports of one Go file.
type source struct {
	path    string // in the repository
	test    bool
	imports []string
}

// below reports whether an import path is the prefix or below it.
func below(imported, prefix string) bool {
	return imported == prefix || strings.HasPrefix(imported, prefix+"/")
}

// sources are all Go files of the module.
func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || isModule(p)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		f, err := parser.ParseFile(token.NewFileSet(), rel, read(t, rel), parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{path: rel, test: strings.HasSuffix(p, "_test.go")}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: import %s: %w", rel, i.Path.Value, err)
			}
			s.imports = append(s.imports, name)
		}
		out = append(out, s)
		return nil
	})
	require.NoError(t, err)
	if len(out) == 0 {
		t.Fatal("no Go files found")
	}
	return out
}

// isModule reports whether a folder is a module of its own.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// read is a file of the repository.
func read(t *testing.T, rel string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(rel)))
	require.NoError(t, err)
	return data
}

// dependencies are all packages that a package links, itself included.
func dependencies(t *testing.T, pattern string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", pattern)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list -deps %s: %v", pattern, err)
	}
	return strings.Fields(string(out))
}
