package schedule

import (
	"fmt"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

const (
	// mostCounted bounds how many missed instants are counted.
	mostCounted = 1000
	// farAhead is how far ahead of the clock a handled instant may lie. More than that is no correction of a clock: it was
	// wrong when the instant was handled.
	farAhead = 24 * time.Hour
)

// decision is what becomes of the instants that have come since the last one that was handled.
type decision struct {
	// run is the one that runs; zero for none.
	run    time.Time
	missed *Missed
	// handled is the last one.
	handled time.Time
}

// decide lets the latest instant run, unless it is later than its deadline, and counts the others as missed.
func decide(i desired.Instants, handled, now time.Time, deadline *int64) decision {
	latest := i.Latest(now)
	if !latest.After(handled) {
		return decision{handled: handled}
	}
	d := decision{run: latest, handled: latest}
	until := latest.Add(-1)
	reason := "only the latest of the instants that came while nothing could run is made up for"
	if tooLate(latest, now, deadline) {
		d.run, until = time.Time{}, latest
		reason = fmt.Sprintf("more than startingDeadlineSeconds (%d) late", *deadline)
	}
	d.missed = missedBetween(i, handled, until, reason)
	return d
}

// tooLate reports whether an instant may not begin any more. Less than a second is not late: a deadline has whole ones.
func tooLate(at, now time.Time, deadline *int64) bool {
	return deadline != nil && int64(now.Sub(at)/time.Second) > *deadline
}

// missedBetween returns the instants after one moment and up to another; nil where there are none.
func missedBetween(i desired.Instants, after, until time.Time, reason string) *Missed {
	last := i.Latest(until)
	if !last.After(after) {
		return nil
	}
	m := &Missed{From: last, Until: last, Count: 1, Reason: reason}
	for m.Count < mostCounted {
		before := i.Latest(m.From.Add(-1))
		if !before.After(after) {
			break
		}
		m.From = before
		m.Count++
	}
	return m
}

// String says what was missed, and why.
func (m Missed) String() string {
	switch {
	case m.Count == 1:
		return stamp(m.Until) + " did not run: " + m.Reason
	case m.Count >= mostCounted:
		return fmt.Sprintf("%d or more instants up to %s did not run: %s", m.Count, stamp(m.Until), m.Reason)
	}
	return fmt.Sprintf("%d instants from %s to %s did not run: %s", m.Count, stamp(m.From), stamp(m.Until), m.Reason)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
