package lint

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/bootstrap"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/companion"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/team"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// deployed is a component that a hub's engine deploys.
type deployed struct {
	group, component, tenant string
	pos                      problem.Pos
	// noChart says what the catalogs lack of its chart, if anything.
	noChart string
	// repositories are the repositories of its charts. A team's component has none here: it has a
	// project of its own.
	repositories []string
}

// deploys records a component of a cluster that the hub's engine deploys.
func (l *linter) deploys(m *fleet.Member, group, component string, r fleetstate.Component) {
	if m.Owner(group) != fleet.OwnerHub || component == fleetstate.Registration {
		return
	}
	missing, _ := r.Entry.Incomplete(r.Chart, true)
	var repositories []string
	if r.EntryTree.Root.Get(team.KeyTeam).IsNull() {
		repositories = append(companion.Repositories(r.Companions), r.Chart.RepoURL)
	}
	l.deployed[m.Hub] = append(l.deployed[m.Hub], deployed{group, component, m.Tenant, r.EntryTree.Root.Pos(), missing, repositories})
}

// deployment reports components that no root deploys, as far as the roots of the hubs can be
// followed.
func (l *linter) deployment() {
	for _, name := range l.st.Fleet.Hubs() {
		if l.st.HubEngine(name) == fleet.EngineFlux {
			continue // it has no roots
		}
		h := l.rootsOf(name)
		if !h.Any {
			h.withoutRoots()
			continue
		}
		h.queries()
		h.releases()
		h.repositories()
		h.charts()
		if h.Open {
			continue
		}
		h.notDeployed()
		h.projects()
		h.reaches()
		h.admits()
	}
}

// hubRoots holds the roots of a hub.
type hubRoots struct {
	*bootstrap.Roots
	l   *linter
	hub string
}

// rootsOf returns the roots of a hub, which it follows only once.
func (l *linter) rootsOf(hub string) hubRoots {
	r, known := l.hubRoots[hub]
	if !known {
		r = bootstrap.Of(expand.New(expand.Options{State: l.st, Snapshot: l.st.Resolver().Snapshot, Hub: hub, Tools: l.tools}))
		l.hubRoots[hub] = r
	}
	return hubRoots{l: l, hub: hub, Roots: r}
}

func (h hubRoots) warn(p problem.Problem) {
	p.Severity, p.Hub = problem.Warning, h.hub
	h.l.problems = append(h.l.problems, p)
}

// withoutRoots reports a hub that names this repository as its own and gets nothing from it. The
// bootstrap of other hubs may be elsewhere.
func (h hubRoots) withoutRoots() {
	if url, _ := h.l.st.Fleet.HubMember(h.hub).FleetRepository(); url.Value != "" {
		file := expand.Bootstrap + "/" + h.hub
		h.warn(problem.Problem{
			Reason: problem.MissingRoots, Pos: url.Pos, Subject: fmt.Sprintf("hub %q", h.hub), Found: "has no roots, so that nothing is deployed",
			Expected: "Applications or ApplicationSets in " + file, Hints: []string{"argosy new hub writes them; charts/hub without a file of this repository makes them, too"},
		})
	}
}

// queries reports queries that the plugin never answers.
func (h hubRoots) queries() {
	hubs, groups := h.l.st.Fleet.Hubs(), h.l.st.Fleet.Layout.GroupNames()
	for _, q := range h.Queries {
		check := func(what, name string, known []string) bool {
			if name == "" || strings.Contains(name, "{{") || slices.Contains(known, name) {
				return true
			}
			h.warn(problem.Problem{
				Reason: problem.UnknownQuery, Pos: q.Pos, Subject: "query of a root", Found: fmt.Sprintf("%s %q", what, name),
				Expected: "one of " + strings.Join(known, ", "), Hints: problem.Nearest(name, known),
			})
			return false
		}
		if check("view", q.View, query.Views) && check("group", q.Group, groups) && check("hub", q.Hub, hubs) &&
			q.Group == "" && slices.Contains([]string{string(query.Components), string(query.Releases)}, q.View) {
			h.warn(problem.Problem{
				Reason: problem.UnknownQuery, Pos: q.Pos, Subject: "query of a root", Found: fmt.Sprintf("view %q without a group", q.View),
				Expected: "one of " + strings.Join(groups, ", "),
			})
		}
	}
}

// releases reports queries for the chart of a release that the versions file does not list. Argo CD
// refuses the Application of such a release. A missing file is reported elsewhere.
func (h hubRoots) releases() {
	f := h.l.st.Fleet
	for _, q := range h.Queries {
		list, file, isUsed := *f.FleetSecrets, f.Layout.FleetSecrets, len(f.Members(h.hub)) > 0
		switch {
		case !q.TakesChart:
			continue
		case q.View == string(query.Releases):
			_, isUsed = f.Layout.Groups[q.Group]
			list, file = f.Versions.Of(q.Group), f.Layout.ApplicationSets
		case q.View != string(query.Members):
			continue
		}
		if list.Declared || !isUsed || !h.l.reachable[file] {
			continue
		}
		h.warn(problem.Problem{
			Reason: problem.IncompleteRelease, Pos: q.Pos, Subject: fmt.Sprintf("releases of group %q", list.Group), Found: "not in the versions file",
			Expected: "a release that says where its chart is, because the Applications of this root take it from there", Related: []problem.Pos{{File: file}},
		})
	}
}

// repositories reports an Application that reads a folder of this repository from another one.
func (h hubRoots) repositories() {
	own, _ := h.l.st.Fleet.HubMember(h.hub).FleetRepository()
	for _, s := range h.Sources {
		isOther := own.Value != "" && source.Address(s.RepoURL) != source.Address(own.Value) && !strings.Contains(s.RepoURL, "{{")
		if s.Path == "" || !isOther || !h.l.st.Resolver().Snapshot.HasDir(s.Path) {
			continue
		}
		h.warn(problem.Problem{
			Reason: problem.ForeignRepository, Pos: s.Pos, Subject: "source " + s.Path, Found: "is read from " + s.RepoURL,
			Expected: own.Value + ", as the hub's member file says", Related: []problem.Pos{own.Pos},
		})
	}
}

// charts reports an installation of charts/hub for another hub.
func (h hubRoots) charts() {
	for _, c := range h.Charts {
		if c.Text != h.hub {
			h.warn(problem.Problem{
				Reason: problem.UnknownQuery, Pos: c.Pos, Subject: "value service.hub of charts/hub", Found: fmt.Sprintf("%q", c.Text),
				Expected: fmt.Sprintf("%q, the hub of this folder", h.hub),
			})
		}
	}
}

// notDeployed reports components, registrations and agents that no root queries for, and components
// without a chart where the query sends none.
func (h hubRoots) notDeployed() {
	report := func(reason problem.Reason, pos problem.Pos, subject, found, expected string) {
		h.warn(problem.Problem{Reason: reason, Pos: pos, Subject: subject, Found: found, Expected: expected})
	}
	byGroup := map[string]deployed{}
	count := map[string]map[string]bool{}
	for _, d := range h.l.deployed[h.hub] {
		if released, _ := h.Asks(query.Releases, d.group, ""); released {
			continue // the chart of the release has its own
		}
		asked, based := h.Asks(query.Components, d.group, d.component)
		subject := fmt.Sprintf("component %q of group %q", d.component, d.group)
		switch {
		case asked && !based && d.noChart != "":
			report(problem.MissingChart, d.pos, subject, d.noChart, "chart coordinates in a catalog of the group, because the hub's ApplicationSet sends none")
		case asked:
		default:
			if first, ok := byGroup[d.group]; !ok || d.pos.Compare(first.pos) < 0 {
				byGroup[d.group] = d
			}
			if count[d.group] == nil {
				count[d.group] = map[string]bool{}
			}
			count[d.group][d.component] = true
		}
	}
	for _, group := range slices.Sorted(maps.Keys(byGroup)) {
		names := slices.Sorted(maps.Keys(count[group]))
		report(problem.NotDeployed, byGroup[group].pos, fmt.Sprintf("group %q", group),
			fmt.Sprintf("no ApplicationSet of hub %s queries for %s", h.hub, problem.Truncate(strings.Join(names, ", "), 200)),
			"a root with the view releases or components of the group")
	}
	for _, view := range []query.View{query.Members, query.Agents} {
		if asked, _ := h.Asks(view, "", ""); asked {
			continue
		}
		for _, m := range h.l.st.Fleet.Members(h.hub) {
			switch {
			case m.Lifecycle == fleet.Retired || m.IsHub:
			case view == query.Members && (m.SecretManagerSecret != "" || m.Provision != nil):
				report(problem.NotDeployed, m.KeyPos("secretManagerSecretName"), fmt.Sprintf("registration of cluster %q", m.Name),
					"no ApplicationSet of hub "+h.hub+" queries for the view members", "a root with that view, or a member file without the secret's name")
			case view == query.Agents && m.Remote:
				report(problem.NotDeployed, m.KeyPos("use_remote_argo"), fmt.Sprintf("agent %q", m.Name),
					"no ApplicationSet of hub "+h.hub+" queries for the view agents", "a root with that view")
			}
		}
	}
}

// ofTenant matches the template of a project that has the tenant's name.
var ofTenant = regexp.MustCompile(`^\{\{-?\s*\.tenant\s*-?\}\}$`)

// argocdProject is the project that always exists.
const argocdProject = "default"

// projects reports projects that an ApplicationSet names and no object of the bootstrap creates. A
// bootstrap that creates no project has them from elsewhere.
func (h hubRoots) projects() {
	names := slices.Sorted(maps.Keys(h.Projects))
	if len(names) == 0 {
		return
	}
	seen := map[string]bool{}
	report := func(name string, use bootstrap.Project) {
		if _, made := h.Projects[name]; made || name == argocdProject || name == "" || seen[name] {
			return
		}
		seen[name] = true
		h.warn(problem.Problem{
			Reason: problem.MissingProject, Pos: use.Pos, Subject: fmt.Sprintf("AppProject %q", name), Found: "nothing creates it, so Argo CD creates no Application in it",
			Expected: "one of " + strings.Join(append(names, argocdProject), ", "), Hints: append(problem.Nearest(name, names), "argosy new tenant writes a tenant's project"),
		})
	}
	for _, use := range h.Uses {
		switch {
		case ofTenant.MatchString(use.Name) && use.View == string(query.Components):
			for _, d := range h.l.deployed[h.hub] {
				if use.Group == "" || use.Group == d.group {
					report(d.tenant, use)
				}
			}
		case ofTenant.MatchString(use.Name) && use.View == string(query.Agents):
			for _, m := range h.l.st.Fleet.Members(h.hub) {
				if m.Remote && m.Lifecycle != fleet.Retired {
					report(m.Tenant, use)
				}
			}
		case !strings.Contains(use.Name, "{{"):
			report(use.Name, use)
		}
	}
}

// reaches reports tenant projects whose destinations name a cluster of another tenant. Tenant
// retail's retail-*, for example, names the clusters of a tenant retail-x.
func (h hubRoots) reaches() {
	members := h.l.st.Fleet.Members(h.hub)
	tenants := map[string]bool{}
	for _, m := range members {
		tenants[m.Tenant] = true
	}
	for _, tenant := range slices.Sorted(maps.Keys(h.Reaches)) {
		for _, name := range h.Reaches[tenant] {
			i := slices.IndexFunc(members, func(m *fleet.Member) bool {
				is, err := path.Match(name.Text, m.Name)
				return is && err == nil && !m.IsHub && m.Tenant != "" && m.Tenant != tenant
			})
			if tenants[tenant] && i >= 0 && name.Text != "*" {
				h.warn(problem.Problem{
					Reason: problem.WideProject, Pos: name.Pos, Subject: fmt.Sprintf("AppProject %q", tenant), Related: []problem.Pos{members[i].Pos},
					Found:    fmt.Sprintf("%s reaches %s, which is a cluster of the tenant %s", name.Text, members[i].Name, members[i].Tenant),
					Expected: "names of the tenant's own clusters",
				})
			}
		}
	}
}

// admits reports components whose charts are in a repository that their tenant's project does not
// admit.
func (h hubRoots) admits() {
	seen := map[[2]string]bool{}
	for _, use := range h.Uses {
		if !ofTenant.MatchString(use.Name) || use.View != string(query.Components) {
			continue
		}
		for _, d := range h.l.deployed[h.hub] {
			list, known := h.Admits[d.tenant]
			if !known || use.Group != "" && use.Group != d.group {
				continue
			}
			for _, url := range d.repositories {
				if url == "" || seen[[2]string{d.tenant, url}] || bootstrap.Admit(list, url) {
					continue
				}
				seen[[2]string{d.tenant, url}] = true
				h.warn(problem.Problem{
					Reason: problem.RefusedRepository, Pos: d.pos, Subject: fmt.Sprintf("component %q of group %q", d.component, d.group), Related: []problem.Pos{h.Projects[d.tenant]},
					Found:    fmt.Sprintf("AppProject %q does not admit %s", d.tenant, url),
					Expected: "it among its sourceRepos",
				})
			}
		}
	}
}
