package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plancheck"
)

// onboardDocument shows the commands by which the flow's team comes and goes.
const onboardDocument = "docs/how-to/onboard-a-team.md"

// teamCluster is the member that the flow's team is on.
const teamCluster = "payments-dev-eu-1"

var appProjects = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}

// teams: one file, pushed once, gives a team its namespaces, roles, quotas and project. What its
// people may do is asked of the spoke's API server; what its Applications may do, of Argo CD.
func teams(t *testing.T, e *environment) {
	const file = "fleet/teams/ledger.yaml"
	spoke, repository := e.Spoke[teamCluster], e.Git.URL(hub.Repository)
	page := e.walkOf(t, onboardDocument, "Try it on `make hub`", "FLEET="+repository)
	mark := e.ledger.mark()
	if printed, _ := page.next(t); !strings.Contains(printed, "+ teams/team-ledger  charts/team-project") || !strings.Contains(printed, "+ teams/team-ledger  charts/team ") {
		t.Errorf("the plan is\n%s", printed)
	}
	began := e.follow(t)
	e.within(t, time.Minute, "the team's Application is synced for the first time", func() string {
		if s := state(e.app("team-ledger-" + teamCluster)); s != good {
			return s
		}
		return ""
	})
	e.timed("teams", "push to the team's namespaces", began)
	e.eventually(t, "the team's project", func() string {
		if _, err := e.Kube.Get(t.Context(), appProjects, hub.Namespace, "team-ledger"); err != nil {
			return err.Error()
		}
		return ""
	})
	e.timed("teams", "push to the team's project", began)
	e.settle(t)
	e.only(t, mark, func(c change) bool {
		return strings.Contains(c.name, "ledger") || strings.HasPrefix(c.name, "application-sets-")
	})

	t.Run("what people may do", func(t *testing.T) { mayDo(t, spoke.Typed) })
	t.Run("the quota refuses one more", func(t *testing.T) { refusesOneMore(t, spoke.Config) })
	t.Run("another's namespace", func(t *testing.T) {
		e.applicationOf(t, "team-ledger", "foreign", "checkout", repository, "fleet/apps/checkout-api/overlays/dev")
		e.eventually(t, "Argo CD refuses it", func() string {
			return lacks(e.app("foreign"), "do not match any of the allowed destinations in project 'team-ledger'")
		})
	})
	t.Run("another's repository", func(t *testing.T) {
		e.applicationOf(t, "team-ledger", "stranger", "ledger", "https://git.example.com/vault/x", "x")
		e.eventually(t, "Argo CD refuses it", func() string {
			return lacks(e.app("stranger"), "is not permitted in project 'team-ledger'")
		})
	})
	t.Run("denied kinds", func(t *testing.T) {
		e.replace(t, file, "repositories:\n", "deniedKinds: [{group: batch, kind: CronJob}]\nrepositories:\n")
		e.write(t, "fleet/apps/denied/objects.yaml", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly}\nspec: {schedule: '@daily', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}\n")
		e.push(t, "A CronJob, which the team may not deploy")
		e.eventually(t, "the project denies it", func() string {
			project, err := e.Kube.Get(t.Context(), appProjects, hub.Namespace, "team-ledger")
			must(t, err)
			if denied, _, _ := unstructured.NestedSlice(project.Object, "spec", "namespaceResourceBlacklist"); !strings.Contains(fmt.Sprint(denied), "CronJob") {
				return fmt.Sprint(denied)
			}
			return ""
		})
		e.applicationOf(t, "team-ledger", "denied", "ledger", repository, "fleet/apps/denied")
		e.eventually(t, "Argo CD refuses it", func() string {
			return lacks(e.app("denied"), "is not permitted in project team-ledger")
		})
	})
	t.Run("cordoned", func(t *testing.T) {
		owner := as(t, spoke.Config, "ledger-owners")
		config := func(name string) error {
			_, err := owner.CoreV1().ConfigMaps("ledger").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			return err
		}
		must(t, config("before"))
		page.pull(t)
		page.next(t)
		e.follow(t)
		tries := 0
		e.eventually(t, "nothing new is made", func() string {
			tries++
			if err := config(fmt.Sprint("after-", tries)); apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota: team-cordon") {
				return ""
			}
			return "it is"
		})
		if _, err := owner.CoreV1().ConfigMaps("ledger").Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
			t.Errorf("what was there: %v", err)
		}
	})
	for _, name := range []string{"foreign", "stranger", "denied"} {
		must(t, e.Kube.Delete(t.Context(), kube.Applications, hub.Namespace, name, "Background"))
		e.eventually(t, name+" is gone", func() string { return present(e, name) })
	}
	must(t, e.Fleet.Remove("fleet/apps/denied/objects.yaml"))
	e.push(t, "Without the CronJob")
	t.Run("removed", func(t *testing.T) { teamRemoved(t, e, page) })
}

// teamRemoved deletes the file of the cordoned team. Nothing goes before the approval, and the
// namespaces stay after it, with what is in them.
func teamRemoved(t *testing.T, e *environment, page *walk) {
	applications := []string{"team-ledger-" + teamCluster, "team-ledger-" + hub.Name}
	there := func() (out []string) {
		for _, name := range applications {
			if e.app(name) != nil {
				out = append(out, name)
			}
		}
		return out
	}
	e.settle(t) // a plan from before the cordon would say that there was none
	page.pull(t)
	if printed, _ := page.next(t); !strings.Contains(printed, "removes 2: team-ledger-") || !strings.Contains(printed, "kind: RemovalApproval") {
		t.Errorf("the plan is\n%s", printed)
	}
	e.follow(t)
	e.eventually(t, "the removal is held", func() string {
		var ready struct {
			RefusedRemovals []struct{ Group, Component, Message string }
		}
		e.ask(t, e.Plugin, http.MethodGet, "/readyz", nil, &ready)
		for _, r := range ready.RefusedRemovals {
			if r.Group+"/"+r.Component == "teams/team-ledger" && strings.Contains(r.Message, "removal budget") {
				return ""
			}
		}
		return fmt.Sprint(ready.RefusedRemovals)
	})
	if now := there(); len(now) != len(applications) {
		t.Errorf("without the approval there are %v", now)
	}
	page.next(t)
	began := e.follow(t)
	e.eventually(t, "the team's Applications are gone", func() string { return strings.Join(there(), ", ") })
	e.timed("teams", "approval to the team's Applications gone", began)
	for _, name := range []string{"ledger", "ledger-vault"} {
		if _, err := e.Spoke[teamCluster].Typed.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("namespace %s: %v", name, err)
		}
	}
	if _, err := e.Spoke[teamCluster].Typed.CoreV1().ConfigMaps("ledger").Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Errorf("what was in it: %v", err)
	}
	// Nobody prunes the ApplicationSet and the project, as the page says.
	const set = "teams-default-team-ledger"
	must(t, e.Kube.Delete(t.Context(), kube.ApplicationSets, hub.Namespace, set, "Background"))
	must(t, e.Kube.Delete(t.Context(), appProjects, hub.Namespace, "team-ledger", "Background"))
	e.eventually(t, "the ApplicationSet is gone", func() string {
		if e.ledger.get(hub.Name, "ApplicationSet", set) != nil {
			return "it is there"
		}
		return ""
	})
	// While the approval is there: a plan without it would hold the removal.
	e.calm(t)
	e.planCheck.CheckExcept(t, e.patiently(t), plancheck.Exceptions{Deleted: []string{"ApplicationSet " + set}})
	must(t, e.Fleet.Remove("fleet/approvals/ledger.yaml"))
	e.push(t, "Without the approval")
}

// follow has the flows' clone be at what somebody else pushed, and returns the moment.
func (e *environment) follow(t *testing.T) time.Time {
	t.Helper()
	must(t, e.Fleet.Switch(t.Context(), e.Fleet.Branch()))
	return time.Now()
}

// applicationOf applies an Application that syncs by itself.
func (e *environment) applicationOf(t *testing.T, project, name, namespace, repository, path string) {
	t.Helper()
	must(t, e.Kube.Apply(t.Context(), hub.Namespace, fmt.Appendf(nil, `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s}
spec:
  project: %s
  source: {repoURL: %q, path: %s, targetRevision: main}
  destination: {name: %s, namespace: %s}
  syncPolicy: {automated: {}}
`, name, project, repository, path, teamCluster, namespace)))
}

// lacks says what an Application's status says instead of a text.
func lacks(app *unstructured.Unstructured, text string) string {
	if app == nil {
		return "not there"
	}
	if status := fmt.Sprint(app.Object["status"]); !strings.Contains(status, text) {
		return status
	}
	return ""
}

// as is a user of a group.
func as(t *testing.T, config *rest.Config, group string) kubernetes.Interface {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "somebody", Groups: []string{group, "system:authenticated"}}
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client
}

// mayDo asks the API server what each of the team's people, and a stranger, may do.
func mayDo(t *testing.T, client kubernetes.Interface) {
	const owner, viewer, deployer, stranger = "owner", "viewer", "deployer", "stranger"
	subjects := map[string]authorizationv1.SubjectAccessReviewSpec{
		owner:    {User: "o", Groups: []string{"ledger-owners", "system:authenticated"}},
		viewer:   {User: "v", Groups: []string{"ledger-viewers", "system:authenticated"}},
		deployer: {User: "system:serviceaccount:ledger:deployer", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ledger", "system:authenticated"}},
		stranger: {User: "s", Groups: []string{"retail-storefront", "system:authenticated"}},
	}
	all := []string{owner, viewer, deployer}
	write := []string{owner, deployer}
	none := []string(nil)
	asked := 0
	for _, c := range []struct {
		verb, group, resource, namespace string
		allowed                          []string
	}{
		{"create", "apps", "deployments", "ledger", write},
		{"delete", "apps", "statefulsets", "ledger", write},
		{"list", "apps", "deployments", "ledger", all},
		{"get", "", "secrets", "ledger", write},
		{"create", "", "secrets", "ledger", write},
		{"create", "", "pods/exec", "ledger", write},
		{"get", "", "pods/log", "ledger", all},
		{"create", "batch", "jobs", "ledger", write},
		{"update", "networking.k8s.io", "ingresses", "ledger", write},
		{"get", "", "resourcequotas", "ledger", all},
		// What bounds the team is not the team's to change.
		{"update", "", "resourcequotas", "ledger", none},
		{"delete", "", "limitranges", "ledger", none},
		{"create", "networking.k8s.io", "networkpolicies", "ledger", none},
		{"delete", "networking.k8s.io", "networkpolicies", "ledger", none},
		{"create", "rbac.authorization.k8s.io", "rolebindings", "ledger", none},
		{"bind", "rbac.authorization.k8s.io", "roles", "ledger", none},
		{"escalate", "rbac.authorization.k8s.io", "roles", "ledger", none},
		// Other namespaces, and what has none.
		{"get", "", "secrets", "kube-system", none},
		{"list", "", "secrets", "", none},
		{"create", "apps", "deployments", "checkout", none},
		{"get", "", "configmaps", "default", none},
		{"delete", "", "namespaces", "", none},
		{"create", "", "namespaces", "", none},
		{"get", "", "nodes", "", none},
		{"impersonate", "", "users", "", none},
		{"create", "rbac.authorization.k8s.io", "clusterrolebindings", "", none},
	} {
		for who, spec := range subjects {
			group, sub, _ := strings.Cut(c.resource, "/")
			spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: c.verb, Group: c.group, Resource: group, Subresource: sub, Namespace: c.namespace}
			got, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
			must(t, err)
			asked++
			want := false
			for _, name := range c.allowed {
				want = want || name == who
			}
			if got.Status.Allowed != want {
				t.Errorf("%s may %s %s of %q in %q: %t", who, c.verb, c.resource, c.group, c.namespace, got.Status.Allowed)
			}
		}
	}
	if asked < 60 {
		t.Errorf("%d questions", asked)
	}
}

// refusesOneMore makes as many claims of volumes as the preset small allows, and one more.
func refusesOneMore(t *testing.T, config *rest.Config) {
	owner, limit := as(t, config, "ledger-owners"), 10
	claim := func(name string) error {
		_, err := owner.CoreV1().PersistentVolumeClaims("ledger").Create(t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}, metav1.CreateOptions{})
		return err
	}
	for i := range limit {
		var err error
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for err = claim(fmt.Sprint("c", i)); err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "status unknown for quota"); {
			err = claim(fmt.Sprint("c", i)) // until the quota has been counted for the first time
		}
		cancel()
		must(t, err)
	}
	if err := claim("more"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: team, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=10, limited: persistentvolumeclaims=10") {
		t.Errorf("one more: %v", err)
	}
}
