package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/guard"
)

// RemovalApproval is a file below fleet/approvals (layout: guard.approvals): it approves removals beyond the removal budget,
// by the commit that brings it.
type RemovalApproval struct {
	APIVersion string `json:"apiVersion,omitempty" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind" jsonschema:"enum=RemovalApproval"`
	// Expires is the last day of the approval, in UTC; at most some 30 days ahead.
	Expires string `json:"expires" jsonschema:"format=date"`
	// Removals are what may go.
	Removals []ApprovedRemoval `json:"removals" jsonschema:"minItems=1"`
}

// ApprovedRemoval is what may go. All that it says has to hold for a removal. At least one of cluster, clusters, tenant and
// environment is required, and one of component and components.
type ApprovedRemoval struct {
	// Hub restricts it to the members of one hub.
	Hub string `json:"hub,omitempty"`
	// Cluster is a cluster's name, or "*" for any.
	Cluster string `json:"cluster,omitempty"`
	// Clusters are names, as of cluster.
	Clusters []string `json:"clusters,omitempty"`
	// Tenant and Environment are those of the member file: of a member whose file is gone nobody knows them.
	Tenant      string `json:"tenant,omitempty"`
	Environment string `json:"environment,omitempty"`
	// Component is group/component, group/*, or "*" for all.
	Component string `json:"component,omitempty"`
	// Components are several, as of component.
	Components []string `json:"components,omitempty"`
	// Reason is why this may go.
	Reason string `json:"reason" jsonschema:"minLength=1"`
}

// reasonToGive stands where the author says why.
const reasonToGive = "TODO: why this may go"

// NewRemovalApproval is an approval of what is wanted.
func NewRemovalApproval(wanted []guard.Wanted, expires string) *RemovalApproval {
	a := &RemovalApproval{APIVersion: APIVersion, Kind: fleet.ApprovalKind, Expires: expires}
	for _, w := range wanted {
		a.Removals = append(a.Removals, ApprovedRemoval{Hub: w.Hub, Clusters: w.Clusters, Components: w.Components, Reason: reasonToGive})
	}
	return a
}

// WriteApproval writes an approval as the file that it is to become.
func WriteApproval(w io.Writer, a *RemovalApproval) error {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nexpires: %s\nremovals:\n", a.APIVersion, a.Kind, a.Expires)
	list := func(key string, names []string) {
		fmt.Fprintf(&b, "    %s:\n", key)
		for _, n := range names {
			fmt.Fprintf(&b, "      - %s\n", text(n)) // JSON, which is YAML whatever the name
		}
	}
	for _, r := range a.Removals {
		fmt.Fprintf(&b, "  - hub: %s\n", text(r.Hub))
		list("clusters", r.Clusters)
		list("components", r.Components)
		fmt.Fprintf(&b, "    reason: %s\n", text(r.Reason))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// question says in a few words whose answer it is.
func (r PlanRefusal) question() string {
	out := r.Hub + " " + r.View
	if r.Component != "" {
		out = fmt.Sprintf("%s %s/%s, release %s", r.Hub, r.Group, r.Component, r.Release)
	}
	if r.Owner != fleet.OwnerHub {
		out += ", by " + r.Owner
	}
	return out
}

// guard writes what the service would not answer, if that is anything.
func (p *printer) guard(g PlanGuard) {
	for _, text := range firstOf(g.NotForeseen) {
		p.line("not foreseen: %s", text)
	}
	for _, v := range verdicts {
		if refused := g.because(v); len(refused) > 0 {
			p.line("")
			p.line("%s", p.bold(p.red(headline(v, len(refused)))))
			for _, text := range texts(refused) {
				p.line("  %s", text)
			}
		}
	}
	if g.Approval == nil {
		return
	}
	p.line("To approve, commit this with a reason, as a file in the folder of approvals:")
	p.line("")
	if p.err == nil {
		p.err = WriteApproval(p.w, g.Approval)
	}
}

// maxRefused is how many refusals text and Markdown list before they count.
const maxRefused = 8

// firstOf are the first of some lines, and how many more there are.
func firstOf(lines []string) []string {
	if len(lines) <= maxRefused+1 {
		return lines
	}
	return append(slices.Clone(lines[:maxRefused]), fmt.Sprintf("and %d more", len(lines)-maxRefused))
}

func texts(refused []PlanRefusal) []string {
	var out []string
	for _, r := range refused {
		out = append(out, r.question()+": "+r.Message)
	}
	return firstOf(out)
}

// verdicts are the reasons of refusals in the order in which they are shown: what an approval is for comes last, before it.
var verdicts = []guard.Verdict{guard.Unanswerable, guard.Waiting, guard.OverBudget}

func headline(v guard.Verdict, n int) string {
	switch v {
	case guard.Unanswerable:
		return fmt.Sprintf("broken: the service would refuse %s, and nothing of it changes, until that is mended", count(n, "answer"))
	case guard.Waiting:
		return fmt.Sprintf("hand-over: the service would refuse %s, and nothing of it is let go of, until whoever takes it has an answer", count(n, "answer"))
	}
	return fmt.Sprintf("removal budget: the service would refuse %s, and nothing of it is removed, until a commit approves", count(n, "answer"))
}

// guard adds what the service would not answer.
func (m *markdown) guard(g PlanGuard) {
	var b strings.Builder
	for _, text := range firstOf(g.NotForeseen) {
		fmt.Fprintf(&b, "\nnot foreseen: %s\n", escape(text))
	}
	for _, v := range verdicts {
		if refused := g.because(v); len(refused) > 0 {
			fmt.Fprintf(&b, "\n**%s**\n\n", escape(headline(v, len(refused))))
			for _, text := range texts(refused) {
				fmt.Fprintf(&b, "- %s\n", escape(text))
			}
		}
	}
	if b.Len() > 0 {
		m.add(b.String())
	}
	if g.Approval == nil {
		return
	}
	b.Reset()
	b.WriteString("\n<details><summary>To approve, commit this with a reason, as a file in the folder of approvals</summary>\n\n```yaml\n")
	_ = WriteApproval(&b, g.Approval) // into memory
	b.WriteString("```\n\n</details>\n")
	m.add(b.String())
}
