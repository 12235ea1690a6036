package rollout

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestWindowsAgreeWithASecondImplementation: 10,000 instants in 8 time zones, many of them near a
// change of summer time.
func TestWindowsAgreeWithASecondImplementation(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 8))
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca"} {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		changes := changesOf(zone)
		for i := range 10_000 / 8 {
			at := time.Unix(1_760_000_000+random.Int64N(2*365*86400), 0)
			if len(changes) > 0 && random.IntN(2) == 0 {
				at = changes[random.IntN(len(changes))].Add(time.Duration(random.IntN(6*3600)-3*3600) * time.Second)
			}
			w := Window{From: random.IntN(24 * 60), To: 1 + random.IntN(24*60), Zone: zone}
			for day := range time.Saturday + 1 {
				if random.IntN(2) == 0 {
					w.Days = append(w.Days, day)
				}
			}
			if w.From == w.To {
				continue
			}
			require.Equal(t, isOpenByText(w, at), w.isOpen(at), "%s %+v at %s", name, w, at.In(zone))
			if i%16 > 0 { // a search takes longer
				continue
			}
			r := &Ring{Windows: []Window{w}}
			if next := r.NextOpen(at); next.Before(at) || !isOpenByText(w, next) || next.After(at) && isOpenByText(w, next.Add(-time.Minute)) && next.Add(-time.Minute).After(at) {
				t.Fatalf("%s %+v from %s: %s is not the first open moment", name, w, at.In(zone), next.In(zone))
			}
		}
	}
}

// changesOf are the moments at which the offset of a zone changes.
func changesOf(zone *time.Location) (out []time.Time) {
	at := time.Unix(1_760_000_000, 0).Truncate(time.Hour)
	for range 2 * 365 * 24 {
		_, before := at.In(zone).Zone()
		if _, after := at.Add(time.Hour).In(zone).Zone(); before != after {
			out = append(out, at)
		}
		at = at.Add(time.Hour)
	}
	return out
}

// isOpenByText is the second implementation: it compares what the clock on the wall shows, as text,
// and takes a window over midnight apart into two.
func isOpenByText(w Window, at time.Time) bool {
	format := func(minutes int) string {
		if minutes == 24*60 {
			return "24:00"
		}
		return time.Date(2000, 1, 1, 0, minutes, 0, 0, time.UTC).Format("15:04")
	}
	day, clock, _ := strings.Cut(at.In(w.Zone).Format("Monday 15:04"), " ")
	for _, d := range []time.Weekday{0, 1, 2, 3, 4, 5, 6} {
		if len(w.Days) > 0 && !slices.Contains(w.Days, d) {
			continue
		}
		next := time.Weekday((int(d) + 1) % 7)
		from, to := format(w.From), format(w.To)
		switch {
		case from < to && day == d.String() && clock >= from && clock < to,
			from > to && day == d.String() && clock >= from,
			from > to && day == next.String() && clock < to:
			return true
		}
	}
	return false
}

// TestFreezeEnds: a freeze closes an open window, and NextOpen looks beyond it, however long it is.
func TestFreezeEnds(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	r := &Ring{
		Windows: []Window{{Days: []time.Weekday{time.Tuesday}, From: 9 * 60, To: 10 * 60, Zone: time.UTC}},
		Freezes: []Freeze{{From: from, To: from.AddDate(0, 3, 0)}},
	}
	if at := from.Add(9*time.Hour + time.Minute); r.IsOpen(at) {
		t.Error("a Tuesday in the freeze is open")
	}
	if got, want := r.NextOpen(from), time.Date(2027, 3, 2, 9, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("%s, want %s", got, want)
	}
	if never := (&Ring{Windows: []Window{{From: 0, To: 1, Zone: time.UTC}}, Freezes: []Freeze{{From: from, To: from.AddDate(99, 0, 0)}}}).NextOpen(from); never.IsZero() {
		t.Error("the window after 99 years is not found")
	}
}
