package generator

import (
	"errors"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/problem"
)

// Rule G2: after a restart nothing is known of a cluster whose Secret is missing. Left out of an answer, its Applications
// would be deleted: the answer is refused, if there are any that the asker answers for.
func TestG2AClusterWithApplicationsAndNoSecret(t *testing.T) {
	const (
		components = `{"view":"components","group":"addons","component":"dns","release":"default"}`
		releases   = `{"view":"releases","group":"addons"}`
		agents     = `{"view":"agents"}`
		agent      = "use_remote_argo: true\nenable_remote_addons: true\n"
	)
	agentOfOne := facts.Application{Name: "agent-one", Cluster: "one"}
	dns := app("dns", "one", "default")
	for _, c := range []struct {
		name string
		more tree
		apps []facts.Application
		by   string
		ask  string
		want string // of the answer, "-" for an empty one; none: it is refused
	}{
		{"a component's", nil, []facts.Application{dns}, "", components, ""},
		{"the asker controls it", nil, []facts.Application{controlled(dns, "own")}, "own", components, ""},
		{"the group as a whole", nil, []facts.Application{dns}, "", addons, ""},
		{"its release would not be known to be in use", nil, []facts.Application{dns}, "", releases, ""},
		{"an agent", tree{member("one"): spoke("one", agent)}, []facts.Application{agentOfOne}, "", agents, ""},
		{"an agent that is none any more", nil, []facts.Application{agentOfOne}, "", agents, "-"},
		{"there never was one", nil, nil, "", components, "dns-hub"},
		{"another ApplicationSet's", nil, []facts.Application{controlled(dns, "other")}, "own", components, "dns-hub"},
		{"another release's", nil, []facts.Application{app("dns", "one", "canary")}, "", components, "dns-hub"},
		{"another component's", nil, []facts.Application{app("cert", "one", "default")}, "", components, "dns-hub"},
		{"another group's", nil, []facts.Application{{Name: "dns-one", Cluster: "one", Group: "resources", Component: "dns"}}, "", components, "dns-hub"},
		{"somebody else's, with its labels", nil, []facts.Application{{Name: "mine", Cluster: "one", Group: "addons", Component: "dns"}}, "", components, "dns-hub"},
		{"its registration alone", nil, []facts.Application{registered("one")}, "", components, "dns-hub"},
		{"the members' answer does not need a Secret", nil, []facts.Application{dns, registered("one")}, "", `{"view":"members"}`, "fleet-secret-one fleet-secret-two"},
		{"retired: Git says that it is to go", tree{member("one"): spoke("one", "lifecycle: retired\n")}, []facts.Application{dns}, "", components, "dns-hub"},
		{"moved to its own engine", tree{member("one"): spoke("one", agent)}, []facts.Application{dns}, "", components, "dns-hub"},
		{"not selected", nil, []facts.Application{dns}, "", `{"view":"components","group":"addons","selector":{"matchLabels":{"tenant":"platform"}}}`, "dns-hub"},
	} {
		t.Run(c.name, func(t *testing.T) {
			known := facts.NewSet(true, facts.Cluster{Name: "hub"}, facts.Cluster{Name: "two"}).WithApplications(c.apps...)
			st, err := Build(nil, snap(small().with(c.more)), known)
			if err != nil {
				t.Fatal(err)
			}
			noProblems(t, st)
			if c.want != "" {
				if got := applicationsOf(t, st, c.ask, c.by); got != strings.Trim(c.want, "-") {
					t.Errorf("got %q, want %q", got, c.want)
				}
				return
			}
			r := request(t, c.ask)
			r.ApplicationSet = c.by
			b, err := st.Answer(r)
			var e *Error
			if !errors.As(err, &e) || e.Kind != Unavailable || e.Problems[0].Reason != problem.MissingSecret || e.Problems[0].Cluster != "one" {
				t.Errorf("%s, %v", b, err)
			}
		})
	}
}

// applicationsOf are the Applications of an answer to an ApplicationSet.
func applicationsOf(t testing.TB, st *State, parameters, applicationSet string) string {
	t.Helper()
	r := request(t, parameters)
	r.ApplicationSet = applicationSet
	return each(t, st, r, func(c *Common) string { return c.ApplicationName })
}

// Rule G1: a member whose own engine asks is there. To answer that it is to run nothing, as its Secret is missing, would
// remove everything: Flux deletes what is left out.
func TestG1AnEngineWhoseClusterHasNoSecret(t *testing.T) {
	const flux = "use_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n"
	for more, refused := range map[string]bool{"": true, "lifecycle: retired\n": false} {
		files := small().with(tree{member("one"): spoke("one", flux+more)})
		st, err := Build(nil, snap(files), facts.NewSet(true, facts.Cluster{Name: "hub"}).WithApplications())
		if err != nil {
			t.Fatal(err)
		}
		own := request(t, `{"view":"components","group":"addons","owner":"one"}`)
		for what, ask := range map[string]func() (any, error){
			"inputs":   func() (any, error) { return st.Inputs(own) },
			"artifact": func() (any, error) { return st.Owned("hub", "one") },
			"answer":   func() (any, error) { return st.Answer(own) },
			"releases": func() (any, error) {
				return st.Answer(request(t, `{"view":"releases","group":"addons","owner":"one"}`))
			},
		} {
			if out, err := ask(); (err != nil) != refused || refused && !strings.Contains(err.Error(), "has no cluster Secret") {
				t.Errorf("%s %s: %s, %v", what, more, out, err)
			}
		}
		others := request(t, `{"view":"components","group":"resources","owner":"one"}`)
		if _, err := st.Inputs(others); err != nil {
			t.Error("a group that the hub owns:", err)
		}
		if got := applicationsOf(t, st, addons, ""); got != "dns-hub" {
			t.Errorf("the hub's answer: %q", got)
		}
	}
}
