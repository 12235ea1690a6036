package accidents

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// hostile are accidents in one tenant's folder that look as if somebody meant them: files too large
// or too many, templates that multiply, links.
var hostile = []accident{
	{"two large files that are alike", inTenant(func(r *Repository, rng *rand.Rand, dir string) error {
		// Small in a pack, whose second is a difference to the first, and large in memory.
		text := strings.Repeat("# a line of a file that is large and alike\n", largeFile/43)
		for _, name := range []string{"dns", "web"} {
			if err := r.write(dir+"/addons/"+name+"/values.yaml", text+fmt.Sprintf("x: %d\n", rng.IntN(1000))); err != nil {
				return err
			}
		}
		return nil
	})},
	{"templates that multiply", inTenant(func(r *Repository, _ *rand.Rand, dir string) error {
		return r.writeMany(dir, 14, "values.yaml.gotmpl", "a: {{ repeat 900000 \"x\" }}{{ .cluster }}\n")
	})},
	{"an oversized file", inTenant(func(r *Repository, _ *rand.Rand, dir string) error {
		return r.writeMany(dir, 1, "values.yaml", strings.Repeat("# more\n", 300_000))
	})},
	{"50 files that cannot be read", inTenant(func(r *Repository, _ *rand.Rand, dir string) error {
		return r.writeMany(dir, 50, "values.yaml", "a: [\xff\n")
	})},
	{"32 links to a folder", inTenant(func(r *Repository, _ *rand.Rand, dir string) error {
		return r.links(dir, 32, "link-%d", "/addons/defaults")
	})},
	{"a chain of 41 links", inTenant(func(r *Repository, _ *rand.Rand, dir string) error {
		for i := range 41 {
			if err := r.link(fmt.Sprintf("%s/chain-%d.yaml", dir, i), fmt.Sprintf("%s/chain-%d.yaml", dir, i+1)); err != nil {
				return err
			}
		}
		return r.write(dir+"/chain-41.yaml", "a: 1\n")
	})},
	{"links in a circle", inTenant(func(r *Repository, _ *rand.Rand, dir string) error {
		for from, to := range map[string]string{"/a.yaml": "/b.yaml", "/b.yaml": "/a.yaml", "/itself": "/itself", "/inside": ""} {
			if err := r.link(dir+from, dir+to); err != nil {
				return err
			}
		}
		return nil
	})},
	{"a link to everything", inTenant(func(r *Repository, _ *rand.Rand, dir string) error {
		return r.link(dir+"/everything", ".")
	})},
	{"links out of the repository", inTenant(func(r *Repository, _ *rand.Rand, dir string) error {
		return r.links(dir, 2, "out-%d.yaml", "/../../../../etc/passwd")
	})},
}

// largeFile is the size of a file that is large in memory and small in a pack.
const largeFile = 24 << 20

// inTenant is an accident in one of the folders that clusters of a tenant read.
func inTenant(do func(r *Repository, rng *rand.Rand, dir string) error) func(*Repository, *rand.Rand) (string, error) {
	return func(r *Repository, rng *rand.Rand) (string, error) {
		catalogs, err := filepath.Glob(r.Path("addons/tenants/*/*"))
		if err != nil || len(catalogs) == 0 {
			return "", err
		}
		dir, err := filepath.Rel(r.dir, catalogs[rng.IntN(len(catalogs))])
		if err != nil {
			return "", err
		}
		dir = filepath.ToSlash(dir)
		if info, err := os.Stat(r.Path(dir)); err != nil || !info.IsDir() {
			return "", err
		}
		return dir, do(r, rng, dir)
	}
}

func (r *Repository) write(name, text string) error {
	if err := os.MkdirAll(path.Dir(r.Path(name)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(r.Path(name), []byte(text), 0o600)
}

// writeMany writes a file for each of some components, and a catalog that switches them on.
func (r *Repository) writeMany(dir string, n int, file, text string) error {
	var catalog strings.Builder
	catalog.WriteString("components:\n")
	for i := range n {
		if err := r.write(fmt.Sprintf("%s/addons/many-%d/%s", dir, i, file), text); err != nil {
			return err
		}
		fmt.Fprintf(&catalog, "  many-%d: {enabled: true, chart: {repoURL: https://charts.example, name: many, version: 1.0.0}}\n", i)
	}
	return r.write(dir+"/application-sets/addons.yaml.gotmpl", catalog.String())
}

func (r *Repository) links(dir string, n int, name, to string) error {
	for i := range n {
		if err := r.link(dir+"/"+fmt.Sprintf(name, i), to); err != nil {
			return err
		}
	}
	return nil
}

// link makes a symbolic link; to is a path of the repository, whose root is ".".
func (r *Repository) link(name, to string) error {
	if err := os.MkdirAll(path.Dir(r.Path(name)), 0o700); err != nil {
		return err
	}
	target, err := filepath.Rel(path.Dir("/"+name), path.Join("/", to))
	if err != nil {
		return err
	}
	if strings.Contains(to, "..") {
		target = strings.Repeat("../", 40) + "etc/passwd"
	}
	if err := os.Remove(r.Path(name)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(target, r.Path(name))
}
