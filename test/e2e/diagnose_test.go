package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

// late is what took too long, in all tests.
var late reports

type reports struct {
	mu    sync.Mutex
	texts []string
}

func (r *reports) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, text)
}

func (r *reports) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.texts)
}

// diagnose says what a flow waits for that took too long: what Argo CD knows about each Application
// that is not synced and healthy, what its controllers complained of last, and what the application
// controller's goroutines were doing, which is then started anew, for the flows that follow.
func (e *environment) diagnose(t *testing.T) string {
	t.Helper()
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for cluster, apps := range e.applications() {
		for _, name := range slices.Sorted(maps.Keys(apps)) {
			if state(apps[name]) != good {
				say("%s: Application %s: %s\n%s", cluster, name, state(apps[name]), account(apps[name]))
			}
		}
	}
	for _, p := range []*process.Process{e.ArgoCD.Controller, e.ArgoCD.ApplicationSets, e.ArgoCD.RepoServer} {
		say("%s complained last:\n%s", p.Name(), complaints(p))
	}
	if e.ArgoCD.Controller.Pid() != 0 {
		if err := e.ArgoCD.Controller.Quit(); err != nil {
			say("%v", err)
		}
		say("goroutines of %s that wait for a lock:\n%s", e.ArgoCD.Controller.Name(), blocked(e.ArgoCD.Controller))
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := e.ArgoCD.Controller.Restart(ctx); err != nil {
			say("%v", err)
		}
	}
	text := strings.Join(out, "\n")
	t.Log(text)
	return text
}

// applications are all that the ledger watches, by cluster.
func (e *environment) applications() map[string]map[string]*unstructured.Unstructured {
	e.ledger.mu.Lock()
	defer e.ledger.mu.Unlock()
	out := map[string]map[string]*unstructured.Unstructured{}
	for k, v := range e.ledger.known {
		if k.kind != "Application" {
			continue
		}
		if out[k.cluster] == nil {
			out[k.cluster] = map[string]*unstructured.Unstructured{}
		}
		out[k.cluster][k.name] = v.object
	}
	return out
}

// account is what an Application's status says about why it is not synced and healthy.
func account(app *unstructured.Unstructured) string {
	var out []string
	text := func(fields ...string) string {
		v, _, _ := unstructured.NestedString(app.Object, fields...)
		return v
	}
	list := func(fields ...string) []any {
		v, _, _ := unstructured.NestedSlice(app.Object, fields...)
		return v
	}
	out = append(out, fmt.Sprintf("  reconciled %s; operation %s since %s: %s", text("status", "reconciledAt"),
		text("status", "operationState", "phase"), text("status", "operationState", "startedAt"), text("status", "operationState", "message")))
	for _, c := range list("status", "conditions") {
		out = append(out, fmt.Sprintf("  condition %v", c))
	}
	for _, r := range list("status", "resources") {
		m, _ := r.(map[string]any)
		health, _, _ := unstructured.NestedString(m, "health", "status")
		if m["status"] != "Synced" || health != "" && health != "Healthy" {
			out = append(out, fmt.Sprintf("  %v/%v: %v %v", m["kind"], m["name"], m["status"], m["health"]))
		}
	}
	return strings.Join(out, "\n")
}

const lastComplaints = 15

// complaints are the last lines of a log that warn.
func complaints(p *process.Process) string {
	text, err := os.ReadFile(p.Log())
	if err != nil {
		return "  " + err.Error()
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "level=warning") || strings.Contains(line, "level=error") || strings.Contains(line, "level=fatal") {
			out = append(out, "  "+strings.TrimSpace(line[:min(len(line), 400)]))
		}
	}
	return strings.Join(out[max(0, len(out)-lastComplaints):], "\n")
}

// waiting is the first line of a goroutine in Go's own dump that has waited for some minutes.
var waiting = regexp.MustCompile(`^goroutine \d+ .*\[(sync\.|semacquire|chan send|select).*, \d+ minutes`)

const mostBlocked = 12

// blocked are the goroutines in a log's dump that have waited long for a lock or to hand something
// over, cut to where they stand.
func blocked(p *process.Process) string {
	text, err := os.ReadFile(p.Log())
	if err != nil {
		return "  " + err.Error()
	}
	var out []string
	for _, stack := range bytes.Split(text, []byte("\n\n")) {
		lines := strings.Split(strings.TrimSpace(string(stack)), "\n")
		if waiting.MatchString(lines[0]) && len(out) < mostBlocked {
			out = append(out, "  "+strings.Join(lines[:min(len(lines), 13)], "\n  "))
		}
	}
	return strings.Join(out, "\n")
}
