package pipeline

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// movedClusters returns problems for members that move to another hub together with the objects
// that create their clusters. The objects stay on the first hub, whose controllers continue, and
// the other hub's controllers would manage the same cluster. An approval of the removal on the
// first hub says that this is handled.
func movedClusters(before, after *fleet.Fleet) (out []problem.Problem) {
	for _, from := range before.Hubs() {
		for _, was := range before.Members(from) {
			if was.Provision == nil || after.Member(from, was.Name) != nil || lifecycle.ApprovesDeletion(after, was) {
				continue
			}
			for _, to := range after.Hubs() {
				if is := after.Member(to, was.Name); is != nil && is.Provision != nil && before.Member(to, was.Name) == nil {
					out = append(out, problem.Problem{
						Reason: problem.InvalidProvision, Severity: problem.Error, Pos: is.KeyPos(provision.Key), Hub: to, Cluster: is.Name, Subject: fmt.Sprintf("cluster %q", is.Name),
						Found:    fmt.Sprintf("moves to hub %q, and what makes it stays on hub %q, whose controllers go on", to, from),
						Expected: fmt.Sprintf("its file below hub %s, or an approval of %s/%s of the cluster there, when its objects are no longer on that hub", from, provision.Group, was.Provision.Class),
					})
				}
			}
		}
	}
	return out
}
