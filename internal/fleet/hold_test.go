package fleet

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	holdFile   = "fleet/holds/chg-1.yaml"
	holdHeader = "apiVersion: argosy.dev/v1alpha1\nkind: Hold\nowner: team-platform\nreason: CHG-1\n"
)

// TestHolds: a hold covers what it names, and nothing else, until its last day ends where its time
// zone is.
func TestHolds(t *testing.T) {
	for text, want := range map[string][3]bool{ // addons/dns, addons/web and the registration of cluster c
		"clusters: [c]\ncomponents: [addons/dns]":                                                {true, false, false},
		"clusters: [b, c]\ncomponents: [x/y, addons/*]":                                          {true, true, false},
		"clusters: [c]\ncomponents: ['*']":                                                       {true, true, true},
		"clusters: [c]\ncomponents: [fleet/fleet-secret]":                                        {false, false, true},
		"clusters: [b]\ncomponents: ['*']":                                                       {},
		"selector: {}\ncomponents: [addons/dns]":                                                 {true, false, false},
		"selector: {matchLabels: {environment: e, tenant: t, hub: hub}}\ncomponents: [addons/*]": {true, true, false},
		"selector: {matchLabels: {environment: f}}\ncomponents: ['*']":                           {},
	} {
		f := load(t, map[string]string{path: identity, holdFile: holdHeader + "until: 2026-12-01\n" + text + "\n"})
		h, m := f.Holds[0], f.Member("hub", "c")
		assert.Equal(t, "chg-1", h.Name)
		assert.Equal(t, want, [3]bool{h.Covers(m, "addons", "dns"), h.Covers(m, "addons", "web"), h.Covers(m, "fleet", "fleet-secret")}, "%s", text)
		assert.Equal(t, want != [3]bool{}, h.CoversMember(m), "%s", text)
	}
	for zone, ends := range map[string]string{"": "2026-12-02T00:00:00Z", "Europe/Berlin": "2026-12-01T23:00:00Z"} {
		h := load(t, map[string]string{path: identity, holdFile: holdHeader + "until: 2026-12-01\nselector: {}\ncomponents: ['*']\ntimeZone: " + zone + "\n"}).Holds[0]
		assert.Equal(t, ends, h.Ends().UTC().Format(time.RFC3339), "%s", zone)
		assert.Equal(t, [2]bool{false, true}, [2]bool{h.EndedAt(h.Ends().Add(-1)), h.EndedAt(h.Ends())}, "%s", zone)
	}
}

// TestHoldErrors: an error in a hold file stops the repository as a whole; an unknown name is a
// warning.
func TestHoldErrors(t *testing.T) {
	good := holdHeader + "until: 2026-12-01\nclusters: [c]\ncomponents: [addons/dns]\n"
	for text, want := range map[string]string{
		good: "",
		strings.Replace(good, "owner: team-platform\n", "", 1):                  `invalid-hold fleet/holds/chg-1.yaml:1:1: key "owner": missing or empty; expected the team or the person to ask`,
		strings.Replace(good, "CHG-1", "' '", 1):                                `invalid-hold fleet/holds/chg-1.yaml:4:1: key "reason": missing or empty; expected why the components are held`,
		strings.Replace(good, "until: 2026-12-01\n", "", 1):                     `invalid-hold fleet/holds/chg-1.yaml:1:1: key "until": missing or empty; expected the last day of the hold, such as 2026-12-24`,
		strings.Replace(good, "2026-12-01", "2026-02-30", 1):                    `invalid-hold fleet/holds/chg-1.yaml:5:8: key "until": "2026-02-30"; expected the last day of the hold, such as 2026-12-24`,
		strings.Replace(good, "reason", "raeson", 1):                            `unknown-key fleet/holds/chg-1.yaml:4:1: key "raeson": not known in the hold; did you mean "reason"?`,
		strings.Replace(good, "kind: Hold", "kind: Hodl", 1):                    `invalid-value fleet/holds/chg-1.yaml:2:7: key "kind": "Hodl"; expected "Hold"`,
		strings.Replace(good, "clusters: [c]\n", "", 1):                         `invalid-hold fleet/holds/chg-1.yaml:1:1: hold "chg-1": names no cluster; expected clusters or a selector`,
		strings.Replace(good, "clusters: [c]", "clusters: []", 1):               `invalid-hold fleet/holds/chg-1.yaml:1:1: hold "chg-1": names no cluster; expected clusters or a selector`,
		strings.Replace(good, "clusters: [c]", "clusters: ['*']", 1):            `invalid-hold fleet/holds/chg-1.yaml:6:12: key "clusters[0]": "*" is not a DNS-1123 label; expected lower case letters, digits and inner hyphens, at most 63`,
		good + "selector: {}\n":                                                 `invalid-hold fleet/holds/chg-1.yaml:8:11: key "selector": given beside clusters; expected clusters or a selector`,
		strings.Replace(good, "clusters: [c]", "selector: {matchLabel: {}}", 1): `invalid-hold fleet/holds/chg-1.yaml:6:11: key "selector": key "matchLabel" is not known; did you mean "matchLabels"?; expected matchLabels and matchExpressions over the labels of member files; {} selects all`,
		strings.Replace(good, "[addons/dns]", "[]", 1):                          `invalid-hold fleet/holds/chg-1.yaml:7:1: key "components": missing or empty; expected group/component, group/*, or "*" for all`,
		strings.Replace(good, "addons/dns", "dns", 1):                           `invalid-hold fleet/holds/chg-1.yaml:7:13: key "components": components[0] is "dns"; expected group/component, group/*, or "*" for all`,
		good + "timeZone: Berlin\n":                                             `invalid-hold fleet/holds/chg-1.yaml:8:11: key "timeZone": "Berlin"; expected a time zone such as Europe/Berlin; without one, UTC`,
		strings.Replace(good, "addons/dns", "adons/dns", 1):                     `invalid-hold fleet/holds/chg-1.yaml:7:1: group "adons": not in this fleet, so that nothing of it is held; did you mean "addons"?`,
		strings.Replace(good, "clusters: [c]", "clusters: [c, d]", 1):           `invalid-hold fleet/holds/chg-1.yaml:6:1: cluster "d": not in this fleet, so that nothing of it is held; did you mean "c"?`,
	} {
		f, err := Load(snapshot.FromMap(map[string]string{path: identity, holdFile: text}), hierarchy.NewCache(), nil)
		var problems problem.List
		if errors.As(err, &problems); err == nil {
			problems = f.HoldProblems
			require.Equal(t, 1, len(f.Holds))
		}
		if got := texts(problems); got != want || (err != nil) != (len(problem.Errors(problems)) > 0) {
			t.Errorf("%s\n%s\nwant\n%s", text, got, want)
		}
	}
	_, err := Load(snapshot.FromMap(map[string]string{path: identity, "fleet/holds/CHG.yaml": good}), hierarchy.NewCache(), nil)
	require.Contains(t, fmt.Sprint(err), `fleet/holds/CHG.yaml:1:1: hold "CHG": is not a hold's name; expected a file named by a DNS-1123 label, such as chg-1.yaml`)
}
