package webhook

import (
	"fmt"
	"testing"
	"time"
)

// H10: deliveries are remembered for a minute, and so many of them.
func TestDeliveriesAreBounded(t *testing.T) {
	t.Parallel()
	d := NewDeliveries()
	began := time.Now()
	for _, c := range []struct {
		after time.Duration
		token string
		id    string
		want  bool
	}{
		{0, "a", "1", false},
		{0, "a", "", false},
		{0, "a", "", false}, // without a name it is always a new one
		{time.Second, "a", "1", true},
		{time.Second, "b", "1", false},
		{time.Second, "a", "2", false},
		{deliveryWindow - 1, "a", "1", true},
		{deliveryWindow, "a", "1", false}, // counted from when it came first
		{deliveryWindow, "a", "2", true},
		{deliveryWindow + time.Second, "a", "2", false},
		{2*deliveryWindow - 1, "a", "1", true},
	} {
		if got := d.Repeated(c.token, c.id, began.Add(c.after)); got != c.want {
			t.Errorf("%s's %q after %s: %v", c.token, c.id, c.after, got)
		}
	}
	later := began.Add(time.Hour)
	for i := range 3 * maxDeliveries {
		if d.Repeated("a", fmt.Sprint(i), later) {
			t.Fatal(i)
		}
		if n := d.seen.Len(); n > maxDeliveries {
			t.Fatalf("%d are remembered", n)
		}
	}
	if last := fmt.Sprint(3*maxDeliveries - 1); !d.Repeated("a", last, later) {
		t.Error("the last one is not known")
	}
	if d.Repeated("a", "0", later) {
		t.Error("the first one is still known")
	}
}
