package component

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Options say where components come from and where they go. Root is required.
type Options struct {
	Root     string            // the directory of the components' modules: test/e2e/components
	Cache    string            // where builds are kept; "" is argosy/e2e in the user's cache directory
	Progress func(line string) // gets what is built and how long it took; may be nil
	Jobs     int               // go build's -p; 0 leaves it to go
}

// Binaries are built components. Their zero value has none.
type Binaries struct {
	order    []string                     // components, as they were asked for
	dirs     map[string]string            // component → its directory in the cache
	commands map[string]map[string]string // component → command → path
}

// Build builds those of the named components that the cache does not have, one after another.
func Build(ctx context.Context, o Options, names ...string) (Binaries, error) {
	return build(ctx, o, recipes, names)
}

func build(ctx context.Context, o Options, recipes map[string]recipe, names []string) (Binaries, error) {
	b, err := newBuilder(ctx, o)
	if err != nil {
		return Binaries{}, err
	}
	parts := make([]part, 0, len(names))
	for _, name := range names {
		p, err := b.part(name, recipes[name])
		if err != nil {
			return Binaries{}, fmt.Errorf("component %q: %w", name, err)
		}
		parts = append(parts, p)
	}
	if slices.ContainsFunc(parts, part.missing) {
		if err := b.buildMissing(ctx, parts); err != nil {
			return Binaries{}, err
		}
	}
	return open(parts)
}

// Path is where a command of a built component is: "kube-apiserver", "etcd", "argocd". Where
// several components have a command of that name, it is the one asked for first; "argocd-3.6/helm"
// names one component's. It is "" where no built component has the command.
func (b Binaries) Path(command string) string {
	path, err := b.Find(command)
	if err != nil {
		return ""
	}
	return path
}

// Find is Path with a reason where the command is not there.
func (b Binaries) Find(command string) (string, error) {
	components, base := b.order, command
	if component, rest, ok := strings.Cut(command, "/"); ok {
		components, base = []string{component}, rest
	}
	for _, component := range components {
		if path, ok := b.commands[component][base]; ok {
			return path, nil
		}
	}
	return "", fmt.Errorf("command %q is not among those of the built components (%s): name its component to component.Build",
		command, strings.Join(b.order, ", "))
}

// Files is the directory of what was copied out of a component's module: "argocd-3.6" and
// "external-secrets" have crds/. It is "" where the component was not built.
func (b Binaries) Files(component string) string {
	if dir, ok := b.dirs[component]; ok {
		return filepath.Join(dir, filesDir)
	}
	return ""
}

// What a component's directory in the cache has.
const (
	binDir   = "bin"
	filesDir = "files"
)

// open reads which commands the built components have, and notes that they are in use (C7).
func open(parts []part) (Binaries, error) {
	b := Binaries{dirs: map[string]string{}, commands: map[string]map[string]string{}}
	for _, p := range parts {
		entries, err := os.ReadDir(filepath.Join(p.dir, binDir))
		if err != nil {
			return Binaries{}, fmt.Errorf("component %q: %w", p.name, err)
		}
		commands := map[string]string{}
		for _, e := range entries {
			commands[e.Name()] = filepath.Join(p.dir, binDir, e.Name())
		}
		b.order = append(b.order, p.name)
		b.dirs[p.name], b.commands[p.name] = p.dir, commands

		now := time.Now()
		_ = os.Chtimes(p.dir, now, now) // a cache that cannot be written is good enough to read
	}
	return b, nil
}

// A part is a component with its place in the cache.
type part struct {
	name   string
	source string // the directory of its go.mod
	dir    string // where its build is or will be
	recipe recipe
}

// missing tells that the part is yet to be built: its directory appears complete (C3).
func (p part) missing() bool {
	_, err := os.Stat(p.dir)
	return err != nil
}

// part finds a component's place (C2).
func (b *builder) part(name string, r recipe) (part, error) {
	source := filepath.Join(b.root, name)
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return part{}, fmt.Errorf("%w (components are directories of %s)", err, b.root)
	}
	sum, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil && !os.IsNotExist(err) { // a module without dependencies has none
		return part{}, err
	}
	h := sha256.New()
	inputs := []string{string(mod), string(sum), b.goVersion, r.String()}
	replacing, err := overlay(source)
	if err != nil {
		return part{}, err
	}
	for _, name := range replacing {
		text, err := os.ReadFile(filepath.Join(source, overlayDir, name))
		if err != nil {
			return part{}, err
		}
		inputs = append(inputs, name, string(text))
	}
	own, err := programs(source)
	if err != nil {
		return part{}, err
	}
	for _, name := range own {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return part{}, err
		}
		inputs = append(inputs, name, string(text))
	}
	for _, input := range inputs {
		fmt.Fprintf(h, "%d\n%s", len(input), input)
	}
	key := hex.EncodeToString(h.Sum(nil))[:keyLength]
	return part{name: name, source: source, dir: filepath.Join(b.cache, name+"-"+key), recipe: r}, nil
}

const keyLength = 12

// programs are a component's own Go files, by their paths in it (C1).
func programs(source string) (out []string, err error) {
	err = fs.WalkDir(os.DirFS(source), ".", func(name string, _ fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == overlayDir:
			return fs.SkipDir
		case path.Ext(name) == ".go":
			out = append(out, name)
		}
		return nil
	})
	return out, err
}
