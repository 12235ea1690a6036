package board

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/service/access"
)

// Held lists what is held, and until what.
type Held struct {
	// Stale lists the inputs that cannot be read or used: nothing newer of them counts.
	Stale   []hold.Stale   `json:"stale"`
	Summary []hold.Summary `json:"summary"`
	// Holds are the first of those that the query selects, and More counts the rest.
	Holds []hold.Hold `json:"holds"`
	More  int         `json:"more"`

	Query   hold.Query    `json:"-"`
	Reasons []hold.Reason `json:"-"` // to choose from
	Cards   []HeldCard    `json:"-"`
}

// HeldCard shows holds that differ in their cluster alone.
type HeldCard struct {
	hold.Card
	// Clusters are the first of their clusters; Others counts the rest.
	Clusters []HeldCluster
	Others   int
}

// HeldCluster is a cluster of a card. A cluster without a page has no link.
type HeldCluster struct {
	Name                    string
	HasPage, HasExplanation bool
}

// maxHeldClusters bounds the clusters of a card.
const maxHeldClusters = 50

// Held lists the holds that a query selects, of all that the reader sees.
func (x Reader) Held(all []hold.Hold, q hold.Query, stale []hold.Stale) Held {
	out := Held{Stale: stale, Query: q, Reasons: hold.Reasons, Holds: q.Of(all)}
	if !x.Scope.SeesEverything() {
		for i := range out.Stale {
			out.Stale[i].Detail = access.Withheld
		}
	}
	out.Summary = hold.Summarize(out.Holds)
	out.More = max(0, len(out.Holds)-hold.MaxItems)
	out.Holds = out.Holds[:len(out.Holds)-out.More]
	for _, c := range hold.Cards(out.Holds) {
		card := HeldCard{Card: c}
		for _, h := range c.Cells {
			if h.Cluster == "" {
				continue
			}
			if len(card.Clusters) == maxHeldClusters {
				card.Others++
				continue
			}
			known := x.State.Cluster(h.Hub, h.Cluster) != nil
			explained := known && h.Component != "" && slices.Contains(x.State.ComponentsOf(h.Hub, h.Cluster, h.Group), h.Component)
			card.Clusters = append(card.Clusters, HeldCluster{h.Cluster, known, explained})
		}
		out.Cards = append(out.Cards, card)
	}
	return out
}
