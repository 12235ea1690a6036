package pipeline

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/rendercache"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/bootstrap"
)

// The forms in which Render returns objects.
const (
	FormApplications = "applications"
	FormLists        = "applicationsets"
	FormPipeline     = "pipeline"
)

// Forms lists all forms.
var Forms = []string{FormApplications, FormLists, FormPipeline}

// RenderQuestion says whose objects to render: Owner is "hub" or a member's name. Hub may be left
// out where the fleet has one.
type RenderQuestion struct {
	Hub, Owner, Form string
	Facts            facts.Set
}

// Render returns the objects that a hub's pipeline creates, as files by path. It reads the folder
// as it is. A fleet with errors has no files; neither has a hub for which another hub's facts are
// given.
func (p *Pipelines) Render(ctx context.Context, q RenderQuestion) (map[string][]byte, error) {
	const hint = "nothing was written"
	st, found, err := p.Objects(ctx, q, hint)
	if err != nil {
		return nil, err
	}
	if q.Hub == "" {
		q.Hub = st.Fleet.Hubs()[0]
	}
	hasNoFleet := hasStandIn(st.Resolver().Snapshot)
	if problems, strange := unregistered(st, q.Hub); !hasNoFleet && len(strange) > 0 && len(q.Facts.Names()) > 0 { // a new hub's facts may know nothing yet
		problems[0].Severity = problem.Error
		return nil, &problem.Failure{Findings: true, Err: problems[0], Problems: problems, Hints: []string{hint}}
	}
	return manifests(found, q.Form == FormPipeline, hasNoFleet)
}

// Objects returns the objects that Render writes, and the state that they are made from. Its errors
// have the hints.
func (p *Pipelines) Objects(ctx context.Context, q RenderQuestion, hints ...string) (*fleetstate.State, []*object.Object, error) {
	snap, err := p.o.Repository.Snapshot(ctx, Charts)
	if err != nil {
		return nil, nil, err
	}
	if err := checkRoots(p.o.Roots, snap); err != nil {
		return nil, nil, err
	}
	if isWithoutFleet(snap) {
		repository := p.o.Repository
		repository.anyName = true
		if snap, err = repository.Snapshot(ctx, repository.limits()); err != nil {
			return nil, nil, err
		}
		snap, q.Facts = WithStandIn(snap, StandInHub(snap)), facts.Set{} // its clusters are for generators alone
	}
	st, err := fleetstate.Build(nil, snap, q.Facts)
	if err == nil && len(st.Problems) > 0 {
		err = problem.List(st.Problems)
	}
	if err != nil {
		return nil, nil, problem.FailureOf(err, problem.InvalidLayout, problem.Pos{}, hints...)
	}
	if q.Hub == "" {
		if q.Hub, err = OnlyHub(st); err != nil {
			return nil, nil, err
		}
	}
	if !slices.Contains(st.Fleet.Hubs(), q.Hub) {
		return nil, nil, problem.Usage(problem.Nearest(q.Hub, st.Fleet.Hubs()), "--hub: no member files of hub %q", q.Hub)
	}
	q.Owner = st.OwnerName(q.Hub, q.Owner)
	owner := st.Fleet.Member(q.Hub, q.Owner)
	switch {
	case q.Owner == fleet.OwnerHub:
	case owner == nil:
		return nil, nil, problem.Usage(problem.Nearest(q.Owner, st.Fleet.MemberNames(q.Hub)), "--owner: hub %q has no member %q", q.Hub, q.Owner)
	case !owner.Remote:
		return nil, nil, problem.Usage(append([]string{"--owner hub renders what the hub deploys to it"}, hints...), "--owner: member %q has no engine of its own", q.Owner)
	}
	h := p.hub(st, snap, nil, q.Hub, &rendercache.Cache{}, nil)
	if problems := chartRoots(p.hub(st, snap, nil, q.Hub, &p.cache, nil)); len(problems) > 0 {
		return nil, nil, &problem.Failure{Findings: true, Err: problems[0], Problems: problems, Hints: hints}
	}
	objects := map[string]func(string) []*object.Object{FormApplications: h.Static, FormLists: h.Lists, FormPipeline: h.Pipeline}
	found := objects[q.Form](q.Owner)
	problems := h.Problems()
	if warn := p.o.Repository.Warn; h.HasNoFleet() && warn != nil {
		for _, w := range problem.PerCause(problems) {
			warn(w) // everything else is followed
		}
		p.warnOfServers(found)
		problems = nil
	}
	if len(problems) > 0 {
		return nil, nil, &problem.Failure{Findings: true, Err: problems[0], Problems: problems, Hints: hints}
	}
	return st, found, nil
}

// chartRoots reports the roots that charts/hub creates at another version than this program's.
// Without the chart, only their queries are known.
func chartRoots(h *expand.Hub) (out []problem.Problem) {
	objects, _ := h.Reached()
	for _, o := range objects {
		if !o.ApplicationSet() || o.Parent == nil {
			continue
		}
		for _, s := range o.Parent.Sources() {
			if !expand.IsHubChart(s) || charts.IsOwn(s.RepoURL, s.Chart, s.Revision) {
				continue
			}
			out = append(out, problem.Problem{
				Reason: problem.NotExpanded, Severity: problem.Error, Pos: bootstrap.At(o), Hub: h.Name(), Subject: "Application of charts/hub", Found: "makes the roots, which render does not have",
				Expected: "install.roots: false, and the ApplicationSets in " + path.Join(expand.Bootstrap, h.Name()),
				Hints:    []string{"argosy init --minimal writes a fleet with them"},
			})
		}
	}
	return problem.OnePerPlace(out)
}

// OnlyHub returns the fleet's hub where there is only one.
func OnlyHub(st *fleetstate.State) (string, error) {
	names := st.Fleet.Hubs()
	if len(names) != 1 {
		return "", problem.Usage(nil, "--hub is required: the repository has the hubs %s", strings.Join(names, ", "))
	}
	return names[0], nil
}

// manifests returns a file for each object, by kind and name. With byMaker, the Applications of
// each ApplicationSet are in a folder of its name.
func manifests(objects []*object.Object, byMaker, hasNoFleet bool) (map[string][]byte, error) {
	out := make(map[string][]byte, len(objects))
	for _, o := range objects {
		data, err := yamldoc.FromAny(nil, o.Tree).YAML()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Key(), err)
		}
		folder := []string{plural(strings.ToLower(o.Kind()))}
		switch {
		case !hasNoFleet || o.Engine == fleet.OwnerHub:
		case o.Flux != nil: // named like the folder of its root Kustomization
			folder = append(strings.Split(o.Engine, "/"), folder...)
		default: // a cluster, or its address
			folder = append([]string{"on-" + strings.NewReplacer("://", "-", "/", "-", ":", "-").Replace(o.Engine)}, folder...)
		}
		if byMaker && o.Application() && o.Parent.IsSet() {
			folder = append(folder, o.Parent.Name())
		}
		names := slices.Concat(folder, []string{o.Name() + ".yaml"})
		if ns := o.Key().Namespace; ns != "" && out[path.Join(names...)] != nil {
			names = slices.Concat(folder, []string{ns, o.Name() + ".yaml"})
		}
		refused := func(reason problem.Reason, found, expected string) (map[string][]byte, error) {
			p := problem.Problem{Reason: reason, Severity: problem.Error, Pos: o.Pos, Subject: fmt.Sprintf("%s %q", o.Kind(), o.Name()), Found: found, Expected: expected}
			return nil, &problem.Failure{Findings: true, Err: p, Problems: []problem.Problem{p}, Hints: []string{"nothing was written"}}
		}
		name := path.Join(names...)
		switch {
		case o.Kind() == "" || o.Name() == "" || slices.ContainsFunc(names, isNoFileName):
			return refused(problem.InvalidValue, fmt.Sprintf("has no name for a file: %q", strings.Join(names, " ")), "a kind and names as Kubernetes takes them")
		case out[name] != nil:
			return refused(problem.DuplicateName, "is made twice", "one object of each kind, namespace and name")
		}
		out[name] = data
	}
	return out, nil
}

// isNoFileName reports whether a text is not a valid name of a file in one folder.
func isNoFileName(text string) bool {
	return text == "" || text == "." || text == ".." || strings.ContainsAny(text, `/\`) || strings.ContainsFunc(text, unicode.IsControl)
}

// plural returns the name of a kind's resource, as Kubernetes forms it for the existing kinds.
func plural(kind string) string {
	if stem, ok := strings.CutSuffix(kind, "y"); ok {
		return stem + "ies"
	}
	return kind + "s"
}
