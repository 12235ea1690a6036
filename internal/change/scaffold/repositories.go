package scaffold

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/bootstrap"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// chartRepositories returns the repositories that a hub's catalogs name, as Argo CD's projects list
// them. IsOwn limits them to the fleet's own files, or includes Argosy's catalogs.
func chartRepositories(st *fleetstate.State, hub string, isOwn func(file string) bool) []string {
	var out []string
	add := func(chart *yamldoc.Node) {
		if url := chart.Get("repoURL"); !url.IsNull() && url.Text() != "" && !strings.Contains(url.Text(), "{{") {
			out = append(out, strings.TrimPrefix(url.Text(), "oci://"))
		}
	}
	for m, c := range st.Clusters() {
		if m.Hub != hub {
			continue
		}
		for _, g := range c.Desired().Groups {
			for _, l := range g.Catalogs {
				entries := catalog.Entries(l.Root)
				if entries == nil || !isOwn(l.Path) {
					continue
				}
				for _, f := range entries.Fields() {
					add(f.Value.Get("chart"))
					if companions := f.Value.Get(catalog.KeyCompanions); companions.IsMap() {
						for _, companion := range companions.Fields() {
							add(companion.Value.Get("chart"))
						}
					}
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isOwn reports whether a file is the repository's, or the draft's.
func (d *Draft) isOwn(file string) bool { return d.after().File(file) != nil }

// admit adds a repository to the lists of the projects of all hubs: AppProjects, and the values of
// charts/hub. Files that are not YAML, as a chart's templates, stay.
func (d *Draft) admit(hubs []string, repoURL string) {
	for _, hub := range hubs {
		own := path.Join(expand.Bootstrap, hub)
		for _, name := range append([]string{own + ".yaml"}, d.before.Under(own)...) {
			f := d.before.File(name)
			if f == nil || f.Err != nil || path.Ext(name) != ".yaml" {
				continue
			}
			var is strings.Builder
			for _, document := range documents(string(f.Data)) {
				is.WriteString(admitted(name, document, repoURL))
			}
			if is.String() != string(f.Data) {
				d.change(name, is.String())
			}
		}
	}
}

// documents returns the documents of a file.
func documents(text string) (out []string) {
	for line := range strings.Lines(text) {
		if len(out) == 0 || yamldoc.Separates(line) {
			out = append(out, "")
		}
		out[len(out)-1] += line
	}
	return out
}

// admitted returns a document in which each list of repositories admits one more.
func admitted(file, text, repoURL string) string {
	e, err := yamldoc.NewEditor(file, text)
	if err != nil {
		return text
	}
	e.Walk(func(path []string, _, _ int, there []string) {
		if there != nil && path[len(path)-1] == "sourceRepos" && !bootstrap.Admit(there, repoURL) {
			err = errors.Join(err, e.Insert(yamldoc.Scalar(strings.TrimPrefix(repoURL, "oci://")), false, path...))
		}
	})
	if err != nil || strings.TrimSuffix(e.String(), "\n") == text {
		return text
	}
	return e.String()
}
