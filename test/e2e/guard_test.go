package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
)

// removalBudget proves G3 on Argo CD: what a commit loses that takes most member files away is
// held, even where a member is alone in an answer, and no ApplicationSet shows an error; approved
// by another commit, they go, and what they run stays.
func removalBudget(t *testing.T, e *environment) {
	const stays = "retail-prod-eu-1"
	var leaving []string
	files, uids := map[string]string{}, map[string]int{}
	for _, name := range e.spokes() {
		if name != stays {
			leaving = append(leaving, name)
			files[name] = e.read(t, memberFile(name))
			uids[name] = len(e.ledger.uids(name))
		}
	}
	mark, applications := e.ledger.mark(), len(e.ledger.all(hub.Name, "Application"))

	t.Run("held", func(t *testing.T) {
		for _, name := range leaving {
			must(t, e.Fleet.Remove(memberFile(name)))
		}
		began := e.push(t, "Lose most member files")
		head, err := e.Fleet.Head(t.Context())
		must(t, err)
		e.eventually(t, "the service serves the commit", func() string {
			if now := e.revision(t); now != head {
				return "it answers from " + now
			}
			return ""
		})
		e.refresh(t, false)
		e.eventually(t, "all that is theirs is held", func() string { return unheld(t, e, leaving) })
		e.timed("guard", "push to holds", began)
		e.eventually(t, "Argo CD has answers", func() string {
			for _, name := range applicationsOf(e, leaving) {
				if message := e.condition(e.owner(name), "ErrorOccurred"); message != "" {
					return e.owner(name) + ": " + message
				}
			}
			return ""
		})
		e.only(t, mark, func(c change) bool {
			return c.what != "deleted" && (c.kind == "ApplicationSet" || strings.HasPrefix(c.name, "application-sets-"))
		})
		if now := len(e.ledger.all(hub.Name, "Application")); now != applications {
			t.Errorf("%d Applications; there were %d", now, applications)
		}
		// The plan is compared when they are gone: it does not tell that held Applications get the
		// annotation of their hold, nor that the ApplicationSets which they need stay.
	})

	t.Run("approved", func(t *testing.T) {
		const approval = "fleet/approvals/most.yaml"
		e.add(t, approval, "apiVersion: argosy.dev/v1alpha1\nkind: RemovalApproval\nexpires: "+time.Now().UTC().AddDate(0, 0, 7).Format(time.DateOnly)+
			"\nremovals:\n  - clusters: ["+strings.Join(leaving, ", ")+"]\n    components: [\"*\"]\n    reason: the end of the flow\n"+
			"  - cluster: "+hub.Name+"\n    components: [\"teams/*\"]\n    reason: the teams of the members that leave\n")
		began := e.push(t, "Approve it")
		e.within(t, 2*patience, "their Applications are gone", func() string { return strings.Join(applicationsOf(e, leaving), ", ") })
		e.timed("guard", "approval to Applications gone", began)
		for _, name := range leaving {
			if left := len(e.ledger.uids(name)); left < uids[name] {
				t.Errorf("%s: %d of %d objects still run; expected all, as nothing said that they go", name, left, uids[name])
			}
		}
		e.settle(t)
		for _, name := range leaving {
			e.write(t, memberFile(name), files[name])
		}
		must(t, e.Fleet.Remove(approval))
		e.push(t, "They come back")
		for _, name := range leaving {
			e.within(t, 2*patience, name+" is registered again", func() string { return missing(e.ledger.get(hub.Name, "Secret", name)) })
		}
		e.within(t, 2*patience, "as many Applications as before", func() string {
			if now := len(e.ledger.all(hub.Name, "Application")); now < applications {
				return strings.Join(applicationsOf(e, leaving), ", ")
			}
			return ""
		})
		e.settle(t)
		e.expected(t)
	})
}

// applicationsOf are the Applications of clusters.
func applicationsOf(e *environment, clusters []string) []string {
	var out []string
	for name, app := range e.ledger.all(hub.Name, "Application") {
		if slices.Contains(clusters, app.GetLabels()["argosy.dev/cluster"]) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// unheld names an Application of those clusters whose removal the service does not tell to be held.
func unheld(t *testing.T, e *environment, clusters []string) string {
	t.Helper()
	var ready struct {
		RefusedRemovals []struct{ ApplicationSet, View, Group, Component, Message string }
	}
	e.ask(t, e.Plugin, http.MethodGet, "/readyz", nil, &ready)
	held := map[string]bool{}
	for _, r := range ready.RefusedRemovals {
		if r.ApplicationSet != "" {
			return r.ApplicationSet + " is refused: " + r.Message
		}
		if r.View == "members" {
			r.Group, r.Component = "fleet", "fleet-secret"
		}
		held[r.Group+"/"+r.Component] = true
	}
	for name, app := range e.ledger.all(hub.Name, "Application") {
		l := app.GetLabels()
		component := l["argosy.dev/group"] + "/" + l["argosy.dev/component"]
		if l["argosy.dev/component"] == "" { // what registers a member
			component = "fleet/fleet-secret"
		}
		if slices.Contains(clusters, l["argosy.dev/cluster"]) && !held[component] {
			return name + " is not held"
		}
	}
	return ""
}
