package lint

import (
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/rollout"
)

// rollouts reports what is wrong between rollout policies and members, and files in their folder
// that nobody reads.
func (l *linter) rollouts() {
	if policies := l.st.Fleet.Rollouts; len(policies) > 0 {
		var members []rollout.Member
		for m := range l.st.Clusters() {
			members = append(members, m.InRollout())
		}
		l.problems = append(l.problems, rollout.Coverage(policies, members)...)
	}
	for _, file := range l.st.Resolver().Snapshot.Under(rollout.Folder) {
		l.reachable[file] = true
		if _, is := rollout.PolicyName(file); !is {
			l.problems = append(l.problems, problem.Problem{
				Reason: problem.UnreachableFile, Severity: problem.Warning, Pos: problem.Pos{File: file}, Subject: "file",
				Found: "is in the folder of rollout policies, and is none", Expected: "files named " + rollout.Folder + "/<name>.yaml",
			})
		}
	}
}
