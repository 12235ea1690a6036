// Package proven reads what runs in our proofs: test/e2e/components/proven.yaml, with the version
// of each program from the go.mod that builds it. Tests compare the catalogs, terraform/hub and the
// documents with it, and docs/reference/compatibility.md is written from it.
package proven

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// File is where the facts stand, and Keys the folder of the recorded keys, from the root.
const (
	File = "test/e2e/components/proven.yaml"
	Keys = "test/charts/testdata/chart-keys"
)

// Facts are the programs that run and the charts that install them.
type Facts struct {
	Components []Component `json:"components"`
	Charts     []Chart     `json:"charts"`
}

// A Component is a program that runs: Version is what GoMod/go.mod requires of Module.
type Component struct {
	Name    string `json:"name"`
	GoMod   string `json:"gomod"`
	Module  string `json:"module"`
	Proof   string `json:"proof"`
	Version string `json:"-"`
}

// A Chart installs programs that run.
type Chart struct {
	Name     string    `json:"name"`
	Programs []Program `json:"programs"`
	Folder   string    `json:"folder"`  // in the first program's module; empty: Recorded
	Version  string    `json:"version"` // "program" is the first program's; empty: Chart.yaml's
	Open     []string  `json:"open"`
	Recorded *Record   `json:"-"`
}

// A Program of a chart is a component. Value is the path of the value that names its version, or
// empty where the chart's own version of it is the component's.
type Program struct {
	Name      string    `json:"name"`
	Value     string    `json:"value"`
	Component Component `json:"-"`
}

// A Record is the keys of a chart that is in no module, and what they were read from.
type Record struct {
	Chart      string   `json:"chart"`
	Version    string   `json:"version"`
	AppVersion string   `json:"appVersion"`
	Read       string   `json:"read"` // a day
	Keys       []string `json:"keys"`
}

// Read reads the facts of the repository at root.
func Read(root string) (Facts, error) {
	var f Facts
	if err := decode(filepath.Join(root, File), &f); err != nil {
		return f, err
	}
	names := map[string]Component{}
	for i := range f.Components {
		c := &f.Components[i]
		text, err := os.ReadFile(filepath.Join(root, c.GoMod, "go.mod"))
		if err != nil {
			return f, fmt.Errorf("%s: %s: %w", File, c.Name, err)
		}
		required := regexp.MustCompile(`(?m)^(?:require|\t)\s*` + regexp.QuoteMeta(c.Module) + ` (v\S+)`).FindSubmatch(text)
		if required == nil {
			return f, fmt.Errorf("%s: %s: %s/go.mod does not require %s", File, c.Name, c.GoMod, c.Module)
		}
		c.Version = string(required[1])
		names[c.Name] = *c
	}
	for i := range f.Charts {
		chart := &f.Charts[i]
		for j := range chart.Programs {
			p := &chart.Programs[j]
			c, ok := names[p.Name]
			if !ok {
				return f, fmt.Errorf("%s: chart %s: program %q is not a name of components", File, chart.Name, p.Name)
			}
			p.Component = c
		}
		if chart.Folder == "" {
			chart.Recorded = new(Record)
			if err := decode(filepath.Join(root, Keys, chart.Name+".yaml"), chart.Recorded); err != nil {
				return f, fmt.Errorf("%s: chart %s has no folder, and no recorded keys: %w", File, chart.Name, err)
			}
		}
	}
	return f, nil
}

func decode(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Dir is the chart's folder in its module, which the go command takes from the module cache, or
// downloads: that module, none that it needs.
func (c Chart) Dir(ctx context.Context, root string) (string, error) {
	program := c.Programs[0].Component
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", program.Module) //nolint:gosec // a module of File
	cmd.Dir = filepath.Join(root, program.GoMod)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=auto")
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	if json.Unmarshal(out, &module) != nil || module.Dir == "" {
		return "", fmt.Errorf("chart %s is in the module %s %s, which is not in the module cache: expected a module proxy to download it from: %s: %w",
			c.Name, program.Module, program.Version, module.Error, err)
	}
	return path.Join(filepath.ToSlash(module.Dir), c.Folder), nil
}

// Release is the chart's version that installs the programs; own is the one in its Chart.yaml.
func (c Chart) Release(own string) string {
	switch {
	case c.Recorded != nil:
		return c.Recorded.Version
	case c.Version == "program":
		return strings.TrimPrefix(c.Programs[0].Component.Version, "v")
	case c.Version != "":
		return c.Version
	}
	return own
}
