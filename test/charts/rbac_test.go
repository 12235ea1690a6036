package charts_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	applister "github.com/argoproj/argo-cd/v2/pkg/client/listers/application/v1alpha1"
	"github.com/argoproj/argo-cd/v2/server/rbacpolicy"
	"github.com/argoproj/argo-cd/v2/util/assets"
	"github.com/argoproj/argo-cd/v2/util/rbac"
	"github.com/golang-jwt/jwt/v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// projects are those that Argo CD has, by name.
type projects map[string]v1alpha1.AppProject

func (p projects) Get(name string) (*v1alpha1.AppProject, error) {
	if project, ok := p[name]; ok {
		return &project, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "appprojects"}, name)
}

func (p projects) List(labels.Selector) (out []*v1alpha1.AppProject, _ error) {
	for _, project := range p {
		out = append(out, &project)
	}
	return out, nil
}

var _ applister.AppProjectNamespaceLister = projects{}

// setsOf are the parameter sets of a group's components on the hub itself.
func setsOf(t *testing.T, state *fleetstate.State, hub, group string) (out []paramset.ComponentSet) {
	t.Helper()
	body, err := response.Bytes(state, query.Query{View: query.Components, Hub: hub, Group: group})
	require.NoError(t, err)
	var got struct {
		Output struct{ Parameters []paramset.ComponentSet }
	}
	require.NoError(t, json.Unmarshal(body, &got))
	return slices.DeleteFunc(got.Output.Parameters, func(s paramset.ComponentSet) bool { return s.Name != hub })
}

// enforcer is Argo CD's own, with the hub's policy, as the fleet gives it to the component argo-cd,
// and its projects: the tenants' and, as charts/team-project makes them, the teams'.
func enforcer(t *testing.T, state *fleetstate.State, hub string) (*rbac.Enforcer, projects) {
	t.Helper()
	all := projects(projectsOf(t, hub))
	for _, s := range setsOf(t, state, hub, "teams") {
		project := projectOf(t, s.HelmValues)
		all[project.Name] = project
	}
	e := rbac.NewEnforcer(nil, "argocd", "argocd-rbac-cm", nil)
	policy := rbacpolicy.NewRBACPolicyEnforcer(e, all)
	e.SetClaimsEnforcerFunc(policy.EnforceClaims)
	require.NoError(t, e.SetBuiltinPolicy(assets.BuiltinPolicyCSV))
	for _, s := range setsOf(t, state, hub, "fleet") {
		if s.Component != "argo-cd" {
			continue
		}
		var values struct {
			Configs struct {
				RBAC map[string]string `json:"rbac"`
			} `json:"configs"`
		}
		require.NoError(t, yaml.Unmarshal([]byte(s.HelmValues), &values))
		r := values.Configs.RBAC
		var scopes []string
		if err := yaml.Unmarshal([]byte(r["scopes"]), &scopes); err != nil || len(scopes) == 0 {
			t.Fatalf("scopes %q: %v", r["scopes"], err)
		}
		policy.SetScopes(scopes)
		e.SetDefaultRole(r["policy.default"])
		require.NoError(t, e.SetUserPolicy(r["policy.csv"]))
		return e, all
	}
	t.Fatalf("%s: no Argo CD of its own", hub)
	return nil, nil
}

// TestWhoMayWhatInArgoCD: Argo CD's own enforcer, with everything that the fleet gives a hub's Argo
// CD, lets a group see and sync the Applications of its own project and no other's. Users without a
// group, and of a group that nobody names, see nothing.
func TestWhoMayWhatInArgoCD(t *testing.T) {
	_, state := newEngine(t)
	const (
		see  = "get"
		sync = "sync"
	)
	own := map[string]map[string][]string{ // what each group may do, by project
		"analytics":         {"analytics": {see, sync}},
		"payments-platform": {"payments": {see, sync}, "team-checkout": {see}},
		"retail-platform":   {"retail": {see, sync}, "team-storefront": {see}},
		"payments-checkout": {"team-checkout": {see, sync, "action/apps/Deployment/restart", "delete/*/Pod/checkout/x"}},
		"retail-storefront": {"team-storefront": {see, sync, "action/apps/Deployment/restart", "delete/*/Pod/storefront/x"}},
		"nobody":            {},
		"":                  {},
	}
	actions := []string{see, sync, "create", "update", "delete", "override", "action/apps/Deployment/restart", "delete/*/Pod/checkout/x", "delete/*/Pod/storefront/x", "delete/*/Secret/checkout/x"}
	asked, allowed := 0, 0
	for _, hub := range []string{"hub-eu", "hub-us"} {
		e, all := enforcer(t, state, hub)
		if want := map[string]string{"hub-eu": "team-checkout", "hub-us": "team-storefront"}[hub]; all[want].Name != want {
			t.Fatalf("%s: projects %v", hub, slices.Sorted(maps.Keys(all)))
		}
		for group, projects := range own {
			claims := jwt.MapClaims{"sub": "user", "groups": []any{group}}
			for project := range all {
				for _, action := range actions {
					want := slices.Contains(projects[project], action) || strings.HasPrefix(action, "delete/*/Pod/") && slices.ContainsFunc(projects[project], func(a string) bool { return strings.HasPrefix(a, "delete/*/Pod/") })
					got := e.Enforce(claims, "applications", action, project+"/x")
					asked++
					if got {
						allowed++
					}
					assert.Equal(t, want, got, "%s: group %q: %s of project %s", hub, group, action, project)
				}
				for _, other := range [][2]string{{"projects", "update"}, {"projects", "delete"}, {"applicationsets", "create"}, {"exec", "create"}, {"repositories", "get"}, {"clusters", "get"}} {
					object := project + "/x"
					if other[0] == "projects" {
						object = project
					}
					if e.Enforce(claims, other[0], other[1], object) {
						t.Errorf("%s: group %q may %s %s of project %s", hub, group, other[1], other[0], project)
					}
				}
			}
		}
		for project := range all {
			if !e.Enforce(jwt.MapClaims{"sub": "user", "groups": []any{"platform"}}, "applications", sync, project+"/x") {
				t.Errorf("%s: the platform may not sync Applications of %s", hub, project)
			}
		}
	}
	if asked < 500 || allowed < 20 {
		t.Errorf("%d questions, %d allowed: the table does not test much", asked, allowed)
	}
}
