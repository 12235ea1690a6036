package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/registration"
	"github.com/argosy-hub/argosy/internal/released"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Inventory lists the parameter sets of all views for one hub, as trees and places instead of text.
// Members that cannot be computed are not in it. Quarantined members are in it as their last known
// good snapshot has them.
type Inventory struct {
	Hub string
	// Clusters are all members, sorted by name.
	Clusters []Cluster
	// Waiting are the changes that draining members do not take, by name.
	Waiting map[string]Waiting

	st       *fleetstate.State
	releases map[string][]Application // by cluster
}

// Cluster is a member with its labels and annotations.
type Cluster struct {
	Member              *fleet.Member
	Labels, Annotations labels.Set

	registration *hierarchy.Tree
}

// cluster is a member as an inventory has it.
func cluster(c *fleetstate.Cluster) Cluster {
	return Cluster{Member: c.Member, Labels: c.Labels, Annotations: c.Annotations, registration: c.Registration}
}

// NullLabel is the place of the null by which a level takes a label away that the levels before it
// declare; zero if there is none. NullAnnotation is the same of an annotation.
func (c Cluster) NullLabel(name string) problem.Pos {
	return c.registration.Null([]string{"externalSecret", "labels", name})
}

// NullAnnotation is NullLabel of an annotation.
func (c Cluster) NullAnnotation(name string) problem.Pos {
	return c.registration.Null([]string{"externalSecret", "annotations", name})
}

// Application is one Application to be: one parameter set.
type Application struct {
	// View is the view that answers with it.
	View query.View
	Name string
	// Cluster is where it is deployed to.
	Cluster string
	// Owner is whose engine owns it, fleet.OwnerHub or a member's name, and Engine which engine
	// that is.
	Owner, Engine string
	// Group and Component are what it is made of; of Releases, the group alone; of Agents, neither.
	Group, Component string
	// Release is the release's type; empty for Agents.
	Release string
	// Chart is the component's chart.
	Chart catalog.Chart
	// DependsOn are the components that it waits for, as the catalog entry names them.
	DependsOn []string
	// Settings are all else that its parameter set says, but for the values, in a fixed order.
	// Empty ones are left out.
	Settings []Setting
	// Values are the merged values; nil where there are none, and where they say what Settings and
	// the cluster's labels say already.
	Values *yamldoc.Node
	// Labels and Annotations are those that it writes onto the cluster Secret, for Members: of the
	// Cluster's, what Git declares. For Agents they are all of the Cluster's, which the agent's
	// values have.
	Labels, Annotations map[string]string
	// Clusters are those on a release, for Releases alone.
	Clusters []string
	// Unlisted tells that the catalog of its release lacks the component (ReadCatalogs): no
	// ApplicationSet of the release asks for it, unless one is left over from before.
	Unlisted bool
	// Unknown tells that it is not known whether the component is deployed: only the catalog of its
	// release's chart says so, which is not known. IsOfRelease tells that its chart is in that
	// catalog alone.
	Unknown, IsOfRelease bool

	null func(path []string) problem.Pos
}

// Null is the place of the null by which a level takes away what the levels before it set: of the
// catalogs a setting, and of a registration one of its values. It is zero if there is none.
func (a Application) Null(name string) problem.Pos {
	if path, err := hierarchy.ParsePath(name); err == nil && a.null != nil {
		return a.null(path)
	}
	return problem.Pos{}
}

// Setting is one value of a parameter set and the place that it comes from, which may be unknown.
type Setting struct {
	Name  string
	Value any
	Pos   problem.Pos
}

// Of returns the inventories of all hubs, by name.
func Of(st *fleetstate.State) []Inventory {
	var out []Inventory
	for _, hub := range st.Fleet.Hubs() {
		inv := Inventory{Hub: hub, Waiting: waiting(st, hub), st: st, releases: map[string][]Application{}}
		for _, c := range st.ClustersOf(hub) {
			if len(c.BlockingProblems()) == 0 {
				inv.Clusters = append(inv.Clusters, cluster(c))
			}
		}
		for _, a := range releaseApplications(st, hub) {
			inv.releases[a.Cluster] = append(inv.releases[a.Cluster], a)
		}
		out = append(out, inv)
	}
	return out
}

// Names are all clusters that have Applications, sorted: the members, but for retired ones, and a
// hub without a member file.
func (inv Inventory) Names() []string {
	names := slices.Collect(maps.Keys(inv.releases))
	for _, c := range inv.Clusters {
		if c.Member.Lifecycle != fleet.Retired {
			names = append(names, c.Member.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Applications are those of a cluster, sorted by view, name and group. They are computed when they
// are asked for: those of a whole fleet take ten times the memory that its state does.
func (inv Inventory) Applications(cluster string) []Application {
	if inv.st == nil {
		return nil // of no hub
	}
	out := slices.Clone(inv.releases[cluster])
	if c := inv.st.Cluster(inv.Hub, cluster); c != nil && len(c.BlockingProblems()) == 0 && c.Member.Lifecycle != fleet.Retired {
		out = append(out, applicationsOf(inv.st, c)...)
	}
	sortApplications(out)
	return out
}

// Lacks reports whether the catalog of a group's release on a cluster is unknown.
func (inv Inventory) Lacks(cluster, group string) bool {
	if inv.st == nil {
		return false
	}
	c := inv.st.Cluster(inv.Hub, cluster)
	return c != nil && len(c.BlockingProblems()) == 0 && c.Groups[group] != nil && released.GroupOf(inv.st, c, c.Groups[group]).IsUnknown
}

func sortApplications(all []Application) {
	slices.SortFunc(all, func(a, b Application) int {
		return cmp.Or(strings.Compare(string(a.View), string(b.View)), strings.Compare(a.Name, b.Name), strings.Compare(a.Group, b.Group))
	})
}

// applicationsOf are the Applications deployed to one cluster, but for those of its releases.
func applicationsOf(st *fleetstate.State, c *fleetstate.Cluster) (out []Application) {
	if !c.Member.IsHub {
		out = append(out, registrationApplication(st, c))
	}
	if !c.Registered {
		return out
	}
	if c.Member.Remote {
		out = append(out, agentApplication(st, c))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		group := released.GroupOf(st, c, c.Groups[name])
		names := group.Components()
		if group.IsUnknown {
			names = st.ResolverOf(c).WithBrought(c, group.Group)
		}
		for _, component := range names {
			g, listed := group.Component(component)
			r, faults := st.ResolverOf(c).Resolve(c, g, component, nil)
			if base := group.Base(component); len(faults) > 0 && base != nil { // a part that does not fit is left out of responses
				r, faults = st.ResolverOf(c).Resolve(c, group.Group, component, base)
			}
			switch {
			case len(faults) > 0:
			case group.Lacks(r) && (r.Enabled || r.Entry == nil):
				out = append(out, Application{View: query.Components, Name: catalog.ApplicationName(component, c.Member.Name), Cluster: c.Member.Name, Group: name, Component: component, Release: g.Release.Type, Unknown: true})
			case r.Enabled:
				a := componentApplication(st, c, g, component, r)
				a.Unlisted, a.IsOfRelease = !listed, catalog.IsOfOwnChart(r.EntryTree.At([]string{catalog.KeyChart, "repoURL"}).Pos().File)
				out = append(out, a)
			}
		}
	}
	return out
}

func componentApplication(st *fleetstate.State, c *fleetstate.Cluster, g *fleetstate.Group, component string, r fleetstate.Component) Application {
	a := Application{
		View: query.Components, Name: catalog.ApplicationName(component, c.Member.Name), Cluster: c.Member.Name,
		Group: g.Name, Component: component, Release: g.Release.Type, Chart: r.Chart, null: r.EntryTree.Null,
	}
	a.Owner, a.Engine = c.Member.Owner(g.Name), c.Member.Engine
	engine := c.Member
	if a.Owner == fleet.OwnerHub {
		a.Engine, engine = st.HubEngine(c.Member.Hub), cmp.Or(st.HubMember(c.Member.Hub), c.Member)
	}
	if r.Values != nil {
		a.Values = r.Values.Root
	}
	at := func(path ...string) problem.Pos { return r.EntryTree.At(path).Pos() }
	a.set("owner", a.Owner, c.Member.KeyPos("enable_remote_"+g.Name))
	a.set("engine", a.Engine, engine.KeyPos("remote_engine"))
	a.set("group", g.Name, problem.Pos{})
	a.set("release", a.Release, c.Labels.Origins[release.LabelOf(g.Name)])
	e := r.Entry
	a.DependsOn = e.DependsOn
	a.set("kind", e.Kind, at(catalog.KeyKind))
	a.set("dependsOn", strings.Join(e.DependsOn, ", "), at(catalog.KeyDependsOn))
	for _, one := range r.Companions {
		prefix := catalog.KeyCompanions + "." + one.Name + "."
		here := func(keys ...string) problem.Pos {
			return at(append([]string{catalog.KeyCompanions, one.Name}, keys...)...)
		}
		a.set(prefix+"chart.repoURL", one.Chart.RepoURL, here(catalog.KeyChart, "repoURL"))
		a.set(prefix+"chart.name", one.Chart.Name, here(catalog.KeyChart, "name"))
		a.set(prefix+"chart.path", one.Chart.Path, here(catalog.KeyChart, "path"))
		a.set(prefix+"chart.version", one.Chart.Version, here(catalog.KeyChart, "version"))
		a.set(prefix+"releaseName", one.ReleaseName, here(catalog.KeyReleaseName))
		for _, l := range one.Values.Leaves(nil) {
			// Null and the empty text are values, too.
			a.Settings = append(a.Settings, Setting{Name: prefix + "values." + hierarchy.FormatPath(l.Path), Value: l.Value.Any(), Pos: l.Pos})
		}
	}
	if e.Substitute {
		a.set("substitute", true, at(catalog.KeySubstitute))
	}
	a.set("chart.repoURL", r.Chart.RepoURL, at(catalog.KeyChart, "repoURL"))
	a.set("chart.name", r.Chart.Name, at(catalog.KeyChart, "name"))
	a.set("chart.path", r.Chart.Path, at(catalog.KeyChart, "path"))
	a.set("chart.version", r.Chart.Version, at(catalog.KeyChart, "version"))
	a.set("namespace", r.Namespace, at(catalog.KeyNamespace))
	a.set("releaseName", r.ReleaseName, at(catalog.KeyReleaseName))
	return a
}

// registrationApplication is what registers a member.
func registrationApplication(st *fleetstate.State, c *fleetstate.Cluster) Application {
	m := c.Member
	a := Application{
		View: query.Members, Name: catalog.ApplicationName(fleetstate.Registration, m.Name), Cluster: m.Name, Owner: fleet.OwnerHub, Engine: st.HubEngine(m.Hub),
		Group: fleetstate.FleetGroup, Component: fleetstate.Registration, Labels: c.Labels.Declared, Annotations: c.Annotations.Declared,
		null: c.Registration.Null,
	}
	rel, err := st.ResolverOf(c).Fleet.FleetSecrets.Choose(c.Labels.All)
	if err != nil {
		return a
	}
	a.Release = rel.Type
	a.set("release", rel.Type, c.Labels.Origins[release.FleetSecretsLabel])
	a.keys(rel)
	a.set("secretManagerSecretName", m.SecretManagerSecret, m.KeyPos("secretManagerSecretName"))
	if m.GitHubSecret {
		a.set("githubSecretName", m.GitHubSecretName, m.KeyPos("githubSecretName"))
	}
	said := map[string]bool{"secretManagerSecretName": m.SecretManagerSecret != "", "githubSecretName": m.GitHubSecret && m.GitHubSecretName != ""}
	values := registration.WithoutDeclared(registration.HubValues(st, c))
	a.Values = yamldoc.MapAt(values, slices.DeleteFunc(slices.Clone(values.Fields()), func(f yamldoc.Field) bool { return said[f.Key] }))
	return a
}

// agentApplication is what a member's own engine is bootstrapped with. Its labels and annotations
// are the Cluster's.
func agentApplication(st *fleetstate.State, c *fleetstate.Cluster) Application {
	m := c.Member
	a := Application{View: query.Agents, Name: catalog.ApplicationName(fleetstate.Agent, m.Name), Cluster: m.Name, Owner: fleet.OwnerHub, Engine: st.HubEngine(m.Hub)}
	a.set("agent.engine", m.Engine, m.KeyPos("remote_engine"))
	for _, g := range st.Fleet.Layout.GroupNames() {
		if m.Owner(g) == m.Name {
			a.set("agent.owns."+g, "true", m.KeyPos("enable_remote_"+g))
		}
	}
	for _, flag := range fleet.Flags {
		a.set("agent."+flag, m.Flag(flag), m.KeyPos(flag))
	}
	a.Labels, a.Annotations = c.Labels.All, c.Annotations.All
	values := registration.AgentValues(c) // all else of them is the labels and annotations
	if source, ok := values["source"].(map[string]any); ok {
		a.leaves("source.git", source["git"], func(path []string) problem.Pos {
			switch path[0] {
			case "url":
				return c.Annotations.Origins["fleet_repo_url"]
			case "ref":
				return c.Annotations.Origins["fleet_repo_revision"]
			}
			return c.Registration.At([]string{tenancy.GitCredentials, registration.FleetCredentials}).Pos()
		})
	}
	a.leaves("token", values["token"], func([]string) problem.Pos { return m.KeyPos("push_argo_secrets") })
	if st.IsFluxHub(m.Hub) {
		if rel, err := st.ResolverOf(c).Fleet.FleetSecrets.Choose(c.Labels.All); err == nil { // as the registration's
			a.set("chart.version", rel.Source.TargetRevision, rel.Pos)
		}
	}
	a.Values = registration.AgentCredentialValues(c)
	return a
}

// releaseApplications are the releases in use, one for each engine that renders ApplicationSets.
// (Flux renders none.)
func releaseApplications(st *fleetstate.State, hub string) (out []Application) {
	var owners []string
	if !st.IsFluxHub(hub) {
		owners = append(owners, fleet.OwnerHub)
	}
	for _, c := range st.ClustersOf(hub) {
		if m := c.Member; m.Remote && m.Engine == fleet.EngineArgoCD && m.Lifecycle != fleet.Retired && (c.LastKnownGood != nil || len(c.Errors()) == 0) {
			owners = append(owners, m.Name)
		}
	}
	for _, owner := range owners {
		for _, group := range st.Fleet.Layout.GroupNames() {
			uses := paramset.DesiredReleases(st, hub, group, owner)
			for _, name := range slices.Sorted(maps.Keys(uses)) {
				u := uses[name]
				a := Application{
					View: query.Releases, Name: catalog.ApplicationName("application-sets-"+group, name), Cluster: hub, Owner: owner,
					Engine: fleet.EngineArgoCD, Group: group, Release: name, Clusters: u.Clusters,
				}
				if owner != fleet.OwnerHub {
					a.Cluster = owner
				} else if self := st.HubMember(hub); self != nil {
					a.Cluster = self.Name
				}
				a.keys(u.Release)
				by := st.Resolver()
				a.null = func(path []string) problem.Pos {
					if path[0] != catalog.ComponentsKey || len(path) < 3 {
						return problem.Pos{}
					}
					r, _ := by.MergeEntry(by.Catalogs[group], path[1])
					return r.EntryTree.Null(path[2:])
				}
				for _, component := range slices.Sorted(maps.Keys(u.Enabled)) {
					a.set(catalog.ComponentsKey+"."+component, catalog.KeyEnabled, problem.Pos{})
					if entry := by.OwnEntry(group, component, u.Release.Source.Path); len(entry) > 0 {
						delete(entry, catalog.KeyEnabled)
						r, _ := by.MergeEntry(by.Catalogs[group], component)
						a.leaves(catalog.ComponentsKey+"."+component, entry, func(path []string) problem.Pos { return r.EntryTree.At(path).Pos() })
					}
				}
				out = append(out, a)
			}
		}
	}
	return out
}

// set adds a setting unless it is empty.
func (a *Application) set(name string, value any, pos problem.Pos) {
	if value != "" && value != nil {
		a.Settings = append(a.Settings, Setting{Name: name, Value: value, Pos: pos})
	}
}

// leaves adds what is below a name, leaf by leaf.
func (a *Application) leaves(name string, value any, at func(path []string) problem.Pos) {
	var add func(value any, path []string)
	add = func(value any, path []string) {
		below, _ := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(below)) {
			add(below[key], append(slices.Clone(path), key))
		}
		if len(below) == 0 && len(path) > 0 {
			a.set(name+"."+hierarchy.FormatPath(path), value, at(path))
		}
	}
	add(value, nil)
}

// keys adds the keys of a release, which Release names already.
func (a *Application) keys(rel release.Release) {
	for _, key := range slices.Sorted(maps.Keys(rel.Keys)) {
		if key != "type" {
			a.set(key, rel.Keys[key], rel.Places[key])
		}
	}
}

// Waiting is what a draining member does not take.
type Waiting struct {
	// Keeps is the revision whose sets it keeps.
	Keeps string
	// Cluster and Applications are what the snapshot has for it instead, sorted as
	// Inventory.Applications are.
	Cluster      Cluster
	Applications []Application
}

// waiting are a hub's draining members as they would be without that, by name.
func waiting(st *fleetstate.State, hub string) map[string]Waiting {
	out := map[string]Waiting{}
	for _, m := range st.Fleet.Members(hub) {
		keeps := st.DrainingRevision(m)
		if keeps == "" || keeps == st.Revision {
			continue
		}
		c := st.ClusterOf(m).Desired()
		apps := applicationsOf(st, c)
		sortApplications(apps)
		out[m.Name] = Waiting{Keeps: keeps, Cluster: cluster(c), Applications: apps}
	}
	return out
}
