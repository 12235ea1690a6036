package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
)

// HoldKind is the kind of a file that holds cells.
const HoldKind = "Hold"

// HoldFolder holds the hold files.
const HoldFolder = "fleet/holds"

// maxHolds bounds the hold files of a repository.
const maxHolds = 500

// MaxHold is the longest time before its last day at which lint accepts a hold.
const MaxHold = 366 * 24 * time.Hour

// Hold is a file fleet/holds/<name>.yaml. It keeps cells as they are until the end of its last day.
type Hold struct {
	APIVersion string `json:"apiVersion,omitempty" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind" jsonschema:"enum=Hold"`
	// Clusters are the names of the members whose cells are held; or there is a Selector.
	Clusters []string `json:"clusters,omitempty" jsonschema:"maxItems=1000" is:"name" expect:"names of clusters"`
	// Selector selects members by the labels of their files, and by tenant, environment, cluster
	// and hub.
	Selector *labels.Selector `json:"selector,omitempty" expect:"matchLabels and matchExpressions over the labels of member files; {} selects all"`
	// Components are group/component, group/*, or "*" for everything of a member.
	Components []string `json:"components" jsonschema:"minItems=1,maxItems=100" expect:"group/component, group/*, or \"*\" for all"`
	// Owner is the team or the person to ask about the hold.
	Owner string `json:"owner" jsonschema:"minLength=1" expect:"the team or the person to ask"`
	// Reason is why the cells are held.
	Reason string `json:"reason" jsonschema:"minLength=1" expect:"why the components are held"`
	// LastDay is the last day of the hold, in TimeZone; at most 366 days ahead.
	LastDay string `json:"until" jsonschema:"format=date" expect:"the last day of the hold, such as 2026-12-24"`
	// TimeZone is the time zone of LastDay, such as Europe/Berlin; default UTC.
	TimeZone string `json:"timeZone,omitempty"`

	// Name is the name of the hold's file.
	Name string      `json:"-"`
	Pos  problem.Pos `json:"-" is:"place"`
	// ClustersPos, ComponentsPos and LastDayPos are the places of these keys.
	ClustersPos   problem.Pos `json:"-"`
	ComponentsPos problem.Pos `json:"-"`
	LastDayPos    problem.Pos `json:"-"`

	ends time.Time
}

// Covers reports whether the hold is about a member's component, ended or not. The registration is
// the component fleet/fleet-secret.
func (h *Hold) Covers(m *Member, group, component string) bool {
	return matchesComponent(h.Components, group, component) && h.CoversMember(m)
}

// CoversMember reports whether the hold is about any component of a member, ended or not.
func (h *Hold) CoversMember(m *Member) bool {
	if h.Selector != nil {
		return h.Selector.Matches(m.Selectable())
	}
	return slices.Contains(h.Clusters, m.Name)
}

// Ends returns the first moment after the hold.
func (h *Hold) Ends() time.Time { return h.ends }

// EndedAt reports whether the hold's last day is over.
func (h *Hold) EndedAt(now time.Time) bool { return !now.Before(h.ends) }

// HoldName returns the name of the hold whose file is at a path, and whether there may be one.
func HoldName(file string) (string, bool) {
	below, isBelow := strings.CutPrefix(file, HoldFolder+"/")
	name, ok := strings.CutSuffix(below, ".yaml")
	return name, ok && isBelow && !strings.Contains(name, "/")
}

// loadHolds reads the hold files. An error in any of them is a problem of the whole repository, as
// it is unknown what must not change.
func (f *Fleet) loadHolds(s *snapshot.Snapshot, cache *hierarchy.Cache) {
	if folder := s.BrokenFolder(HoldFolder); folder != nil {
		f.Problems = append(f.Problems, problem.From(folder.Err, problem.LimitExceeded, problem.Pos{File: folder.Path})...)
	}
	for _, file := range s.EntriesUnder(HoldFolder) {
		name, is := HoldName(file.Path)
		if !is {
			continue
		}
		doc, err := cache.Doc(file)
		h, problems := readHold(name, file.Path, doc, err)
		if f.Problems = append(f.Problems, problems...); len(problem.Errors(problems)) == 0 {
			f.Holds, f.HoldProblems = append(f.Holds, h), append(f.HoldProblems, f.strangersOf(h)...)
		}
		if len(f.Holds) > maxHolds {
			f.Problems = append(f.Problems, problem.Problem{
				Reason: problem.LimitExceeded, Severity: problem.Error, Pos: h.Pos, Found: fmt.Sprintf("more than %d holds", maxHolds),
				Expected: "one hold for several clusters and components, and no hold that has ended",
			})
			break
		}
	}
	f.HoldProblems = problem.Sorted(f.HoldProblems)
}

func readHold(name, file string, doc *yamldoc.Doc, err error) (*Hold, []problem.Problem) {
	h := &Hold{Name: name, Pos: problem.Pos{File: file}}
	if err != nil {
		return h, problem.From(err, problem.InvalidHold, h.Pos)
	}
	return h, yamldoc.NewReader(doc).Decode(doc.Root, "the hold", problem.InvalidHold, h).Problems()
}

// Check checks what concerns more than one key, and parses the last day.
func (h *Hold) Check(at yamldoc.At) {
	h.ClustersPos, h.ComponentsPos, h.LastDayPos = at.Pos("clusters"), at.Pos("components"), at.Pos("until")
	subject := fmt.Sprintf("hold %q", h.Name)
	if !labels.IsName(h.Name) {
		at.AddAt(problem.InvalidHold, h.Pos, subject, "is not a hold's name", "a file named by a DNS-1123 label, such as chg-1.yaml")
	}
	switch {
	case h.Selector != nil && at.Has("clusters"):
		at.Wrong("selector", "given beside clusters", "clusters or a selector")
	case !at.Has("selector") && len(at.Node.Get("clusters").Items()) == 0:
		at.AddAt(problem.InvalidHold, h.Pos, subject, "names no cluster", "clusters or a selector")
	}
	for i, c := range h.Components {
		if !isComponentPattern(c) {
			at.Wrong("components", fmt.Sprintf("components[%d] is %q", i, c), `group/component, group/*, or "*" for all`)
		}
	}
	zone := rollout.Zone(at, h.TimeZone)
	day, err := time.ParseInLocation(time.DateOnly, h.LastDay, zone)
	if err != nil && h.LastDay != "" {
		at.Wrong("until", fmt.Sprintf("%q", h.LastDay), "the last day of the hold, such as 2026-12-24")
	}
	h.ends = day.AddDate(0, 0, 1)
}

// strangersOf reports the clusters and groups that a hold names and the fleet lacks.
func (f *Fleet) strangersOf(h *Hold) []problem.Problem {
	clusters := f.MemberNames("")
	var out []problem.Problem
	known := func(what, name string, names []string, pos problem.Pos) {
		if !slices.Contains(names, name) {
			out = append(out, problem.Problem{
				Reason: problem.InvalidHold, Severity: problem.Warning, Pos: pos, Subject: fmt.Sprintf("%s %q", what, name),
				Found: "not in this fleet, so that nothing of it is held", Hints: problem.Nearest(name, names),
			})
		}
	}
	for _, name := range h.Clusters {
		known("cluster", name, clusters, h.ClustersPos)
	}
	for _, c := range h.Components {
		if group, _, ok := strings.Cut(c, "/"); ok {
			known("group", group, f.Layout.GroupNames(), h.ComponentsPos)
		}
	}
	return out
}
