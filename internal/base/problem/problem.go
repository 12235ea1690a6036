// Package problem holds findings about a fleet repository as data.
//
//	problem.Problem{
//		Reason:   problem.InvalidValue,
//		Severity: problem.Error,
//		Pos:      problem.Pos{File: "clusters/prod-eu-1.yaml", Line: 3, Column: 9},
//		Subject:  `key "tier"`,
//		Found:    `"gold"`,
//		Expected: `"standard" or "premium"`,
//	}
//
// A Problem is an error with one line of text:
//
//	clusters/prod-eu-1.yaml:3:9: key "tier": "gold"; expected "standard" or "premium"
//
// Callers may rely on:
//
//  1. Reason codes are API: stable, documented in docs/reference/problems.md, and a metric's label.
//  2. The text is deterministic, and short enough for a Kubernetes condition.
//  3. The zero Pos means "unknown".
//
// Every package may import this one.
package problem

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Pos is a place in a file of the repository. Line and Column count from 1; 0 means unknown.
type Pos struct {
	// Repository names the repository of the file, where it is not the fleet repository (U1).
	Repository string `json:"repository,omitempty"`

	File   string `json:"file"`
	Line   int    `json:"line,omitempty" jsonschema:"minimum=1"`
	Column int    `json:"column,omitempty" jsonschema:"minimum=1"`
}

// String returns "file:line:column", without unknown parts. A file of another repository has the
// repository's name before it.
func (p Pos) String() string {
	s := p.File
	if p.Repository != "" {
		s = p.Repository + "//" + s
	}
	if p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			s += ":" + strconv.Itoa(p.Column)
		}
	}
	return s
}

// IsZero reports whether the place is unknown.
func (p Pos) IsZero() bool { return p == Pos{} }

// Compare orders positions by file, line and column.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(strings.Compare(p.Repository, q.Repository), strings.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Severity says what a Problem stops.
type Severity string

const (
	// Error stops the member (or the whole repository) from being computed.
	Error Severity = "error"
	// Warning is most likely not what the author meant, but the result is well defined.
	Warning Severity = "warning"
	// Note says what a reader may not expect. Nothing is wrong.
	Note Severity = "note"
)

// Reason is a stable code for a kind of problem; docs/reference/problems.md describes each.
type Reason string

// The reasons, in alphabetical order of their codes.
const (
	AmbiguousScalar    Reason = "ambiguous-scalar"
	ChartUnavailable   Reason = "chart-unavailable"
	ContradictoryLabel Reason = "contradictory-label"
	DuplicateKey       Reason = "duplicate-key"
	DuplicateMember    Reason = "duplicate-member"
	DuplicateName      Reason = "duplicate-name"
	DuplicateRelease   Reason = "duplicate-release"
	DuplicateSecret    Reason = "duplicate-secret"
	EmptyCatalog       Reason = "empty-catalog"
	EndedHold          Reason = "ended-hold"
	ExpansionFailed    Reason = "expansion-failed"
	ExpiredApproval    Reason = "expired-approval"
	ForbiddenFolder    Reason = "forbidden-folder"
	ForbiddenSecret    Reason = "forbidden-secret"
	ForbiddenValue     Reason = "forbidden-value"
	ForeignRepository  Reason = "foreign-repository"
	IncompleteCatalog  Reason = "incomplete-catalog"
	IncompleteRelease  Reason = "incomplete-release"
	InvalidApp         Reason = "invalid-app"
	InvalidApproval    Reason = "invalid-approval"
	InvalidHold        Reason = "invalid-hold"
	InvalidLabel       Reason = "invalid-label"
	InvalidLayout      Reason = "invalid-layout"
	InvalidMember      Reason = "invalid-member"
	InvalidProvision   Reason = "invalid-provision"
	InvalidRollout     Reason = "invalid-rollout"
	InvalidSecret      Reason = "invalid-secret"
	InvalidSelector    Reason = "invalid-selector"
	InvalidTeam        Reason = "invalid-team"
	InvalidValue       Reason = "invalid-value"
	InvalidVersions    Reason = "invalid-versions"
	InvalidYAML        Reason = "invalid-yaml"
	LFSPointer         Reason = "lfs-pointer"
	LimitExceeded      Reason = "limit-exceeded"
	MissingChart       Reason = "missing-chart"
	MissingCredential  Reason = "missing-credential"
	MissingEngine      Reason = "missing-engine"
	MissingFacts       Reason = "missing-facts"
	MissingFile        Reason = "missing-file"
	MissingFolder      Reason = "missing-folder"
	MissingHubMember   Reason = "missing-hub-member"
	MissingLayer       Reason = "missing-layer"
	MissingProject     Reason = "missing-project"
	MissingRoots       Reason = "missing-roots"
	MissingSecret      Reason = "missing-secret"
	MountBounds        Reason = "mount-bounds"
	MountNotRead       Reason = "mount-not-read"
	MultipleDocuments  Reason = "multiple-documents"
	NameMismatch       Reason = "name-mismatch"
	NamespaceConflict  Reason = "namespace-conflict"
	NoEffect           Reason = "no-effect"
	NoMembers          Reason = "no-members"
	NotDeployed        Reason = "not-deployed"
	NotExpanded        Reason = "not-expanded"
	NotImported        Reason = "not-imported"
	OutsideRepository  Reason = "outside-repository"
	PlaintextSecret    Reason = "plaintext-secret"
	RefusedRepository  Reason = "refused-repository"
	RemovalRefused     Reason = "removal-refused"
	ReplacedLabel      Reason = "replaced-label"
	ReservedLabel      Reason = "reserved-label"
	ReservedName       Reason = "reserved-name"
	TemplateFailed     Reason = "template-failed"
	TenantBudget       Reason = "tenant-budget"
	TypeConflict       Reason = "type-conflict"
	UnknownKey         Reason = "unknown-key"
	UnknownQuery       Reason = "unknown-query"
	UnknownRelease     Reason = "unknown-release"
	UnknownTenant      Reason = "unknown-tenant"
	UnreachableFile    Reason = "unreachable-file"
	UnsupportedEngine  Reason = "unsupported-engine"
	WideProject        Reason = "wide-project"
)

// Problem is one finding. Reason and Severity are required; Found and Expected are short phrases.
type Problem struct {
	// Reason is a stable code; docs/reference/problems.md describes each.
	Reason   Reason   `json:"reason"`
	Severity Severity `json:"severity" jsonschema:"enum=error,enum=warning,enum=note"`
	// Pos is where the problem is.
	Pos Pos `json:"position,omitzero"`
	// Subject names what the finding is about, for example `member "prod-eu-1"` or `key "tenannt"`.
	Subject  string `json:"subject,omitempty"`
	Found    string `json:"found,omitempty"`
	Expected string `json:"expected,omitempty"`
	// Hints are suggestions, each a phrase such as `did you mean "tenant"?`.
	Hints []string `json:"hints,omitempty"`
	// Related are other places that take part, for example the other side of a type conflict.
	Related []Pos `json:"related,omitempty"`
	// Hub and Cluster name the member concerned, if it is only one member.
	Hub     string `json:"hub,omitempty"`
	Cluster string `json:"cluster,omitempty"`
}

// Error returns the problem in one line: "file:line:column: subject: found; expected ...; hint".
func (p Problem) Error() string {
	var b strings.Builder
	if !p.Pos.IsZero() {
		b.WriteString(p.Pos.String())
		b.WriteString(": ")
	}
	b.WriteString(p.Message())
	return b.String()
}

// Message returns Error without the position.
func (p Problem) Message() string {
	parts := make([]string, 0, 4)
	head := p.Subject
	switch {
	case head == "":
		head = p.Found
	case p.Found != "":
		head += ": " + p.Found
	}
	if head == "" {
		head = string(p.Reason)
	}
	parts = append(parts, head)
	if p.Expected != "" {
		parts = append(parts, "expected "+p.Expected)
	}
	for _, r := range p.Related {
		parts = append(parts, "see "+r.String())
	}
	parts = append(parts, p.Hints...)
	return strings.Join(parts, "; ")
}

// Compare orders problems by position, then reason, then text, so that lists are deterministic.
func Compare(a, b Problem) int {
	if c := cmp.Or(a.Pos.Compare(b.Pos), strings.Compare(string(a.Reason), string(b.Reason)),
		strings.Compare(a.Hub, b.Hub), strings.Compare(a.Cluster, b.Cluster)); c != 0 {
		return c
	}
	return strings.Compare(a.Error(), b.Error()) // only if everything else is equal
}

// Sorted returns the problems in order and without repetitions; the argument is not changed.
func Sorted(ps []Problem) []Problem {
	out := slices.Clone(ps)
	slices.SortStableFunc(out, Compare)
	return slices.CompactFunc(out, func(a, b Problem) bool { return Compare(a, b) == 0 })
}

// Limits of how many problems are kept: no one reads more, and a hostile file can have any number.
const (
	OfFile    = 100
	OfCluster = 100
)

// Cut returns the first problems up to a limit, with one more that counts the rest.
func Cut(ps []Problem, limit int) []Problem {
	if len(ps) <= limit {
		return ps
	}
	worst := Warning
	if len(Errors(ps[limit:])) > 0 {
		worst = Error
	}
	return append(slices.Clone(ps[:limit]), More(ps[limit], len(ps)-limit, worst))
}

// More returns a problem that counts n problems which are not listed. It resembles like, with the
// worst severity among them.
func More(like Problem, n int, worst Severity) Problem {
	return Problem{
		Reason: like.Reason, Severity: worst, Pos: Pos{File: like.Pos.File}, Found: fmt.Sprintf("%d more problems are not listed", n),
		Hub: like.Hub, Cluster: like.Cluster,
	}
}

// Errors returns the problems whose severity is Error, in the order given.
func Errors(ps []Problem) []Problem {
	var out []Problem
	for _, p := range ps {
		if p.Severity == Error {
			out = append(out, p)
		}
	}
	return out
}

// From turns an error into problems. A Problem or List in its chain is returned unchanged, any
// other error as one problem with the given reason and place.
func From(err error, reason Reason, pos Pos) []Problem {
	if err == nil {
		return nil
	}
	var l List
	if errors.As(err, &l) {
		return l
	}
	var p Problem
	if errors.As(err, &p) {
		return []Problem{p}
	}
	return []Problem{{Reason: reason, Severity: Error, Pos: pos, Found: err.Error()}}
}

// List is several problems as one error; its text is the first's and the number of the others.
type List []Problem

// Error returns the first problem's text, followed by how many more there are.
func (l List) Error() string {
	switch len(l) {
	case 0:
		return "no problems"
	case 1:
		return l[0].Error()
	}
	return fmt.Sprintf("%s (and %d more)", l[0].Error(), len(l)-1)
}

// Nearest returns the hint `did you mean "x"?` for the known name closest to the unknown one. It
// returns nothing when no name is near, or when the unknown name is longer than a user would type.
// Near is a distance of at most a third of the length, at least 1 and at most 3.
func Nearest(unknown string, known []string) []string {
	const longest = 253
	if len(unknown) > longest {
		return nil
	}
	best, bestDistance := "", min(3, max(1, len(unknown)/3))+1
	lower := strings.ToLower(unknown)
	for _, k := range known {
		if len(k) > 2*longest { // is not near
			continue
		}
		if d := distance(lower, strings.ToLower(k)); d < bestDistance || d == bestDistance && k < best && best != "" {
			best, bestDistance = k, d
		}
	}
	if best == "" {
		return nil
	}
	return []string{fmt.Sprintf("did you mean %q?", best)}
}

// distance is the Levenshtein distance of two strings, by bytes. Swapping two neighbours, the most
// frequent typo, counts once.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			if a[i-1] == b[j-1] {
				row[j] = last[j-1]
				continue
			}
			row[j] = 1 + min(last[j-1], last[j], row[j-1])
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], 1+before[j-2])
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
