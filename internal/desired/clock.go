package desired

import (
	"time"
)

// Where a zone's clocks are put forward, a time that they skip means the first moment after. Where they are put back, a
// time that comes twice means its first coming; only an expression for every hour follows the clock through both, and skips
// what the clock skips, since the hour goes on either way. cron(8) of Debian and ISC does the same.
//
// Offsets alone are asked of the zone: time.ZoneBounds does not get past the end of some leap years.

const (
	// horizonYears is more than there can be between two instants: 29 February is left out in 2100.
	horizonYears = 9
	// firstYear and lastYear are those that RFC 3339 can write, less the horizon.
	firstYear, lastYear = 10, 9990
	// nearby is more than a zone's clocks were ever away from UTC and ever put forward or back, together: Samoa left out a
	// whole day.
	nearby = 40 * time.Hour
)

// Next returns the first instant after a moment; zero where there is none.
func (i Instants) Next(after time.Time) time.Time {
	switch {
	case i.cron == nil && i.Once.After(after):
		return i.Once
	case i.cron == nil || after.Year() < firstYear || after.Year() > lastYear:
		return time.Time{}
	}
	first := i.nextFirst(after)
	if !i.cron.everyHour() {
		return first
	}
	// A second coming before the next first one had its own first coming already: the change is near.
	s := i.shiftNear(after.UTC())
	from := maxTime(after.Add(time.Nanosecond), s.at).UTC().Add(s.later)
	if w, ok := i.cron.next(from, s.at.Add(s.earlier)); ok {
		if again := w.Add(-s.later).In(i.Zone); first.IsZero() || again.Before(first) {
			return again
		}
	}
	return first
}

// nextFirst looks among first comings alone. They come in the order of the wall clock's times.
func (i Instants) nextFirst(after time.Time) time.Time {
	wall := i.wall(after)
	end := wall.AddDate(horizonYears, 0, 0)
	for {
		w, ok := i.cron.next(wall, end)
		if !ok {
			return time.Time{}
		}
		if t, comes := i.instant(w); comes && t.After(after) {
			return t
		}
		wall = w.Add(time.Nanosecond)
	}
}

// Latest returns the last instant at or before a moment; zero where there is none.
func (i Instants) Latest(at time.Time) time.Time {
	switch {
	case i.cron == nil && !i.Once.After(at):
		return i.Once
	case i.cron == nil || at.Year() < firstYear || at.Year() > lastYear:
		return time.Time{}
	}
	first := i.latestFirst(at)
	if !i.cron.everyHour() || first.IsZero() {
		return first
	}
	// A second coming that is later than the last first one is near that.
	s := i.shiftNear(first.UTC())
	until := minTime(at, s.at.Add(s.earlier-s.later-time.Nanosecond)).UTC().Add(s.later)
	if w, ok := i.cron.last(until, s.at.Add(s.later-time.Nanosecond)); ok {
		if again := w.Add(-s.later).In(i.Zone); again.After(first) {
			return again
		}
	}
	return first
}

// latestFirst looks among first comings alone.
func (i Instants) latestFirst(at time.Time) time.Time {
	// Before clocks were put back they may have been further on.
	wall := maxTime(i.wall(at), at.UTC().Add(offset(at.Add(-nearby), i.Zone)))
	begin := wall.AddDate(-horizonYears, 0, 0)
	for {
		w, ok := i.cron.last(wall, begin)
		if !ok {
			return time.Time{}
		}
		if t, comes := i.instant(w); comes && !t.After(at) {
			return t
		}
		wall = w.Add(-time.Nanosecond)
	}
}

// instant returns when a wall clock's time first comes. One that is skipped comes at the first moment after, and for an
// interval not at all.
func (i Instants) instant(w time.Time) (t time.Time, comes bool) {
	s := i.shiftNear(w)
	switch {
	case w.Before(s.at.Add(s.earlier)):
		return w.Add(-s.earlier).In(i.Zone), true
	case w.Before(s.at.Add(s.later)):
		return s.at.In(i.Zone), !i.cron.everyHour()
	default:
		return w.Add(-s.later).In(i.Zone), true
	}
}

// wall returns what the zone's clocks show at a moment, written as a time of UTC.
func (i Instants) wall(t time.Time) time.Time { return t.UTC().Add(offset(t, i.Zone)) }

// shift is a moment at which a zone's offset from UTC changes. Where none does, both are the same.
type shift struct {
	at             time.Time
	earlier, later time.Duration
}

// shiftNear returns the change near a time of the wall clock or of UTC. No zone has had two so close to each other.
func (i Instants) shiftNear(w time.Time) shift {
	low, high := w.Add(-nearby).Truncate(time.Second), w.Add(nearby).Truncate(time.Second)
	s := shift{at: high, earlier: offset(low, i.Zone), later: offset(high, i.Zone)}
	if s.earlier == s.later {
		return s
	}
	for high.Sub(low) > time.Second {
		if middle := low.Add(high.Sub(low) / 2).Truncate(time.Second); offset(middle, i.Zone) == s.earlier {
			low = middle
		} else {
			high = middle
		}
	}
	s.at = high.UTC()
	return s
}

func offset(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
