package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// parse reads a policy from its text.
func parse(t *testing.T, text string) (*Policy, []problem.Problem) {
	t.Helper()
	file := snapshot.NewFile(Folder+"/all.yaml", []byte(text), 1<<20)
	doc, err := yamldoc.ParseLenient(file.Path, file.Data, nil)
	return Parse(file, doc, err)
}

// policy is a valid one.
func policy(t *testing.T, text string) *Policy {
	t.Helper()
	p, problems := parse(t, "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\n"+text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

func TestPolicyIsRead(t *testing.T) {
	t.Parallel()
	p := policy(t, `
scope: {groups: [addons], components: [resources/quota], tenants: [payments]}
rings:
- name: canary
  selector: {matchLabels: {ring: canary}}
  soak: 30m
  onFailure: back
- name: prod
  selector: {matchExpressions: [{key: ring, operator: NotIn, values: [canary]}]}
  maxUnavailable: 10%
  soak: 24h
  deadline: 1h
  approval: required
  windows: [{days: [mon, tue], from: "09:00", to: "17:00", timeZone: Europe/Berlin}]
  freezes: [{from: 2026-12-20, to: 2027-01-06, timeZone: Europe/Berlin, reason: year's end}]
approvals: [{ring: prod, revision: 0123456789ab, expires: 2026-12-01, overtake: true, reason: hotfix}]
pins: [{ring: canary, revision: "1234567"}]
`)
	if !p.Scope.Covers("addons", "dns") || !p.Scope.Covers("resources", "quota") || p.Scope.Covers("resources", "other") || p.Scope.Covers("fleet", "fleet-secret") || p.Scope.CoversTenant("other") {
		t.Error(p.Scope)
	}
	prod := p.Rings[1]
	if prod.MaxUnavailable.Of(25) != 2 || prod.Soak != 24*time.Hour || !prod.NeedsApproval || prod.GoesBack || !p.Rings[0].GoesBack {
		t.Errorf("%+v", prod)
	}
	assert.Equal(t, "2027-01-06T23:00:00Z", prod.Freezes[0].To.UTC().Format(time.RFC3339), "the last day ends at")
	m := func(ring string) Member { return Member{Tenant: "payments", Labels: map[string]string{"ring": ring}} }
	if p.RingOf(m("canary")) != 0 || p.RingOf(m("eu")) != 1 {
		t.Error("another ring")
	}
	if (Scope{}).Covers("fleet", "fleet-secret") || !(Scope{}).Covers("addons", "dns") {
		t.Error("without groups, a scope is all but what registers clusters")
	}
}

// TestPolicyProblems: each mistake has its place, and says what is expected.
func TestPolicyProblems(t *testing.T) {
	t.Parallel()
	const head, ring = "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\n", "rings: [{name: a, selector: {}}]\n"
	for text, want := range map[string]string{
		"rings: [{name: a, selector: {}}]\n": `fleet/rollouts/all.yaml:1:1: key "kind": missing or empty`,
		head:                                 `key "rings": missing or empty`,
		head + "rings: [{name: a}]\n":        `key "rings[0].selector": missing or empty`,
		head + "rings: [{name: a, selector: {matchLabel: {}}}]\n":                                       `key "matchLabel" is not known; did you mean "matchLabels"?`,
		head + "rings: [{name: a, selector: {x: 1}}]\n":                                                 `key "rings[0].selector": key "x" is not known; expected matchLabels`,
		head + "rings: [{name: a, selector: {}}, {name: a, selector: {}}]\n":                            `"a" is the name of another ring`,
		head + "rings: [{name: a, selector: {}, soak: 3 days}]\n":                                       `key "rings[0].soak": "3 days"; expected a duration`,
		head + "rings: [{name: a, selector: {}, maxUnavailable: few}]\n":                                `"few"; expected a number such as 1, or a share such as 10%`,
		head + "rings: [{name: a, selector: {}, onFailure: stop}]\n":                                    `"stop"; expected hold or back`,
		head + "rings: [{name: a, selector: {}, windows: [{from: 9}]}]\n":                               `key "rings[0].windows[0].from": "9"`,
		head + "rings: [{name: a, selector: {}, windows: [{timeZone: Mars}]}]\n":                        `"Mars"; expected a time zone`,
		head + "rings: [{name: a, selector: {}, freezes: [{from: x, to: 2026-01-01}]}]\n":               `"x"; expected a day`,
		head + "rings: [{name: a, selector: {}, checks: [{name: c, url: \"file:///x\"}]}]\n":            `"file:///x"; expected an address`,
		head + "rings: [{name: a, selector: {}, checks: [{name: c, url: \"https://u:p@h/\"}]}]\n":       `it has a user or a password`,
		head + "rings: [{name: a, selector: {}, checks: [{name: c, url: \"https://h\", query: up}]}]\n": `query, min and max belong together`,
		head + ring + "pins: [{ring: b, revision: abcdefg}]\n":                                          `"b" is not a ring`,
		head + ring + "pins: [{ring: a, revision: abc}]\n":                                              `"abc"; expected a revision`,
		head + ring + "approvals: [{ring: a, revision: abcdefg, reason: x}]\n":                          `key "approvals[0].expires"`,
		head + ring + "ring: []\n": `key "ring": not known`,
		"a: [":                     "fleet/rollouts/all.yaml:",
	} {
		_, problems := parse(t, text)
		var all []string
		for _, p := range problems {
			all = append(all, p.Error())
			if p.Pos.File != Folder+"/all.yaml" {
				t.Errorf("%q: no place: %v", text, p)
			}
		}
		assert.Contains(t, strings.Join(all, "\n"), want, "%q: %q, want", text, all)
	}
}

// TestCoverage: every member in exactly one ring of a scope, no ring without members, no overlap.
func TestCoverage(t *testing.T) {
	t.Parallel()
	rings := `
rings:
- {name: one, selector: {matchLabels: {ring: one}}}
- {name: two, selector: {matchExpressions: [{key: ring, operator: In, values: [one, two]}]}}
- {name: none, selector: {matchLabels: {ring: none}}}
`
	all, addons := policy(t, rings), policy(t, "scope: {components: [addons/dns]}\n"+rings)
	all.Name, addons.Name = "all", "addons"
	member := func(name, ring string) Member {
		return Member{Hub: "h", Name: name, Labels: map[string]string{"ring": ring}}
	}
	var got []string
	for _, p := range Coverage([]*Policy{all, addons}, []Member{member("a", "one"), member("b", "two"), member("c", "x")}) {
		got = append(got, string(p.Severity)+" "+p.Subject+": "+p.Found)
	}
	want := []string{
		`error member "a" of hub "h": the rings one and two of rollout "all" select it; it counts as a member of "two"`,
		`error member "c" of hub "h": no ring of rollout "all" selects it; it counts as a member of the last, "none"`,
		`warning ring "none" of rollout "all": selects no member`,
		`error rollout "addons": its scope overlaps with the scope of rollout "all", whose rings count`,
	}
	assert.Equal(t, want, got[:min(len(got), 4)])
	for _, c := range []struct {
		a, b Scope
		want bool
	}{
		{Scope{}, Scope{}, true},
		{Scope{Tenants: []string{"a"}}, Scope{Tenants: []string{"b"}}, false},
		{Scope{Groups: []string{"addons"}}, Scope{Components: []string{"addons/dns"}}, true},
		{Scope{Groups: []string{"addons"}}, Scope{Components: []string{"resources/dns"}}, false},
		{Scope{}, Scope{Groups: []string{"fleet"}}, false},
		{Scope{Components: []string{"addons/a"}}, Scope{Components: []string{"addons/b"}}, false},
	} {
		if c.a.Overlaps(c.b) != c.want || c.b.Overlaps(c.a) != c.want {
			t.Errorf("%+v %+v: want %t", c.a, c.b, c.want)
		}
	}
}
