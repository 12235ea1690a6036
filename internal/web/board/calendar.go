package board

import (
	"fmt"
	"slices"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/rings"
	"github.com/argosy-hub/argosy/internal/service/access"
)

// calendarDays is how many days a Calendar has.
const calendarDays = 14

// Calendar says when rings may take a change.
type Calendar struct {
	// Days are the dates of all Rings' days, by the clock of each window's time zone.
	Days  []string       `json:"days"`
	Rings []CalendarRing `json:"rings"`
}

// CalendarRing is one ring of a rollout.
type CalendarRing struct {
	Rollout  string      `json:"rollout"`
	Ring     string      `json:"ring"`
	Position problem.Pos `json:"position,omitzero"`
	// Open reports that it may take a change now. Opens is when it may next; absent if that is
	// unknown.
	Open  bool          `json:"open"`
	Opens *time.Time    `json:"opens,omitempty"`
	Days  []CalendarDay `json:"days"`
}

// CalendarDay is a day of a ring.
type CalendarDay struct {
	Date string `json:"date"`
	// State is open, hours, closed or frozen.
	State string `json:"state"`
	// Hours are the windows of the day, and Freezes its freezes.
	Hours   []string `json:"hours,omitempty"`
	Freezes []string `json:"freezes,omitempty"`
}

// The states of a day.
const (
	DayOpen   = "open"   // all day
	DayHours  = "hours"  // within its windows, and outside of its freezes
	DayClosed = "closed" // no window opens
	DayFrozen = "frozen" // all day
)

// Calendar returns the windows and freezes of the rings that concern a cluster of the reader's.
func (x Reader) Calendar(report rings.Report) Calendar {
	out := Calendar{Rings: []CalendarRing{}}
	for i := range calendarDays {
		out.Days = append(out.Days, x.Now.UTC().AddDate(0, 0, i).Format(time.DateOnly))
	}
	for _, one := range report.Rollouts {
		p := one.Policy
		hasMembers := make([]bool, len(p.Rings)) // that the reader sees
		for m, c := range x.State.Clusters() {
			if m.Hub == report.Hub && access.Visible(x.Scope, c) && p.Covers(m.InRollout()) {
				hasMembers[p.RingOf(m.InRollout())] = access.SeesRollout(x.Scope, x.State.Fleet, p)
			}
		}
		for i := range p.Rings {
			ring := &p.Rings[i]
			if !hasMembers[i] && !x.Scope.SeesEverything() {
				continue
			}
			line := CalendarRing{Rollout: p.Name, Ring: ring.Name, Position: ring.Pos, Open: ring.IsOpen(x.Now)}
			if !line.Open {
				line.Opens = moment(ring.NextOpen(x.Now))
			}
			for _, date := range out.Days {
				line.Days = append(line.Days, dayOf(ring, date, x.Scope.SeesEverything()))
			}
			out.Rings = append(out.Rings, line)
		}
	}
	return out
}

// dayOf returns a day of a ring. Reasons of freezes are only for readers who see everything.
func dayOf(ring *rollout.Ring, date string, complete bool) CalendarDay {
	day := CalendarDay{Date: date, State: DayOpen}
	zones := []*time.Location{}
	for _, w := range ring.Windows {
		if !slices.Contains(zones, w.Zone) {
			zones = append(zones, w.Zone)
		}
		if start := startOf(date, w.Zone); len(w.Days) == 0 || slices.Contains(w.Days, start.Weekday()) {
			day.Hours = append(day.Hours, hours(w))
		}
	}
	if len(ring.Windows) > 0 {
		day.State = DayHours
		if len(day.Hours) == 0 {
			day.State = DayClosed
		}
	}
	if len(zones) == 0 {
		zones = []*time.Location{time.UTC}
	}
	for _, f := range ring.Freezes {
		for _, zone := range zones {
			start := startOf(date, zone)
			end := start.AddDate(0, 0, 1)
			if !f.From.Before(end) || !f.To.After(start) {
				continue
			}
			text := "frozen"
			if f.From.After(start) || f.To.Before(end) {
				text = fmt.Sprintf("frozen from %s to %s", f.From.In(zone).Format("02 Jan 15:04"), f.To.In(zone).Format("02 Jan 15:04 MST"))
				if day.State == DayOpen {
					day.State = DayHours
				}
			} else {
				day.State = DayFrozen
			}
			if f.Reason != "" && complete {
				text += ": " + f.Reason
			}
			day.Freezes = append(day.Freezes, text)
			break
		}
	}
	return day
}

// startOf returns the first moment of a date in a time zone.
func startOf(date string, zone *time.Location) time.Time {
	t, err := time.ParseInLocation(time.DateOnly, date, zone)
	if err != nil {
		return time.Time{}
	}
	return t
}

// hours formats the hours of a window, by the clock of its zone.
func hours(w rollout.Window) string {
	clock := func(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }
	text := clock(w.From) + "–" + clock(w.To)
	switch {
	case w.From == 0 && w.To == 24*60:
		text = "all day"
	case w.To <= w.From:
		text += " of the next day"
	}
	return text + " " + w.Zone.String()
}
