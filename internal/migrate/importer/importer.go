package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/migrate/factor"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/scaffold"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// Options say what to import. Hub, Group, Repositories, Tools and SetParameters are required.
type Options struct {
	// Hub is the name of the cluster that Argo CD runs on. Group is the components' group.
	Hub, Group string
	// ChartsVersion is the version of Argosy's charts.
	ChartsVersion string
	// Repositories are the repositories that ApplicationSets read. Own holds the ApplicationSets
	// and is required.
	Repositories *verify.Repositories
	// ApplicationSets are files to read instead of the repository's ApplicationSets. Roots are the
	// paths of those of its roots that count; by default all do.
	ApplicationSets []*snapshot.File
	Roots           []string
	// Clusters are the clusters that Argo CD knows; nil for the cluster Secrets in the repository.
	Clusters []expand.Cluster
	// Generated are the parameter sets of generators that cannot be run, by ApplicationSet.
	Generated map[string][]any
	// Factor says to factor values even if value files form a hierarchy.
	Factor bool
	Tools  expand.Tools
	// SetParameters is Helm's function.
	SetParameters func(values map[string]any, parameters []source.Parameter) error
}

// Result is the fleet.
type Result struct {
	// Files are the files of the fleet's repository.
	Files map[string][]byte
	// Members, Components and Applications count what was found; Applications counts all that the
	// ApplicationSets create. Equal counts the Applications that the fleet creates with an equal
	// spec.
	Members, Components, Applications, Equal int
	// LinesBefore counts the lines of the value files and texts of the Applications, each once.
	// LinesAfter counts the lines of the fleet's value files.
	LinesBefore, LinesAfter int
	// Kept are the value files that keep their places and their bytes. Unkept says why value files
	// of a repository do not; empty if there are none.
	Kept   []string
	Unkept string
	// Names are the fleet's names of Applications by their names in the ApplicationSets.
	Names map[string]string
	// Left are the roots, with their places: Applications that deploy others, which stay as they
	// are.
	Left []string
	// Notes say where the fleet differs from the clusters' Secrets.
	Notes []string
	// Problems report what could not be imported, and what differs.
	Problems []problem.Problem
}

// tree is a map of values as encoding/json decodes it.
type tree = map[string]any

type importer struct {
	o            Options
	reader       *verify.Reader
	known        []expand.Cluster
	members      map[string]*scaffold.Member // by the cluster's name in Argo CD
	phrases      factor.Clusters             // templates over the facts of the members, by the same name
	secrets      []secret                    // in annotations of the clusters
	namespace    string                      // of the ApplicationSets
	environments map[string]bool
	releases     []string // of the group
	addsReleases bool     // that labels of clusters name
	notes        map[string]bool
	hasFlags     bool                // as labels of clusters
	differs      map[string][]string // findings of the last check, by member
	all          int
	left         []string
	problems     []problem.Problem
	away         []problem.Problem // repositories and revisions that cannot be read
	doubted      *applicationSet   // the first one that reads a repository which may be another one
	kept         *valueHierarchy   // nil if values are factored
}

// Import creates a fleet. Its error means that there is no fleet; problems of single
// ApplicationSets are in the result.
func Import(o Options) (*Result, error) {
	if !labels.IsName(o.Hub) || !labels.IsName(o.Group) {
		return nil, problem.Usage(nil, "hub %q and group %q have to be names: lower case letters, digits and inner hyphens, at most 63", o.Hub, o.Group)
	}
	m := &importer{o: o, notes: map[string]bool{}, members: map[string]*scaffold.Member{}, phrases: factor.Clusters{}, environments: map[string]bool{}}
	if err := m.clusters(); err != nil {
		return nil, problem.Usage(nil, "%w", err)
	}
	if err := m.readReleases(); err != nil {
		return nil, err
	}
	m.reader = &verify.Reader{Normalize: o.Tools.ApplicationSets.Normalize, SetParameters: o.SetParameters, Repositories: o.Repositories, Clusters: m.known, Hub: o.Hub}
	sets := m.applicationSets()
	if len(sets) == 0 {
		hint := "--from names the repository that has them, --applicationsets a file (kubectl get applicationsets,applications -o yaml)"
		if flux := source.FluxIn(o.Repositories.Own.Snapshot); flux != "" {
			hint = flux + ": import reads Argo CD's Applications and ApplicationSets"
		}
		return nil, &problem.Failure{Err: errors.New("no ApplicationSet or Application found"), Problems: m.problems, Hints: []string{hint}}
	}
	if own := &o.Repositories.Own; own.URL == "" {
		trees := make([]any, len(sets))
		for i, s := range sets {
			trees[i] = []any{s.tree, s.plain}
		}
		if url, _, isOnly := source.AddressOf(own.Snapshot, trees); isOnly {
			own.URL = url
		}
	}
	m.findNamespace(sets)
	var apps []*application
	for i := range sets {
		made, err := m.run(&sets[i])
		if err != nil {
			return nil, err
		}
		apps = append(apps, made...)
	}
	away := m.reader.Doubt()
	if away != nil {
		m.reportAway(m.doubted, away)
	}
	if len(m.away) > 0 && (away != nil || o.Repositories.Own.URL != "" && o.Repositories.IsGuess(o.Repositories.Own.URL)) { // it may be the other one
		err := ended(m.away)
		if away == nil {
			err.Hints = slices.Insert(err.Hints, 0, "--from-url URL says which one --from is; what reads another one is then left out")
		}
		return nil, err
	}
	for i := range m.away {
		m.away[i].Found += ": what reads it is left out"
	}
	m.problems = append(m.problems, m.away...)
	if apps = m.possible(apps); len(apps) == 0 {
		return nil, m.nothing()
	}
	if err := m.makeMembers(apps); err != nil {
		return nil, problem.Usage(nil, "%w", err)
	}
	components, err := m.components(sets, apps)
	if err != nil {
		return nil, err
	}
	if apps = m.withoutOwnIntegers(components, apps); len(apps) == 0 {
		return nil, m.nothing()
	}
	if err := m.checkNames(components); err != nil {
		return nil, err
	}
	return m.fleet(sets, components, apps)
}

// nothing returns the error of an import without any Application.
func (m *importer) nothing() error {
	err := &problem.Failure{Err: errors.New("no Application can be imported"), Problems: m.problems, Hints: []string{"none of the Applications can be imported: nothing was written"}}
	if m.all == 0 && len(m.problems) == 0 {
		err.Hints = slices.Insert(err.Hints, 0, "--clusters or --facts name the clusters that generators list")
	}
	return err
}

// fail returns an error at a place, which ends the import.
func (m *importer) fail(pos problem.Pos, subject, found string, hints ...string) error {
	p := problemAt(pos, subject, found, hints...)
	return ended([]problem.Problem{p})
}

// ended returns the error of an import that ends with findings.
func ended(found []problem.Problem) *problem.Failure {
	for i := range found {
		found[i].Severity = problem.Error
	}
	return &problem.Failure{Err: found[0], Problems: found, Hints: []string{"nothing was written"}}
}

// reportAway records a repository that cannot be read. What reads it is left out. Where it may be
// the repository of --from, all such findings end the import.
func (m *importer) reportAway(s *applicationSet, away *verify.Away) {
	p := problemAt(s.pos, s.subject(), away.Text, away.Hint)
	if !slices.ContainsFunc(m.away, func(q problem.Problem) bool { return q.Found == p.Found && q.Subject == p.Subject && q.Pos == p.Pos }) {
		m.away = append(m.away, p)
	}
}

// components groups the Applications by component.
func (m *importer) components(sets []applicationSet, apps []*application) (map[string][]*application, error) {
	for i := range sets {
		own := slices.DeleteFunc(slices.Clone(apps), func(a *application) bool { return a.set != &sets[i] })
		switch {
		case sets[i].plain != nil && len(own) > 0:
			own[0].component = m.stem(own[0])
		case len(own) > 0:
			m.nameComponents(&sets[i], own)
		}
	}
	if err := m.distinguish(apps); err != nil {
		return nil, err
	}
	out := map[string][]*application{}
	for _, a := range apps {
		out[a.component] = append(out[a.component], a)
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		folders := slices.DeleteFunc(slices.Clone(out[name]), (*application).isChart)
		if len(folders) > 0 && len(folders) < len(out[name]) {
			other := name + "-manifests"
			if len(out[other]) > 0 {
				return nil, m.fail(folders[0].set.pos, fmt.Sprintf("component %q", name), "is a chart on some clusters and a folder of manifests on others", "give the two ApplicationSets other names")
			}
			for _, a := range folders {
				a.component = other
			}
			out[name], out[other] = slices.DeleteFunc(out[name], func(a *application) bool { return !a.isChart() }), folders
		}
	}
	return out, nil
}

// fleet creates the files, and checks them: with the value files in their places if that gives the
// same Applications, else with factored values. Then it adds the members' flags.
func (m *importer) fleet(sets []applicationSet, components map[string][]*application, apps []*application) (*Result, error) {
	before := m.problems
	kept, why := m.recognize(components)
	if kept != nil && m.o.Factor {
		kept, why = nil, unkept("as --factor says")
	}
	m.kept = kept
	r, err := m.made(before, components, apps)
	if kept != nil && (err != nil || r.Equal < len(apps)) {
		if why = err; err == nil {
			why = m.problems[len(before)]
		}
		m.kept = nil
		r, err = m.made(before, components, apps)
	}
	if err != nil {
		return nil, err
	}
	if r, err = m.withFlags(r, before, sets, components, apps); err == nil && why != nil {
		r.Unkept = why.Error()
	}
	return r, err
}

// made creates the files, and checks them, with the problems of before.
func (m *importer) made(before []problem.Problem, components map[string][]*application, apps []*application) (*Result, error) {
	m.problems, m.differs = slices.Clone(before), map[string][]string{}
	files, lines, err := m.files(components)
	if err != nil {
		return nil, err
	}
	r := &Result{Files: files, Members: len(m.members), Components: len(components), Applications: m.all, Left: m.left, Names: map[string]string{}}
	texts := map[string]int{}
	for _, a := range apps {
		r.Names[a.Name] = catalog.ApplicationName(a.component, m.members[a.Cluster].Name)
		maps.Copy(texts, a.Lines)
	}
	for _, n := range texts {
		r.LinesBefore += n
	}
	if m.kept != nil {
		r.Kept, r.LinesAfter = slices.Sorted(maps.Keys(m.kept.files)), r.LinesBefore
	} else {
		r.LinesAfter = lines
	}
	if r.Equal, err = m.check(files, apps); err != nil {
		return nil, err
	}
	r.Problems = problem.Sorted(m.problems)
	return r, nil
}
