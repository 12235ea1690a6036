package component

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

type builder struct {
	root, cache string
	goVersion   string // with the platform
	jobs        int
	progress    func(string)
}

func newBuilder(ctx context.Context, o Options) (*builder, error) {
	if o.Root == "" {
		return nil, errors.New("component: Options.Root is required: the directory of the components' modules")
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, err
	}
	cache := o.Cache
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find a place for built components: %w", err)
		}
		cache = filepath.Join(user, "argosy", "e2e")
	}
	if cache, err = filepath.Abs(cache); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, fmt.Errorf("make a place for built components: %w", err)
	}
	if err := Require("go"); err != nil {
		return nil, err
	}
	version, err := goOutput(ctx, root, "version")
	if err != nil {
		return nil, err
	}
	b := &builder{root: root, cache: cache, goVersion: string(version), jobs: o.Jobs, progress: o.Progress}
	if b.progress == nil {
		b.progress = func(string) {}
	}
	return b, nil
}

// buildMissing builds, under the cache's lock, what is still missing once the lock is held (C4).
func (b *builder) buildMissing(ctx context.Context, parts []part) error {
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := b.sweep(); err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !p.missing() })
	for i, p := range missing {
		if err := b.build(ctx, p, fmt.Sprintf("%s (%d of %d)", p.name, i+1, len(missing))); err != nil {
			return err
		}
	}
	return nil
}

// build makes one component's directory (C3).
func (b *builder) build(ctx context.Context, p part, title string) error {
	began := time.Now()
	b.progress("building " + title)
	dir, err := os.MkdirTemp(b.cache, unfinished)
	if err != nil {
		return fmt.Errorf("build component %s: %w", p.name, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	if err := b.assemble(ctx, p, dir, title); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build component %s: ended after %s: %w", p.name, since(began), context.Cause(ctx))
		}
		return fmt.Errorf("build component %s: %w", p.name, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // MkdirTemp's is 0700
		return fmt.Errorf("build component %s: %w", p.name, err)
	}
	if err := os.Rename(dir, p.dir); err != nil {
		return fmt.Errorf("build component %s: %w", p.name, err)
	}
	b.progress(fmt.Sprintf("built %s in %s", title, since(began)))
	return b.forget(p)
}

// assemble fills the directory that becomes the component's.
func (b *builder) assemble(ctx context.Context, p part, dir, title string) error {
	bin, beside := filepath.Join(dir, binDir), filepath.Join(dir, filesDir)
	for _, d := range []string{bin, beside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	text, err := goOutput(ctx, p.source, "mod", "edit", "-json")
	if err != nil {
		return err
	}
	var mod modFile
	if err := json.Unmarshal(text, &mod); err != nil {
		return fmt.Errorf("read what `go mod edit -json` says: %w", err)
	}
	ldflags, err := p.recipe.ldflags(mod)
	if err != nil {
		return err
	}
	// Without what debuggers read, which the linker would leave out anyway: 6 % of a build's
	// processor time.
	args := []string{"build", "-trimpath", "-gcflags", "all=-dwarf=false", "-ldflags", ldflags}
	if b.jobs > 0 {
		args = append(args, "-p", fmt.Sprint(b.jobs))
	}
	if p.recipe.Overlay != "" {
		replaced, err := os.MkdirTemp("", "argosy-component-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(replaced) }()
		modfile, err := b.withOverlay(ctx, p, replaced)
		if err != nil {
			return err
		}
		args = append(args, "-modfile", modfile)
	}
	args = append(args, "-o", bin+string(filepath.Separator), "tool")
	if err := b.goBuild(ctx, p.source, args, title); err != nil {
		return err
	}
	for _, from := range sortedKeys(p.recipe.Rename) {
		to := p.recipe.Rename[from]
		if err := os.Rename(filepath.Join(bin, from), filepath.Join(bin, to)); err != nil {
			return fmt.Errorf("rename the command that go build calls %q to %q: %w", from, to, err)
		}
	}
	for _, f := range p.recipe.Files {
		module, err := goOutput(ctx, p.source, "list", "-m", "-f", "{{.Dir}}", f.Module)
		if err != nil {
			return err
		}
		if err := f.copyFiles(strings.TrimSpace(string(module)), beside); err != nil {
			return fmt.Errorf("copy files of %s: %w", f.Module, err)
		}
	}
	return nil
}

// unfinished begins the name of a directory that is being filled.
const unfinished = ".building-"

// sweep removes what killed runs left. The lock is held: nobody is building.
func (b *builder) sweep() error {
	left, err := filepath.Glob(filepath.Join(b.cache, unfinished+"*"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove what an interrupted build left: %w", err)
		}
	}
	return nil
}

// kept is how many builds of a component stay in the cache (C7).
const kept = 3

// forget removes builds of the component that were used longest ago.
func (b *builder) forget(p part) error {
	entries, err := os.ReadDir(b.cache)
	if err != nil {
		return err
	}
	mine := regexp.MustCompile(`^` + regexp.QuoteMeta(p.name) + fmt.Sprintf(`-[0-9a-f]{%d}$`, keyLength))
	used := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && mine.MatchString(e.Name()) {
			used[filepath.Join(b.cache, e.Name())] = info.ModTime()
		}
	}
	used[p.dir] = time.Now()
	newest := slices.SortedFunc(maps.Keys(used), func(x, y string) int { return used[y].Compare(used[x]) })
	for _, dir := range newest[min(kept, len(newest)):] {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove an old build: %w", err)
		}
	}
	return nil
}

// modFile is the part of `go mod edit -json` read here.
type modFile struct {
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// version the module is built at.
func (m modFile) version(module string) (string, bool) {
	for _, r := range m.Replace {
		if r.Old.Path == module && r.New.Version != "" {
			return r.New.Version, true
		}
	}
	for _, r := range m.Require {
		if r.Path == module {
			return r.Version, true
		}
	}
	return "", false
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func since(t time.Time) time.Duration { return time.Since(t).Round(time.Second) }
