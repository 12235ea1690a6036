package chaos

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/accidents"
)

// parameters are input.parameters of a request.
type parameters map[string]any

// argoCD is what of Argo CD's ApplicationSet controller decides over life and death (v2.14 and
// v3.2, applicationset_controller.go, Reconcile): an error leaves everything as it is; an
// Application that another ApplicationSet controls is an error, and nothing is deleted then; what
// an answer leaves out is deleted.
type argoCD struct {
	service *service
	sets    map[string]parameters // ApplicationSets, by name
	// catalogs are those of the chart's revision, by group: ApplicationSets send their entries.
	catalogs    map[string]map[string]any
	apps        map[string]app
	asked       int
	refused     int
	lastRefused int // refused of those that were asked last
	// refusals are the errors of those, by ApplicationSet.
	refusals map[string]string
}

// app is an Application.
type app struct {
	owner   string // the ApplicationSet that controls it
	cluster string
	cascade bool // what it runs goes with it
}

// set is what Argo CD reads of a parameter set.
type set struct {
	ApplicationName string            `json:"applicationName"`
	Name            string            `json:"name"`
	Deletion        string            `json:"deletion"`
	HelmValues      string            `json:"helmValues"`
	Group           string            `json:"group"`
	Release         map[string]string `json:"-"`
}

// newArgoCD is an Argo CD with a hub's root ApplicationSets.
func newArgoCD(s *service, hub string, groups []string) (*argoCD, error) {
	a := &argoCD{service: s, sets: map[string]parameters{}, apps: map[string]app{}, catalogs: map[string]map[string]any{}, refusals: map[string]string{}}
	for _, view := range []string{"members", "agents"} {
		a.sets[view] = parameters{"view": view, "hub": hub}
	}
	for _, g := range groups {
		a.sets[g] = parameters{"view": "releases", "hub": hub, "group": g}
		content, err := os.ReadFile(filepath.Join(s.repo, "charts", "application-sets", "catalogs", g+".yaml"))
		if err != nil {
			return nil, err
		}
		var catalog struct{ Components map[string]any }
		if err := yaml.Unmarshal(content, &catalog); err != nil {
			return nil, err
		}
		a.catalogs[g] = catalog.Components
	}
	return a, nil
}

// Reconcile asks for every ApplicationSet twice, so that what moves from one to another has
// arrived, and gives what was lost on the way: what has been deleted and is not there again, and
// what is marked now and was not.
func (a *argoCD) Reconcile() ([]accidents.Loss, error) {
	refused := a.refused
	clear(a.refusals)
	defer func() { a.lastRefused = a.refused - refused }()
	before := maps.Clone(a.apps)
	deleted := map[string]accidents.Loss{}
	for range 2 {
		for again := true; again; {
			known := len(a.sets)
			for _, name := range slices.Sorted(maps.Keys(a.sets)) {
				if err := a.one(name, deleted); err != nil {
					return nil, err
				}
			}
			again = len(a.sets) > known // releases bring ApplicationSets
		}
	}
	var out []accidents.Loss
	for _, name := range slices.Sorted(maps.Keys(before)) {
		now, there := a.apps[name]
		switch {
		case !there:
			out = append(out, deleted[name])
		case now.cascade && !before[name].cascade:
			out = append(out, a.loss(name, now, "marked for deletion with what it runs"))
		}
	}
	return out, nil
}

// one reconciles one ApplicationSet.
func (a *argoCD) one(name string, deleted map[string]accidents.Loss) error {
	code, sets, refusal, err := a.service.ask(name, a.sets[name])
	if err != nil {
		return err
	}
	a.asked++
	if code < 200 || code > 299 {
		a.refused++
		a.refusals[name] = refusal
		if code != http.StatusServiceUnavailable && code != http.StatusBadRequest {
			return fmt.Errorf("ApplicationSet %s: status %d", name, code)
		}
		return nil
	}
	wanted := map[string]bool{}
	for _, s := range sets {
		if owner := a.apps[s.ApplicationName].owner; owner != "" && owner != name {
			return nil
		}
		wanted[s.ApplicationName] = true
	}
	for _, s := range sets {
		a.apps[s.ApplicationName] = app{owner: name, cluster: s.Name, cascade: s.Deletion == "cascade"}
		if a.sets[name]["view"] == "releases" {
			if err := a.release(s, a.sets[name]["hub"]); err != nil {
				return err
			}
		}
	}
	for app, is := range a.apps {
		if is.owner == name && !wanted[app] {
			how := "deleted"
			if is.cascade {
				how = "deleted with what it runs"
			}
			deleted[app] = a.loss(app, is, how)
			delete(a.apps, app)
		}
	}
	return nil
}

// release makes the ApplicationSets of a release, one for each component that is switched on.
func (a *argoCD) release(s set, hub any) error {
	var chart struct{ Components map[string]any }
	if err := yaml.Unmarshal([]byte(s.HelmValues), &chart); err != nil {
		return err
	}
	release := s.Release["type"]
	for component := range chart.Components {
		entry, known := a.catalogs[s.Group][component]
		if !known {
			continue // the chart has nothing to make it of
		}
		a.sets[s.Group+"-"+release+"-"+component] = parameters{
			"view": "components", "hub": hub, "group": s.Group, "release": release, "component": component, "base": entry,
		}
	}
	return nil
}

func (a *argoCD) loss(name string, is app, how string) accidents.Loss {
	return accidents.Loss{Application: name, Cluster: is.cluster, Owner: is.owner, How: how, OfRelease: a.sets[is.owner]["view"] == "releases"}
}

// Crash kills the service and starts it again.
func (a *argoCD) Crash() error {
	if err := a.service.kill(); err != nil {
		return err
	}
	return a.service.start()
}

// Hang has the Git server hang while the service reads.
func (a *argoCD) Hang(meanwhile func() error) error {
	return accidents.Hang(a.service.repo, a.service.poll, meanwhile)
}

// Consider waits until the service has decided about a commit.
func (a *argoCD) Consider(commit string, nothing bool) error {
	return a.service.considered(commit, nothing)
}

// Refused is how many of the requests of the last Reconcile were refused.
func (a *argoCD) Refused() int { return a.lastRefused }

// Applications are the names of all, sorted.
func (a *argoCD) Applications() ([]string, error) { return slices.Sorted(maps.Keys(a.apps)), nil }
