package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// Rollout is the order in which an ApplicationSet syncs its changed Applications: step after step,
// each when the one before is healthy (spec.strategy of type RollingSync).
type Rollout struct {
	ApplicationSet string `json:"applicationSet"`
	Owner          string `json:"owner"`
	// Steps are all of them, in order, with the Applications that change in each.
	Steps []Step `json:"steps"`
	// Outside lists Applications that no step selects: Argo CD does not sync them by itself.
	Outside []string `json:"outside,omitempty"`
}

// Step is one step of a Rollout. Applications may be none.
type Step struct {
	Selector     string   `json:"selector"`
	Applications []string `json:"applications"`
}

// rollouts collects the changed Applications of ApplicationSets with steps.
type rollouts map[object.Key]*Rollout

func (r rollouts) add(application *object.Object) {
	if application == nil || !application.Application() || !application.Parent.IsSet() {
		return
	}
	set := application.Parent
	steps := set.Steps()
	if len(steps) == 0 {
		return
	}
	out := r[set.Key()]
	if out == nil {
		out = &Rollout{Owner: set.Engine, ApplicationSet: set.Name(), Steps: make([]Step, len(steps))}
		r[set.Key()] = out
		for i, s := range steps {
			out.Steps[i] = Step{Selector: selectorText(s), Applications: []string{}}
		}
	}
	for i, s := range steps {
		if selects(s, application) {
			out.Steps[i].Applications = append(out.Steps[i].Applications, application.Name())
			return
		}
	}
	out.Outside = append(out.Outside, application.Name())
}

func (r rollouts) sorted() []Rollout {
	var out []Rollout
	for _, k := range slices.SortedFunc(maps.Keys(r), func(a, b object.Key) int {
		return strings.Compare(a.Engine+" "+a.Name, b.Engine+" "+b.Name)
	}) {
		out = append(out, *r[k])
	}
	return out
}

// selects evaluates a step's expressions as Argo CD does: In and NotIn over the Application's
// labels. All of them must hold.
func selects(step any, o *object.Object) bool {
	expressions, _ := manifest.At(step, "matchExpressions").([]any)
	for _, e := range expressions {
		key, _ := manifest.At(e, "key").(string)
		operator, _ := manifest.At(e, "operator").(string)
		values, _ := manifest.At(e, "values").([]any)
		if slices.Contains(values, any(o.Label(key))) != (operator == "In") {
			return false
		}
	}
	return true
}

func selectorText(step any) string {
	expressions, _ := manifest.At(step, "matchExpressions").([]any)
	var out []string
	for _, e := range expressions {
		operator := "in"
		if o, _ := manifest.At(e, "operator").(string); o == "NotIn" {
			operator = "not in"
		}
		values, _ := manifest.At(e, "values").([]any)
		out = append(out, fmt.Sprintf("%v %s %v", manifest.At(e, "key"), operator, values))
	}
	return strings.Join(out, ", ")
}
