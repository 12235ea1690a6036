package webhook

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Bounds of Deliveries (H10). By default the service looks at the source every minute anyway.
const (
	maxDeliveries  = 1024
	deliveryWindow = time.Minute
)

// Deliveries remembers recent webhooks: a forge sends one again that got no response (rule 3).
type Deliveries struct {
	seen *lru.Cache[delivery, time.Time] // when each came first
}

// delivery is named by its forge. The same name with another token is another delivery.
type delivery struct{ token, id string }

// NewDeliveries remembers nothing yet.
func NewDeliveries() *Deliveries {
	seen, err := lru.New[delivery, time.Time](maxDeliveries)
	if err != nil {
		panic(err) //nolint:forbidigo // the size is above zero
	}
	return &Deliveries{seen}
}

// Repeated reports whether a delivery came before, and remembers it. One without a name never did.
func (d *Deliveries) Repeated(token, id string, now time.Time) bool {
	if id == "" {
		return false
	}
	this := delivery{token, id}
	came, known, _ := d.seen.PeekOrAdd(this, now)
	if known && now.Sub(came) < deliveryWindow {
		return true
	}
	d.seen.Add(this, now)
	return false
}
