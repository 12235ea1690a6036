package pipeline

import (
	"encoding/json"
	"sync"

	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/argocd"
	"github.com/argosy-hub/argosy/internal/change/expand/helm"
	"github.com/argosy-hub/argosy/internal/change/expand/kustomize"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// tools render what the tests compare. They share renderings: a commit changes few, and a plan
// with shortcuts and one without render the same.
var tools = expand.Tools{ApplicationSets: argocd.New(), Charts: &renderedOnce{Charts: helm.New(), done: map[string]func() ([]manifest.Manifest, error){}}, Kustomizations: kustomize.Kustomizations{}}

// renderedOnce renders a chart with the same values once.
type renderedOnce struct {
	source.Charts
	mu   sync.Mutex
	done map[string]func() ([]manifest.Manifest, error)
}

func (r *renderedOnce) Template(c source.Chart) ([]manifest.Manifest, error) {
	how := c
	how.Files, how.Own = nil, nil
	files := make([]string, 0, 2*len(c.Files))
	for _, f := range c.Files {
		files = append(files, f.Path, f.Digest)
	}
	key, err := json.Marshal([]any{how, files})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	render, is := r.done[string(key)]
	if !is {
		render = sync.OnceValues(func() ([]manifest.Manifest, error) { return r.Charts.Template(c) })
		r.done[string(key)] = render
	}
	r.mu.Unlock()
	return render()
}
