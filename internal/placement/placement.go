package placement

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/mount"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
)

// Placement is where a cluster's files are.
type Placement struct {
	Facts tmpl.Facts // without the hierarchy's labels
	Roots map[string]string
	Dirs  map[string][]hierarchy.Dir // by group; those of one root may be one slice
	// Broken are problems that leave folders out.
	Broken []problem.Problem
}

// New computes the levels' folders of every group, from the facts without the hierarchy's labels.
func New(f *fleet.Fleet, mounts *mount.Table, m *fleet.Member, known facts.Cluster) *Placement {
	l, refused := labels.Compute(labels.Input{
		Kind: labels.Label, Live: known.Labels, Declared: slices.Concat(m.FlagLabels, m.Labels), Reserved: reserved(m),
	})
	a, _ := labels.Compute(labels.Input{Kind: labels.Annotation, Live: known.Annotations, Declared: annotations(f, m, nil)})
	p := &Placement{Facts: templateFacts(m, known).WithLabels(l.All, a.All), Roots: map[string]string{}, Dirs: map[string][]hierarchy.Dir{}}
	levels := f.Layout.LevelsOf(m)
	own := levels.Reads("group") // else groups of one root have the same folders
	byRoot := map[string][]hierarchy.Dir{}
	for _, name := range f.Layout.GroupNames() {
		root := f.Root(m, name)
		if byRoot[root] == nil || own {
			dirs, err := levels.Dirs(p.Facts.With(name, "", root), m.Absent()...)
			if err != nil {
				p.Broken = append(p.Broken, atMember(m, problem.From(err, problem.TemplateFailed, m.Pos))...)
				continue
			}
			p.Broken = append(p.Broken, inTenants(f.Layout, m, name, root, dirs)...)
			byRoot[root] = dirs
		}
		dirs, err := mounts.Levels(m, name, byRoot[root], func(root string) map[string]any { return p.Facts.With(name, "", root) })
		p.Broken = append(p.Broken, problem.From(err, problem.InvalidLayout, m.Pos)...)
		p.Roots[name], p.Dirs[name] = root, dirs
	}
	if len(p.Broken) > 0 { // most likely for want of a label that is declared, but refused: that is to fix
		p.Broken = slices.Concat(refused, p.Broken)
	}
	return p
}

// atMember puts what a member lacks for a level at its file, beside the level's place.
func atMember(m *fleet.Member, all []problem.Problem) []problem.Problem {
	for i, p := range all {
		if p.Reason == problem.MissingLayer {
			all[i].Pos, all[i].Related = m.Pos, slices.Concat(p.Related, []problem.Pos{p.Pos})
		}
	}
	return all
}

// inTenants are the problems of levels of the platform that a label or annotation of a member's
// file puts into a tenant's folder: its files would count as the platform's (W1).
func inTenants(l *fleet.Layout, m *fleet.Member, group, root string, dirs []hierarchy.Dir) (out []problem.Problem) {
	for _, d := range dirs {
		if tenant := l.TenantAt(d.Level, d.Path, root); tenant != "" && !m.IsHub {
			out = append(out, problem.Problem{
				Reason: problem.ForbiddenFolder, Severity: problem.Error, Pos: m.Pos, Subject: fmt.Sprintf("level %q of group %q", d.Level, group),
				Found: fmt.Sprintf("its folder %s lies in the folder of tenant %q", d.Path, tenant), Expected: "a folder of the platform",
				Hints: []string{"a label, an annotation or another key of the member chooses it"},
			})
		}
	}
	return out
}

// HasAny reports whether the folder of any level is one of some folders; false for nil.
func (p *Placement) HasAny(folders map[string]bool) bool {
	if p == nil {
		return false
	}
	for _, dirs := range p.Dirs {
		if slices.ContainsFunc(dirs, func(d hierarchy.Dir) bool { return folders[d.Path] }) {
			return true
		}
	}
	return false
}

// templateFacts are what templates see, with labels and annotations to be added.
func templateFacts(m *fleet.Member, known facts.Cluster) tmpl.Facts {
	return tmpl.Facts{
		"name": m.Name, "cluster": m.Name, "hub": m.Hub, "tenant": m.Tenant, "environment": m.Environment,
		"server": known.Server, "model": m.Model(), "member": m.Content(),
	}
}
