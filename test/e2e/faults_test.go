package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// fault is something that goes wrong. While it lasts, every ApplicationSet asks the service;
// nothing may be deleted or changed, on the hub or on a spoke. When it is over, everything recovers
// by itself.
type fault struct {
	name string
	// compare has every Application compared again as well: where the fault is one of what they are
	// compared with.
	compare bool
	// begin brings it about; end takes it away.
	begin, end func(*testing.T, *environment)
	// allowed is what may happen all the same; nil is nothing.
	allowed func(change) bool
}

// faults lets everything go wrong that a hub has to live with, one after another, and counts what
// was lost by it.
func faults(t *testing.T, e *environment) {
	wrong := 0
	for _, f := range []fault{
		broken("a member file that is no YAML", memberFile("retail-prod-eu-1"), func(string) string { return "clusterName: [\n" }, "retail-prod-eu-1"),
		broken("an unknown key", memberFile("retail-dev-eu-1"), func(text string) string { return text + "enviroment: prod\n" }, "retail-dev-eu-1"),
		broken("the hub's own file", memberFile(hub.Name), func(string) string { return "clusterName: [\n" }, hub.Name, "retail-dev-eu-1", "retail-prod-eu-1"),
		broken("a template that fails", "addons/defaults/addons/external-dns/values.yaml.gotmpl", func(text string) string { return text + "\nx: {{ .nothing }}\n" },
			"retail-dev-eu-1", "retail-prod-eu-1"),
		broken("a release that does not exist", memberFile("retail-prod-eu-1"), func(text string) string {
			return strings.Replace(text, "labels:\n", "labels:\n  addonsRelease: nowhere\n", 1)
		}, "retail-prod-eu-1"),
		broken("a versions file that is no YAML", "versions/applicationSets.yaml", func(string) string { return "<<<<<<< HEAD\n" }),
		{
			name: "generator-plugin killed",
			begin: func(t *testing.T, e *environment) {
				must(t, e.Plugin.Process.Kill())
				e.refresh(t, false)
				e.eventually(t, "Argo CD notices", func() string { return e.withoutCondition("addons", "ErrorOccurred") })
			},
			end: func(t *testing.T, e *environment) { must(t, e.Plugin.Process.Restart(t.Context())) },
		},
		{
			name: "Git away", compare: true,
			begin: func(t *testing.T, e *environment) { must(t, e.Git.Down()); _ = e.Plugin.Pushed(t.Context()) },
			end:   func(t *testing.T, e *environment) { must(t, e.Git.Up()); _ = e.Plugin.Pushed(t.Context()) },
		},
		{
			name: "generator-plugin restarted while Git is away",
			begin: func(t *testing.T, e *environment) {
				must(t, e.Git.Down())
				must(t, e.Plugin.Process.Kill())
				must(t, e.Plugin.Process.Restart(t.Context())) // from what it accepted last (G4)
			},
			end: func(t *testing.T, e *environment) { must(t, e.Git.Up()); _ = e.Plugin.Pushed(t.Context()) },
		},
		{
			name:  "External Secrets away",
			begin: func(t *testing.T, e *environment) { must(t, e.Secrets.Process.Kill()) },
			end:   func(t *testing.T, e *environment) { must(t, e.Secrets.Process.Restart(t.Context())) },
		},
		{
			name: "a cluster Secret deleted while External Secrets is away", compare: true,
			begin: func(t *testing.T, e *environment) {
				must(t, e.Secrets.Process.Kill())
				must(t, e.Kube.Delete(t.Context(), kube.Secrets, hub.Namespace, "retail-prod-eu-1", metav1.DeletePropagationBackground))
				e.eventually(t, "it is gone", func() string {
					if e.ledger.get(hub.Name, "Secret", "retail-prod-eu-1") != nil {
						return "it is there"
					}
					return ""
				})
			},
			end: func(t *testing.T, e *environment) {
				must(t, e.Secrets.Process.Restart(t.Context()))
				e.eventually(t, "it is restored", func() string { return missing(e.ledger.get(hub.Name, "Secret", "retail-prod-eu-1")) })
				e.registered(t, "retail-prod-eu-1")
			},
			allowed: func(c change) bool { return c.kind == "Secret" && c.name == "retail-prod-eu-1" },
		},
		{
			name: "the token rotated",
			begin: func(t *testing.T, e *environment) {
				must(t, e.Plugin.RotateToken(t.Context()))
				e.refresh(t, false)
				e.eventually(t, "Argo CD asks with it", func() string { return e.condition("addons", "ErrorOccurred") })
			},
			end: func(*testing.T, *environment) {},
		},
		{
			name: "the hub's API server restarted", compare: true,
			begin: func(t *testing.T, e *environment) { must(t, e.Control.RestartAPIServer(t.Context())) },
			end:   func(*testing.T, *environment) {},
		},
		{
			name: "a spoke's API server restarted", compare: true,
			begin: func(t *testing.T, e *environment) {
				must(t, e.Spokes["retail-prod-eu-1"].RestartAPIServer(t.Context()))
			},
			end: func(*testing.T, *environment) {},
		},
		{
			name: "Argo CD's controllers restarted", compare: true,
			begin: func(t *testing.T, e *environment) {
				must(t, e.ArgoCD.ApplicationSets.Kill())
				must(t, e.ArgoCD.Controller.Kill())
				must(t, e.ArgoCD.ApplicationSets.Restart(t.Context()))
				must(t, e.ArgoCD.Controller.Restart(t.Context()))
			},
			end: func(*testing.T, *environment) {},
		},
	} {
		t.Run(f.name, func(t *testing.T) {
			mark, applications := e.ledger.mark(), len(e.ledger.all(hub.Name, "Application"))
			began := time.Now()
			f.begin(t, e)
			e.refresh(t, f.compare)
			f.end(t, e)
			e.within(t, 2*patience, "no ApplicationSet in error, without anybody's doing", func() string { return e.inError() })
			e.settle(t)
			e.timed("faults", f.name+": until all is synced again", began)
			for _, c := range e.ledger.since(mark) {
				if c.what != "added" && (f.allowed == nil || !f.allowed(c)) {
					wrong++
				}
			}
			e.only(t, mark, func(c change) bool { return f.allowed != nil && f.allowed(c) })
			if now := len(e.ledger.all(hub.Name, "Application")); now != applications {
				t.Errorf("%d Applications; there were %d", now, applications)
			}
			e.expected(t)
		})
	}
	t.Logf("Applications and deployed objects deleted or changed by a fault: %d", wrong)
}

// broken is a commit with an error, and the commit that mends it. Members that are named stay as
// they were, and the service goes on with the commit for all others; without any it must be refused
// as a whole.
func broken(name, path string, edit func(string) string, members ...string) fault {
	var before string
	return fault{
		name: name,
		begin: func(t *testing.T, e *environment) {
			before = e.read(t, path)
			served := e.revision(t)
			e.write(t, path, edit(before))
			e.push(t, "Break "+path)
			head, err := e.Fleet.Head(t.Context())
			must(t, err)
			if len(members) > 0 {
				e.eventually(t, "the service takes it, without the members that it breaks", func() string { return e.keeps(t, head, served, members) })
				e.refresh(t, false)
				e.planCheck.CheckBroken(t, e.patiently(t))
				return
			}
			e.eventually(t, "the service refuses it", func() string { return e.refuses(t, head) })
			if now := e.revision(t); now != served {
				t.Errorf("the service answers from %s; expected %s, the commit before", now, served)
			}
		},
		end: func(t *testing.T, e *environment) {
			e.write(t, path, before)
			e.push(t, "Mend "+path)
			head, err := e.Fleet.Head(t.Context())
			must(t, err)
			e.eventually(t, "the service takes the fixed commit", func() string { return e.keeps(t, head, "", nil) })
		},
	}
}

// keeps says so while the service does not answer from a commit, and for some members from another.
// When none are given, there must not be any such.
func (e *environment) keeps(t *testing.T, commit, before string, members []string) string {
	t.Helper()
	var out struct {
		Revision    string
		Quarantined []struct{ Member, Standing, Revision string }
	}
	e.ask(t, e.Plugin, http.MethodGet, "/readyz", nil, &out)
	kept := map[string]bool{}
	for _, q := range out.Quarantined {
		kept[q.Member] = q.Standing == "kept" && q.Revision == before
	}
	missing := slices.ContainsFunc(members, func(m string) bool { return !kept[m] })
	if out.Revision == commit && !missing && (len(members) > 0 || len(kept) == 0) {
		return ""
	}
	return fmt.Sprintf("it answers from %s; quarantined: %v", out.Revision, out.Quarantined)
}

// refuses says so while the service does not refuse a commit.
func (e *environment) refuses(t *testing.T, commit string) string {
	t.Helper()
	var out struct {
		Refused []struct{ Revision, Problem string }
	}
	e.ask(t, e.Plugin, http.MethodGet, "/readyz", nil, &out)
	for _, r := range out.Refused {
		if r.Revision == commit {
			return ""
		}
	}
	return fmt.Sprintf("refused: %v", out.Refused)
}

// refresh has every ApplicationSet ask the service again, and if compare says so every Application
// compared again.
func (e *environment) refresh(t *testing.T, compare bool) {
	t.Helper()
	// A value that is the same as the last changes nothing, and is no event.
	e.annotate(t, "ApplicationSet", kube.ApplicationSets, "argocd.argoproj.io/application-set-refresh", time.Now().Format(time.RFC3339Nano))
	if compare {
		e.annotate(t, "Application", kube.Applications, "argocd.argoproj.io/refresh", "normal")
	}
}

// annotate puts an annotation on all objects of a kind on the hub.
func (e *environment) annotate(t *testing.T, kind string, resource schema.GroupVersionResource, key, value string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	for name := range e.ledger.all(hub.Name, kind) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		_, err := e.Kube.Dynamic.Resource(resource).Namespace(hub.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		cancel()
		must(t, err)
	}
}

// withoutCondition says so while an ApplicationSet's condition is not true.
func (e *environment) withoutCondition(name, kind string) string {
	if e.condition(name, kind) != "" {
		return ""
	}
	return kind + " is not true"
}

// inError names the ApplicationSets that Argo CD has an error with.
func (e *environment) inError() string {
	var out []string
	for name := range e.ledger.all(hub.Name, "ApplicationSet") {
		if message := e.condition(name, "ErrorOccurred"); message != "" {
			out = append(out, name+": "+message)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// condition is the message of an ApplicationSet's condition while it is true.
func (e *environment) condition(name, kind string) string {
	o := e.ledger.get(hub.Name, "ApplicationSet", name)
	if o == nil {
		return "no ApplicationSet " + name
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == kind && m["status"] == "True" {
			return fmt.Sprint(m["message"])
		}
	}
	return ""
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
