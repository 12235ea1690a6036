package e2e

import (
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
)

// centralized compares what runs on each spoke with what the service computed for it: every
// component that is enabled there is deployed, with the merged values, by an Application that is
// synced; what the cluster Secret alone knows (aws_vpc_id) has arrived in the values.
func centralized(t *testing.T, e *environment) {
	checked := 0
	for _, group := range groups {
		for _, s := range e.components(t, group) {
			if s.Deletion != "orphan" {
				t.Errorf("%s: deletion is %q; expected orphan (D1)", s.ApplicationName, s.Deletion)
			}
			if got := state(e.app(s.ApplicationName)); got != good {
				t.Errorf("%s is %s; expected %s", s.ApplicationName, got, good)
			}
			if s.Name == hub.Name || s.Chart.Path != "" { // the charts of this repository make objects of their own
				continue
			}
			checked++
			e.runs(t, s)
		}
	}
	if checked < 4*len(e.spokes()) {
		t.Errorf("%d components were compared; expected more of %d spokes", checked, len(e.spokes()))
	}
	for _, name := range e.spokes() {
		want := e.Facts(name).Annotations["aws_vpc_id"]
		if have := e.value(name, "aws-load-balancer-controller", "vpcId"); want == "" || have != want {
			t.Errorf("%s: vpcId is %v; expected %q, as the cluster Secret's annotation says", name, have, want)
		}
	}
}

// runs fails where a component does not run on its spoke with the values that were computed for it.
func (e *environment) runs(t *testing.T, s set) {
	t.Helper()
	if have, want := e.values(s.Name, s.ReleaseName), s.parsed(t); !sameTree(have, want) {
		t.Errorf("%s: the values on the spoke are\n%v\nexpected\n%v", s.ApplicationName, have, want)
	}
	deployment := e.ledger.get(s.Name, "Deployment", s.ReleaseName)
	if deployment == nil {
		t.Errorf("%s: no Deployment %s on the spoke", s.ApplicationName, s.ReleaseName)
		return
	}
	if ready, _, _ := unstructured.NestedInt64(deployment.Object, "status", "readyReplicas"); ready < 1 {
		t.Errorf("%s: Deployment %s has %d pods ready; expected at least 1", s.ApplicationName, s.ReleaseName, ready)
	}
}

// sameTree compares values as JSON sees them: a chart's values go through YAML once more than ours.
func sameTree(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && sameJSON(x, y)
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
