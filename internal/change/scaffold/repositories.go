package scaffold

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
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

// ownFile reports whether a file is the repository's, or a draft's.
func ownFile(before *snapshot.Snapshot, d *Draft) func(string) bool {
	after := with(before, d)
	return func(file string) bool { return after.File(file) != nil }
}

// sourceRepos matches the first line of a list of repositories with one element a line, of an
// AppProject or of the values of charts/hub.
var sourceRepos = regexp.MustCompile(`^( *)sourceRepos:[ \t]*(\[\])?[ \t]*$`)

// admitted returns a file of a hub's bootstrap in which each list of repositories admits one more.
func admitted(text, repoURL string) string {
	lines := strings.SplitAfter(text, "\n")
	out := make([]string, 0, len(lines)+1)
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		m := sourceRepos.FindStringSubmatch(strings.TrimRight(lines[i], "\r\n"))
		if m == nil {
			continue
		}
		indent, there := m[1]+"  ", []string{}
		for i+1 < len(lines) {
			item, is := strings.CutPrefix(strings.TrimLeft(lines[i+1], " "), "- ")
			before := lines[i+1][:len(lines[i+1])-len(strings.TrimLeft(lines[i+1], " "))]
			if !is || len(before) < len(m[1]) {
				break
			}
			indent = before
			item, _, _ = strings.Cut(strings.TrimSpace(item), " #")
			there = append(there, strings.Trim(item, `"' `))
			i++
			out = append(out, lines[i])
		}
		if bootstrap.Admit(there, repoURL) || m[2] == "" && len(there) == 0 {
			continue
		}
		if m[2] != "" {
			out[len(out)-1] = m[1] + "sourceRepos:\n"
		}
		out = append(out, indent+"- "+scalar(strings.TrimPrefix(repoURL, "oci://"))+"\n")
	}
	return strings.Join(out, "")
}

// admit adds a repository to the projects of all hubs, where their files list repositories.
func (d *Draft) admit(before *snapshot.Snapshot, hubs []string, repoURL string) {
	for _, hub := range hubs {
		own := path.Join(expand.Bootstrap, hub)
		files := append([]string{own + ".yaml"}, before.Under(own)...)
		for _, name := range files {
			f := before.File(name)
			if f == nil || f.Err != nil || path.Ext(name) != ".yaml" {
				continue
			}
			if is := admitted(string(f.Data), repoURL); is != string(f.Data) {
				d.Changes = append(d.Changes, Change{Path: name, Was: string(f.Data), Is: is})
			}
		}
	}
}
