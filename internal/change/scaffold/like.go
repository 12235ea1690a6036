package scaffold

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/release"
)

// Shapes lists repositories whose folders a fleet can have:
// github.com/markoskandylis/eks-fleet-management.
var Shapes = []string{shapeEKS}

const shapeEKS = "eks-fleet-management"

// Folders of that shape.
const (
	likeMembers   = "fleet/fleet-bootstrap/fleet-members"
	likeBootstrap = "fleet/fleet-bootstrap"
	likeVersions  = "fleet/bootstrap/versions"
	likeCatalogs  = "charts/application-sets/values"
)

// likeGroups holds the groups of its catalogs. The group fleet has Argosy's catalogs: they provide
// the engines of members.
var likeGroups = map[string][]string{
	"addons": {"addons", "ack"}, "monitoring": {"monitoring"}, "resources": {"resources"},
}

// MembersFolder returns the folder of the hub's member files.
func (h Installation) MembersFolder() string {
	if h.Like != "" {
		return path.Join(likeMembers, h.Hub)
	}
	return path.Join("fleet/fleet-members", h.Hub)
}

// starter describes a fleet for the texts.
type starter struct {
	Fleet
	// Group is the group of a file's ApplicationSet.
	Group string
	// IsThere says that the repository already has files of the shape.
	IsThere bool
	// Converted are its catalogs in its own format.
	Converted []string
	// Catalogs are the files of each group.
	Catalogs map[string][]string
	// Types are the releases of each group.
	Types map[string][]string
	// BootstrapFolder is a template of the folder below bootstrap.
	BootstrapFolder string
	// Projects are the tenants, each with its clusters.
	Projects []project
	// Repositories are the repositories of the charts in the fleet's own catalogs.
	Repositories []string
}

// project is a tenant with its clusters.
type project struct {
	Tenant, hub string
	clusters    []string
}

// Clusters returns the tenant's clusters in the form of charts/hub's values: the default is
// <tenant>-*.
func (p project) Clusters() string {
	isOther := func(cluster string) bool { return !strings.HasPrefix(cluster, p.Tenant+"-") }
	if isOther(p.hub) && !slices.ContainsFunc(p.clusters, isOther) {
		return "{}"
	}
	quoted := make([]string, len(p.clusters))
	for i, cluster := range p.clusters {
		quoted[i] = yamldoc.Scalar(cluster)
	}
	return "{clusters: [" + strings.Join(quoted, ", ") + "]}"
}

// SwitchedOn returns the catalog of the lowest level.
func (s starter) SwitchedOn() string {
	if s.Like != "" {
		return "addons/bootstrap/defaults/addons.yaml"
	}
	return "addons/defaults/application-sets/addons.yaml"
}

// FirstReleases returns the labels of groups whose first release has another name than the default.
func (s starter) FirstReleases() map[string]string {
	out := map[string]string{}
	for group, types := range s.Types {
		if types[0] != release.DefaultType {
			out[release.LabelOf(group)] = types[0]
		}
	}
	return out
}

// newLike adds to a repository of another system's shape the files that Argosy reads: the layout,
// the releases, the hub's installation, and the labels that the other system only assumes. It
// removes nothing of the other system.
func newLike(ctx context.Context, r Repository, f Fleet) (*Draft, error) {
	d, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	before := d.before
	if before.File(fleet.LayoutFile) != nil {
		return nil, errExists(fleet.LayoutFile)
	}
	e := newStarter(f)
	e.IsThere, e.Catalogs = true, map[string][]string{}
	if before.HasDir("resources/bootstrap/default") {
		e.BootstrapFolder = `{{ if eq .group "resources" }}default{{ else }}defaults{{ end }}`
	}
	if before.HasDir(likeCatalogs) {
		if e.Converted, err = e.convert(d); err != nil {
			return nil, err
		}
	}
	names := map[string]string{fleet.LayoutFile: "like-layout.yaml"}
	if before.File(registrationFile) == nil {
		names[registrationFile] = "fleet-secret.yaml"
	}
	if err := e.releases(d); err != nil {
		return nil, err
	}
	if len(e.FirstReleases()) > 0 {
		names["addons/bootstrap/defaults/fleet-secret/values.yaml"] = "like-releases.yaml"
	}
	d.texts(e, names)
	st, err := e.correctReleases(d)
	if err != nil {
		return nil, err
	}
	e.Projects, e.Repositories = projects(st, f.Hub), chartRepositories(st, f.Hub, d.isOwn)
	d.texts(e, map[string]string{path.Join(expand.Bootstrap, f.Hub, "argosy.yaml"): "argosy.yaml"})
	next := f.installed(fmt.Sprintf("git add . && git commit -m \"Read the fleet with Argosy\" && git push %s HEAD:%s", f.RepoURL, f.Revision))
	if replaced := append(replacedBy(before, f.Hub), e.Converted...); len(replaced) > 0 {
		next = append(next, "when Argosy has taken over: git rm -r \\", "    "+strings.Join(replaced, " \\\n      "))
	}
	return d.ready(next...)
}

// Releases returns the names of the releases of each group, in the order of the versions file; nil
// without one. The repository has the shape's folders or Argosy's own.
func Releases(s *snapshot.Snapshot) (map[string][]string, error) {
	for _, file := range []string{path.Join(likeVersions, "applicationSets.yaml"), fleet.DefaultLayout().ApplicationSets} {
		f := s.File(file)
		if f == nil {
			continue
		}
		doc, err := document(f)
		if err != nil {
			return nil, err
		}
		out := map[string][]string{}
		for _, group := range doc.Root.Get("releases").Fields() {
			for _, release := range group.Value.Items() {
				if name := release.Get("type").Text(); name != "" && !slices.Contains(out[group.Key], name) {
					out[group.Key] = append(out[group.Key], name)
				}
			}
		}
		return out, nil
	}
	return nil, nil
}

func document(f *snapshot.File) (*yamldoc.Doc, error) {
	doc, err := hierarchy.NewCache().Doc(f)
	if err != nil {
		return nil, problem.FailureOf(err, problem.InvalidYAML, problem.Pos{File: f.Path}, nothingWritten)
	}
	return doc, nil
}

// releases writes the versions files: the releases of the repository, on Argosy's charts.
func (s starter) releases(d *Draft) error {
	there, err := Releases(d.before)
	if err != nil {
		return err
	}
	for group, types := range there {
		if s.Types[group] != nil {
			s.Types[group] = types
		}
	}
	for _, name := range []string{"applicationSets.yaml", "fleetSecrets.yaml"} {
		out, err := text(name, s)
		if err != nil {
			return err
		}
		d.change("versions/"+name, out)
	}
	return nil
}

// correctReleases corrects labels that name a release which does not exist, and reports it. The new
// value is the group's first release, to which the shape's ApplicationSets fall back.
func (s starter) correctReleases(d *Draft) (*fleetstate.State, error) {
again: // what a label hid is seen in the next round
	st, err := d.state(d.after())
	if err != nil {
		return nil, err
	}
	for _, c := range st.Clusters() {
		for _, group := range slices.Sorted(maps.Keys(s.Types)) {
			label, first := release.LabelOf(group), s.Types[group][0]
			said, pos := c.Labels.All[label], c.Labels.Origins[label]
			if said == "" || slices.Contains(s.Types[group], said) || d.before.File(pos.File) == nil {
				continue
			}
			d.edit(pos.File, fmt.Sprintf("set %s by hand to %s", pos, first), func(e *yamldoc.Editor) (err error) {
				err = yamldoc.ErrForm
				e.Walk(func(path []string, line, column int, _ []string) {
					if line == pos.Line && column == pos.Column {
						err = e.Set(yamldoc.Scalar(first), path...)
					}
				})
				return err
			})
			if d.err != nil {
				return nil, d.err
			}
			d.Summary += fmt.Sprintf("set %s: %s at %s: it named %q, which is not a release, and so got the first one\n", label, first, pos, said)
			goto again
		}
	}
	return st, nil
}

// projects returns the tenants of a hub's members.
func projects(st *fleetstate.State, hub string) (out []project) {
	for _, m := range st.Fleet.Members(hub) {
		if m.IsHub || m.Tenant == "" {
			continue
		}
		at := slices.IndexFunc(out, func(p project) bool { return p.Tenant == m.Tenant })
		if at < 0 {
			at, out = len(out), append(out, project{Tenant: m.Tenant, hub: hub})
		}
		out[at].clusters = append(out[at].clusters, m.Name)
	}
	return out
}

// replacedBy returns the files and folders of the other system that Argosy's roots replace.
func replacedBy(before *snapshot.Snapshot, hub string) (out []string) {
	bootstrap := path.Join(expand.Bootstrap, hub)
	for _, dir := range []string{bootstrap, likeBootstrap} {
		for _, f := range before.FilesUnder(dir) {
			if path.Dir(f.Path) == dir && path.Ext(f.Path) == ".yaml" {
				out = append(out, f.Path)
			}
		}
	}
	for _, dir := range []string{likeVersions, likeBootstrap + "/members-application-sets", likeBootstrap + "/members-init-v2"} {
		if before.HasDir(dir) {
			out = append(out, dir)
		}
	}
	return out
}
