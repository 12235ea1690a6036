package lint

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
)

// ignoredByRegistration lists the annotations in which charts/fleet-secret names what it left out
// of a member's record. The reason is the one that a file's key would have.
var ignoredByRegistration = []struct {
	annotation      string
	reason          problem.Reason
	found, expected string
}{
	{"argosy.dev/ignored-keys", problem.UnknownKey, "has keys that nothing reads: %s", "cluster_name, server, config, metadata and addons"},
	{"argosy.dev/ignored-labels", problem.InvalidLabel, "has addons that are not labels and are left out: %s", "names and values of labels"},
}

// record reports the parts of a member's record that its registration left out.
func (l *linter) record(m *fleet.Member) {
	known, _ := l.st.Facts().Of(m.Name)
	for _, x := range ignoredByRegistration {
		ignored := known.Annotations[x.annotation]
		if ignored == "" {
			continue
		}
		l.problems = append(l.problems, problem.Problem{
			Reason: x.reason, Severity: problem.Warning, Pos: m.KeyPos("secretManagerSecretName"), Subject: fmt.Sprintf("record of member %q", m.Name),
			Found: fmt.Sprintf(x.found, problem.Truncate(ignored, 200)), Expected: x.expected, Hints: []string{"terraform/modules/member-record writes a record"},
			Hub: m.Hub, Cluster: m.Name,
		})
	}
}
