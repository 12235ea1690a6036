package overview

import (
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// Status is an engine's report of one component on one cluster.
type Status struct {
	Version string
	// Sync and Health are the engine's words: Synced, OutOfSync, Unknown; Healthy, Degraded, ...
	Sync, Health string
	// Since is when any of these was seen to change; zero if they never were.
	Since time.Time
}

// Live holds the statuses of the running components. Its zero value knows nothing.
type Live struct {
	// Hub is the hub whose engine reports the statuses; empty for any.
	Hub string
	// Status returns the status of an Application, or of the HelmRelease or Kustomization of that
	// name; false where there is none. It is nil where they are not watched.
	Status func(application string) (Status, bool)
	// Version changes with any status.
	Version uint64
	// Silent says why the last statuses no longer count, and Since when that began; empty while all
	// is current.
	Silent string
	Since  time.Time
	// Unreachable returns since when the API server of a cluster with an address does not respond,
	// and why; no text for one that does. It is nil where API servers are not probed.
	Unreachable func(cluster string) (since time.Time, why string)
}

// The states of Running.
const (
	// RunningUnknown means that this service has no report of it.
	RunningUnknown = "unknown"
	// RunningAbsent means that the engine has nothing of it.
	RunningAbsent = "absent"
	// RunningPresent means that the engine has it; Sync and Health say more, where they are known.
	RunningPresent = "present"
	// RunningRemoved means that it is being removed with its workloads.
	RunningRemoved = "being-removed"
)

// Running is the engine's report of one component on one cluster.
type Running struct {
	State   string `json:"state"`
	Version string `json:"version,omitempty"`
	Sync    string `json:"sync,omitempty"`
	Health  string `json:"health,omitempty"`
	// Other reports that the running version is not the desired one.
	Other bool `json:"otherVersion,omitempty"`
	// Since is when this was seen to change; absent if it was so when the service began to watch.
	Since *time.Time `json:"since,omitempty"`
	// Detail says why the state is unknown.
	Detail string `json:"detail,omitempty"`
}

// isOf reports whether the statuses are from the engine of a cluster's hub.
func (l Live) isOf(c *fleetstate.Cluster) bool { return l.Hub == "" || l.Hub == c.Member.Hub }

// Good reports whether the engine reports that all is well.
func (r Running) Good() bool {
	return r.State == RunningPresent && r.Sync == "Synced" && r.Health == "Healthy"
}

// Bad reports whether the engine reports that something is wrong.
func (r Running) Bad() bool {
	return r.State == RunningPresent && (r.Health == "Degraded" || r.Health == "Missing")
}

// running returns the running state of a component on a cluster.
func (x *Index) running(live Live, c *fleetstate.Cluster, group, component string) Running {
	if !live.isOf(c) {
		return Running{State: RunningUnknown, Detail: "the engine of hub " + c.Member.Hub + " runs it, and does not report to this service"}
	}
	if live.Silent != "" {
		return Running{State: RunningUnknown, Detail: live.Silent}
	}
	if live.Unreachable != nil && c.Facts.Address != "" {
		if since, why := live.Unreachable(c.Member.Name); why != "" {
			return Running{State: RunningUnknown, Detail: unreachable + ": " + why, Since: Known(since)}
		}
	}
	if c.Member.Owner(group) != fleet.OwnerHub {
		return x.reported(c, group, component)
	}
	f, name := x.st.Facts(), catalog.ApplicationName(component, c.Member.Name)
	_, watched := f.Applications()
	a, there := f.Application(name)
	if x.st.HubEngine(c.Member.Hub) == fleet.EngineFlux {
		if _, watched = f.HelmReleases(); watched {
			a, there = x.releases[releaseKey{c.Member.Name, name}]
		}
	}
	switch {
	case !watched:
		return Running{State: RunningUnknown, Detail: unwatched}
	case !there || a.Cluster != c.Member.Name:
		return Running{State: RunningAbsent}
	case a.Cascade && a.Owner != "":
		return Running{State: RunningRemoved}
	}
	out := Running{State: RunningPresent}
	if live.Status == nil {
		return out
	}
	if s, ok := live.Status(name); ok {
		out.Version, out.Sync, out.Health, out.Since = s.Version, s.Sync, s.Health, Known(s.Since)
	}
	if isCommit(out.Version) {
		out.Version = Short(out.Version)
	}
	if out.Sync == "Unknown" || out.Health == "Unknown" {
		out.State, out.Detail = RunningUnknown, "the engine cannot see the cluster, or cannot compare it with Git"
	}
	return out
}

// reported returns what the service of an agent reports on a component.
func (x *Index) reported(c *fleetstate.Cluster, group, component string) Running {
	grant, _ := x.st.Facts().Application(catalog.ApplicationName(catalog.GrantPrefix+"-"+group, c.Member.Name))
	is, isListed := grant.Reported(component)
	switch {
	case !grant.IsReported():
		return Running{State: RunningUnknown, Detail: "the member's own engine runs it, and does not report to this service"}
	case grant.Unheard != "":
		return Running{State: RunningUnknown, Detail: "the member's own engine runs it: " + grant.Unheard}
	case !isListed:
		return Running{State: RunningUnknown, Detail: "the member's own engine runs it, and its service does not report on it"}
	case is.Health == "Missing":
		return Running{State: RunningAbsent}
	case is.Health == "Unknown":
		return Running{State: RunningUnknown, Detail: "the member's own engine has not taken what it is answered"}
	}
	out := Running{State: RunningPresent, Version: is.Version, Health: is.Health}
	if is.Health == "Healthy" {
		out.Sync = "Synced"
	}
	if isCommit(out.Version) {
		out.Version = Short(out.Version)
	}
	return out
}

// unreachable is why the status of a cluster is unknown where its engine may repeat an old report.
const unreachable = "the cluster's API server does not respond"

// unwatched is why the running state is unknown.
const unwatched = "the service does not watch what runs; it does with --facts kubernetes"

// watched reports whether any running state is known.
func (x *Index) watched() bool {
	_, releases := x.st.Facts().HelmReleases()
	return releases || x.st.KnowsApplications()
}

// releaseKey names a HelmRelease or Kustomization of a cluster.
type releaseKey struct{ cluster, name string }

// releasesOf returns a state's HelmReleases and Kustomizations by cluster and name.
func releasesOf(st *fleetstate.State) map[releaseKey]facts.Application {
	all, _ := st.Facts().HelmReleases()
	out := make(map[releaseKey]facts.Application, len(all))
	for _, a := range all {
		out[releaseKey{a.Cluster, a.Name}] = a
	}
	return out
}
