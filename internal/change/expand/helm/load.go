package helm

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// maxLoaded bounds the cached charts, by the bytes of their files.
const maxLoaded = 64 << 20

// Charts renders charts with Helm. New makes it; it may be used by several goroutines.
type Charts struct {
	mu     sync.Mutex
	loaded map[string]*loaded // by keyOf
	size   int
}

// loaded is a chart that has been read. Rendering works on copies.
type loaded struct {
	chart *chart.Chart
	// random means that its templates may make something at random.
	random bool
	// mu guards definitions: the custom resource definitions by file, the same for all releases.
	mu          sync.Mutex
	definitions map[*chart.File][]manifest.Manifest
}

// load reads a chart, or returns it from the cache.
func (h *Charts) load(c source.Chart) (*loaded, error) {
	key := keyOf(c)
	h.mu.Lock()
	known := h.loaded[key]
	h.mu.Unlock()
	if known != nil {
		return known, nil
	}
	read, err := read(c)
	if err != nil {
		return nil, err
	}
	if missing := missing(read); missing != "" {
		return nil, fmt.Errorf("dependency %s is not in the chart", missing)
	}
	out := &loaded{chart: read, random: mayBeRandom(read), definitions: map[*chart.File][]manifest.Manifest{}}
	size := sizeOf(read)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.size += size; h.size > maxLoaded || h.loaded == nil {
		h.loaded, h.size = map[string]*loaded{}, size
	}
	h.loaded[key] = out
	return out, nil
}

func keyOf(c source.Chart) string {
	if c.Archive != nil {
		return c.Archive.Digest
	}
	var key strings.Builder
	for _, f := range c.Files {
		key.WriteString(f.Path + "\x00" + f.Digest + "\x00")
	}
	return key.String()
}

func read(c source.Chart) (*chart.Chart, error) {
	if c.Archive != nil {
		data, err := c.Archive.Open()
		if err != nil {
			return nil, err
		}
		return checked(loader.LoadArchive(bytes.NewReader(data)))
	}
	files, err := files(c.Files)
	if err != nil {
		return nil, err
	}
	return checked(loader.LoadFiles(files))
}

// checked returns an error for a chart that Helm does not install.
func checked(c *chart.Chart, err error) (*chart.Chart, error) {
	switch {
	case err != nil:
		return nil, err
	case c.Metadata.Type != "" && c.Metadata.Type != "application":
		return nil, errors.New("is a chart of type " + c.Metadata.Type + ", which is not deployed by itself")
	}
	return c, nil
}

// missing returns the first dependency that a chart names and does not include.
func missing(c *chart.Chart) string {
	for _, d := range c.Metadata.Dependencies {
		found := false
		for _, has := range c.Dependencies() {
			found = found || has.Name() == d.Name
		}
		if !found {
			return d.Name
		}
	}
	return ""
}

func sizeOf(c *chart.Chart) int {
	size := 0
	for _, f := range c.Raw {
		size += len(f.Data)
	}
	for _, d := range c.Dependencies() {
		size += sizeOf(d)
	}
	return size
}

// copyOf returns a copy of a chart that rendering may change: rendering switches dependencies off,
// and imports their values.
func copyOf(c *chart.Chart) *chart.Chart {
	out, metadata := *c, *c.Metadata
	metadata.Dependencies = nil
	for _, d := range c.Metadata.Dependencies {
		own := *d
		own.ImportValues = append([]any(nil), d.ImportValues...)
		metadata.Dependencies = append(metadata.Dependencies, &own)
	}
	out.Metadata = &metadata
	out.Values = runtime.DeepCopyJSON(c.Values)
	var dependencies []*chart.Chart
	for _, d := range c.Dependencies() {
		dependencies = append(dependencies, copyOf(d))
	}
	out.SetDependencies(dependencies...)
	return &out
}

// crds returns the definitions of a copy and of its enabled dependencies. They do not count towards
// a rendering's size.
func (l *loaded) crds(own *chart.Chart) ([]manifest.Manifest, error) {
	var out []manifest.Manifest
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, crd := range own.CRDObjects() {
		found, known := l.definitions[crd.File]
		if !known {
			var err error
			if found, err = decode(strings.TrimPrefix(crd.Filename, own.Name()+"/"), string(crd.File.Data), false); err != nil {
				return nil, err
			}
			for i := range found {
				found[i].Size = 0
			}
			l.definitions[crd.File] = found
		}
		out = append(out, found...)
	}
	return out, nil
}

// randomly matches the functions of Helm and sprig whose result differs each time.
var randomly = regexp.MustCompile(`\b(rand[A-Z]\w+|uuidv4|gen(PrivateKey|CA|SelfSigned|Signed)\w*|bcrypt|htpasswd|encryptAES|shuffle|now)\b`)

func mayBeRandom(c *chart.Chart) bool {
	for _, t := range c.Templates {
		if path.Base(t.Name) != "NOTES.txt" && randomly.Match(t.Data) {
			return true
		}
	}
	for _, d := range c.Dependencies() {
		if mayBeRandom(d) {
			return true
		}
	}
	return false
}
