package rollout

import (
	"slices"
	"time"
	_ "time/tzdata" // the image has no time zones
)

// isOpen reports whether a window is open, by local time: an hour that the clock skips is never
// open, and an hour that comes twice is open twice.
func (w Window) isOpen(at time.Time) bool {
	local := at.In(w.Zone)
	minute := local.Hour()*60 + local.Minute()
	if w.From < w.To {
		return w.opensOn(local.Weekday()) && minute >= w.From && minute < w.To
	}
	if minute >= w.From {
		return w.opensOn(local.Weekday())
	}
	return minute < w.To && w.opensOn((local.Weekday()+6)%7)
}

func (w Window) opensOn(day time.Weekday) bool {
	return len(w.Days) == 0 || slices.Contains(w.Days, day)
}

// freeze returns the freeze that a moment is in, nil for none.
func (r *Ring) freeze(at time.Time) *Freeze {
	for i, f := range r.Freezes {
		if !at.Before(f.From) && at.Before(f.To) {
			return &r.Freezes[i]
		}
	}
	return nil
}

// IsOpen reports whether the ring may take a train at a moment.
func (r *Ring) IsOpen(at time.Time) bool {
	return r.freeze(at) == nil && (len(r.Windows) == 0 || slices.ContainsFunc(r.Windows, func(w Window) bool { return w.isOpen(at) }))
}

// searched is how far NextOpen looks ahead beyond freezes.
const searched = 15 * 24 * time.Hour

// NextOpen returns the first moment, beginning with from, at which the ring may take a train; zero
// if there is none within two weeks.
func (r *Ring) NextOpen(from time.Time) time.Time {
	if r.IsOpen(from) {
		return from
	}
	at := from.Truncate(time.Minute).Add(time.Minute)
	for end := from.Add(searched); at.Before(end); {
		if f := r.freeze(at); f != nil {
			end = end.Add(f.To.Sub(at))
			at = f.To
			continue
		}
		if r.IsOpen(at) {
			return at
		}
		at = at.Add(r.closed(at))
	}
	return time.Time{}
}

// closed returns how long all windows, which are closed now, stay closed at least: until the first
// window begins by its clock. Where a clock changes before that, it is a minute.
func (r *Ring) closed(at time.Time) time.Duration {
	const day = 24 * 60
	shortest := day * time.Minute
	for _, w := range r.Windows {
		local := at.In(w.Zone)
		minutes := (w.From - local.Hour()*60 - local.Minute() + 2*day) % day
		if minutes == 0 {
			minutes = day
		}
		until := time.Duration(minutes) * time.Minute
		_, now := local.Zone()
		if _, then := local.Add(until).Zone(); now != then {
			return time.Minute
		}
		shortest = min(shortest, until)
	}
	return shortest
}
