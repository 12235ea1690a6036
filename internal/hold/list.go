package hold

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is the kind of a List.
const Kind = "HoldList"

// MaxItems bounds the holds that a List shows.
const MaxItems = 1000

// List is the body of /api/v1/holds.
type List struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Revision is the newest accepted revision, and Since is when the service began to serve it.
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"`
	// Ready reports whether the service answers queries.
	Ready bool `json:"ready"`
	// RestrictedTo is the scope that the list is complete for; absent if the token allows all.
	RestrictedTo *Restriction `json:"restrictedTo,omitempty"`
	// Stale lists the inputs that cannot be read or used: nothing newer of them counts.
	Stale []Stale `json:"stale"`
	// Summary counts all holds that the query selects, by reason.
	Summary []Summary `json:"summary"`
	// Items are the first of them, and More counts the rest.
	Items []Hold `json:"items"`
	More  int    `json:"more"`
}

// Restriction is a token's scope; absent keys are not restricted.
type Restriction struct {
	Hubs    []string `json:"hubs,omitempty"`
	Owners  []string `json:"owners,omitempty"`
	Tenants []string `json:"tenants,omitempty"`
}

// Stale is an input of the service whose newest content does not count: the source or the facts.
type Stale struct {
	Cause  string    `json:"cause" jsonschema:"enum=source,enum=facts"`
	Since  time.Time `json:"since"`
	Detail string    `json:"detail"`
}

// Summary counts the holds of one reason.
type Summary struct {
	Reason Reason `json:"reason" jsonschema:"enum=broken,enum=draining,enum=removal,enum=limits,enum=ring,enum=dependency,enum=handover,enum=mount,enum=manual"`
	Ends   string `json:"ends"`
	Holds  int    `json:"holds"`
	// Members counts the clusters that the holds name.
	Members int `json:"members"`
	// Oldest is when the first of them began; absent where that is unknown.
	Oldest time.Time `json:"oldest,omitzero"`
}

// Summarize counts holds by reason, in the order of Reasons. Reasons without a hold are left out.
func Summarize(holds []Hold) []Summary {
	at := make([]Summary, len(Reasons))
	members := map[[3]string]bool{}
	for _, h := range holds {
		s := &at[slices.Index(Reasons, h.Reason)]
		s.Reason, s.Ends = h.Reason, ends[h.Reason]
		s.Holds++
		if key := [3]string{string(h.Reason), h.Hub, h.Cluster}; h.Cluster != "" && !members[key] {
			members[key] = true
			s.Members++
		}
		if !h.Since.IsZero() && (s.Oldest.IsZero() || h.Since.Before(s.Oldest)) {
			s.Oldest = h.Since
		}
	}
	return slices.DeleteFunc(at, func(s Summary) bool { return s.Holds == 0 })
}

// Card joins holds that differ in their cluster alone.
type Card struct {
	Hold
	// Cells are the holds. Their order is that of the list.
	Cells []Hold
}

// Scope names what the card is about, with the first of its clusters.
func (c Card) Scope(most int) string {
	var names []string
	for _, h := range c.Cells[:min(most, len(c.Cells))] {
		names = append(names, cmp.Or(h.Cluster, "all clusters"))
	}
	out := strings.Join(names, ", ")
	if more := len(c.Cells) - most; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return strings.TrimSpace(out + " " + c.Subject())
}

// Cards joins sorted holds.
func Cards(holds []Hold) (out []Card) {
	for _, h := range holds {
		if n := len(out); n > 0 && h.Cluster != "" && h.isLike(out[n-1].Hold) {
			out[n-1].Cells = append(out[n-1].Cells, h)
			if !h.Since.IsZero() && h.Since.Before(out[n-1].Since) {
				out[n-1].Since = h.Since
			}
			continue
		}
		out = append(out, Card{h, []Hold{h}})
	}
	return out
}

// isLike reports whether two holds differ in the cluster, its tenant and the time alone.
func (h Hold) isLike(o Hold) bool {
	h.Cluster, h.Tenant, h.Since = o.Cluster, o.Tenant, o.Since
	return o.Cluster != "" && h == o
}
