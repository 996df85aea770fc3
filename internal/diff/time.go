package diff

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

// ahead is how many of the next instants are told.
const ahead = 3

// timings compares schedules.
func timings(base, head []desired.Schedule, now time.Time) []Timing {
	was := make(map[desired.Key]*desired.Schedule, len(base))
	for i := range base {
		was[base[i].Key] = &base[i]
	}
	var out []Timing
	for i := range head {
		is := &head[i]
		old := was[is.Key]
		delete(was, is.Key)
		if old == nil {
			out = append(out, timing(is, "added", "new: "+plan(is), now))
			continue
		}
		if text := rescheduled(old, is); text != "" {
			out = append(out, timing(is, "changed", text, now))
		}
	}
	for i := range base {
		if old := was[base[i].Key]; old != nil {
			t := timing(old, "removed", "no longer runs (before: "+plan(old)+")", now)
			t.Next = nil
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b Timing) int { return strings.Compare(a.Subject, b.Subject) })
	return out
}

func timing(s *desired.Schedule, change, text string, now time.Time) Timing {
	t := Timing{Subject: "At " + s.Key.String(), Change: change, Text: text, File: s.Origin.Path, Line: s.Origin.Line}
	if s.Suspend {
		return t
	}
	in, err := desired.ParseSchedule(s.Schedule, s.TimeZone)
	if err != nil {
		return t // it was parsed once without an error
	}
	for at := now; len(t.Next) < ahead; t.Next = append(t.Next, at) {
		if at = in.Next(at); at.IsZero() {
			break
		}
	}
	return t
}

// plan says when a schedule runs.
func plan(s *desired.Schedule) string {
	text := s.Schedule
	if s.TimeZone != "" {
		text += " " + s.TimeZone
	}
	if s.Suspend {
		text += ", suspended"
	}
	return text
}

// rescheduled says how a schedule differs, or "".
func rescheduled(a, b *desired.Schedule) string {
	var parts []string
	switch {
	case a.Schedule != b.Schedule && a.TimeZone == b.TimeZone && a.Suspend == b.Suspend:
		parts = append(parts, a.Schedule+" -> "+plan(b))
	case plan(a) != plan(b):
		parts = append(parts, plan(a)+" -> "+plan(b))
	}
	if a.ConcurrencyPolicy != b.ConcurrencyPolicy {
		parts = append(parts, fmt.Sprintf("concurrencyPolicy %s -> %s", a.ConcurrencyPolicy, b.ConcurrencyPolicy))
	}
	if !reflect.DeepEqual(a.Job, b.Job) {
		parts = append(parts, "another command or pod")
	}
	x, y := *a, *b
	for _, s := range []*desired.Schedule{&x, &y} {
		s.Origin, s.Job, s.Schedule, s.TimeZone, s.Suspend, s.ConcurrencyPolicy = desired.Origin{}, a.Job, "", "", false, ""
	}
	if !reflect.DeepEqual(x, y) {
		parts = append(parts, "other settings")
	}
	return strings.Join(parts, ", ")
}
