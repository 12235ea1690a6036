package planreport

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/planpage"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/plan"
)

// Summary counts what changes.
type Summary struct {
	Clusters     Counts `json:"clusters"`
	Applications Counts `json:"applications"`
	// Removals counts the removed Applications by cause.
	Removals Removals `json:"removals"`
	// Held counts the Applications above that a manual hold keeps as they are; absent if there are
	// none.
	Held int `json:"held,omitempty"`
	// Objects is how many further objects change at the end of the pipeline, beside the
	// Applications above; absent if there are none.
	Objects int `json:"objects,omitempty"`
	// Secrets counts the secrets that clusters newly read and write by External Secrets, and no
	// longer do; absent if there are none.
	Secrets Accesses `json:"secrets,omitzero"`
	// NotFollowed counts the Problems with something that the plan does not follow; absent if there
	// are none.
	NotFollowed int `json:"notFollowed,omitempty"`

	ofFlux bool // the Applications are Kustomizations and HelmReleases
}

// Counts are numbers of clusters or Applications. A cluster counts as changed when it changes
// itself; clusters do not move.
type Counts struct {
	Create    int `json:"create"`
	Change    int `json:"change"`
	Move      int `json:"move"`
	Remove    int `json:"remove"`
	Unchanged int `json:"unchanged"`
}

// Removals counts removed Applications by cause.
type Removals struct {
	Moved    int `json:"moved"`
	Disabled int `json:"disabled"`
	Retired  int `json:"retired"`
	Lost     int `json:"lost"`
}

func summaryOf(hubs []plan.Hub) Summary {
	var s Summary
	for _, hub := range hubs {
		unchanged := hub.UnchangedApplications
		s.ofFlux = s.ofFlux || hub.IsOfFluxAlone
		for _, o := range hub.Objects {
			if !o.Counted {
				s.Objects++
				continue
			}
			if s.Applications.add(o.Action); o.Action != plan.Create {
				unchanged = max(0, unchanged-1) // not all of them have been counted
			}
		}
		for _, a := range hub.Secrets {
			s.Secrets.add(a)
		}
		s.Clusters.Unchanged += hub.UnchangedClusters
		s.Applications.Unchanged += unchanged
		for _, cluster := range hub.Clusters {
			s.Clusters.add(cluster.Action)
			for _, a := range cluster.Applications {
				s.Applications.add(a.Action)
				s.Removals.add(a.Cause)
				if a.HeldBy != "" {
					s.Held++
				}
			}
		}
	}
	return s
}

// add counts an action; without one, nothing changes.
func (c *Counts) add(a plan.Action) {
	switch a {
	case plan.Create:
		c.Create++
	case plan.Change:
		c.Change++
	case plan.Move:
		c.Move++
	case plan.Remove:
		c.Remove++
	default:
		c.Unchanged++
	}
}

func (r *Removals) add(c plan.Cause) {
	switch c {
	case plan.Moved:
		r.Moved++
	case plan.Disabled:
		r.Disabled++
	case plan.Retired:
		r.Retired++
	case plan.Lost:
		r.Lost++
	}
}

func (s Summary) clusters() []planpage.Count {
	return []planpage.Count{{Action: planpage.Create, Number: s.Clusters.Create, What: "new"}, {Action: planpage.Change, Number: s.Clusters.Change, What: "changed"}, {Action: planpage.Remove, Number: s.Clusters.Remove, What: "removed"}}
}

func (s Summary) applications() []planpage.Count {
	return []planpage.Count{
		{Action: planpage.Create, Number: s.Applications.Create, What: "to create"},
		{Action: planpage.Change, Number: s.Applications.Change, What: "to change"},
		{Action: planpage.Move, Number: s.Applications.Move, What: "to move"},
		{Action: planpage.Remove, Number: s.Applications.Remove, What: "to remove"},
	}
}

// String formats a plan's counts in one line.
func (s Summary) String() string {
	clusters, applications := phrase(s.clusters()), phrase(s.applications())
	details := phrase([]planpage.Count{
		{Number: s.Removals.Moved, What: "moved"},
		{Number: s.Removals.Disabled, What: "disabled"},
		{Number: s.Removals.Retired, What: "retired"},
		{Number: s.Removals.Lost, What: "lost"},
		{Number: s.Held, What: "held"},
	})
	if details != "" {
		applications += " (" + details + ")"
	}
	hasClusters := s.Clusters != Counts{}
	if clusters == "" && applications == "" && s.Objects == 0 {
		out := "no changes: "
		if hasClusters {
			out += report.Count(s.Clusters.Unchanged, "cluster") + ", "
		}
		return out + report.Count(s.Applications.Unchanged, s.noun()) + s.notFollowed()
	}
	out := fmt.Sprintf("%ss: %s, %d unchanged", s.noun(), cmp.Or(applications, "none to change"), s.Applications.Unchanged)
	if hasClusters {
		out = "clusters: " + cmp.Or(clusters, "none changed") + "; " + out
	}
	if s.Objects > 0 {
		out += "; " + report.Count(s.Objects, "other object")
	}
	return out + s.Secrets.String() + s.notFollowed()
}

// notFollowed ends a summary that counts only what is followed.
func (s Summary) notFollowed() string {
	if s.NotFollowed == 0 {
		return ""
	}
	return fmt.Sprintf("; %d not followed", s.NotFollowed)
}

// phrase lists the numbers that are not 0.
func phrase(all []planpage.Count) string {
	var parts []string
	for _, c := range all {
		if c.Number > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.Number, c.What))
		}
	}
	return strings.Join(parts, ", ")
}

// noun is what the Applications are called.
func (s Summary) noun() string {
	if s.ofFlux {
		return "Flux object"
	}
	return "Application"
}

// counts returns the numbers that are not zero.
func (s Summary) counts() (out []planpage.Count) {
	add := func(noun string, all ...planpage.Count) {
		for _, c := range all {
			if c.Number > 0 {
				_, nouns, _ := strings.Cut(report.Count(c.Number, noun), " ")
				c.What = nouns + " " + c.What
				out = append(out, c)
			}
		}
	}
	add("cluster", s.clusters()...)
	add(s.noun(), s.applications()...)
	add("further object", planpage.Count{Action: planpage.Change, Number: s.Objects, What: "changed"})
	return out
}
