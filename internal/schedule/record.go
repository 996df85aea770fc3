package schedule

import (
	"strings"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

// record is what the ledger keeps of one schedule. It outlives the schedule's Jobs and its At.
type record struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Schedule, Zone and Suspended are as they were when the record was armed.
	Schedule  string `json:"schedule"`
	Zone      string `json:"zone,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
	// Handled: all instants up to here are decided.
	Handled time.Time `json:"handled,omitzero"`
	// Early is an instant that ran while the clock was wrong, and must not when it comes.
	Early time.Time `json:"early,omitzero"`
	// Claims are instants whose Jobs are not let go yet.
	Claims []*claim `json:"claims,omitempty"`
	Last   *Run     `json:"last,omitempty"`
	Misses []Missed `json:"misses,omitempty"`
	// Gone is since when the schedule is not in the repository; zero while it is.
	Gone time.Time `json:"gone,omitzero"`

	page *page
	// encoded is the record in JSON, since it was touched last.
	encoded []byte
	// unwanted are Jobs that are to be deleted once the record is stored.
	unwanted []Job
	// telling is set while an event about a miss is under way; untold counts those that failed.
	telling bool
	untold  int
}

// claim is an instant that runs, until its Job is let go.
type claim struct {
	At time.Time `json:"at"`
	// Job is the name of its Job and UID that Job's identity, once it is made.
	Job string `json:"job,omitempty"`
	UID string `json:"uid,omitempty"`

	// saved is the state of the page that has the claim as it is; nothing is done for it before that is stored.
	saved int
	// busy while a request for it is under way, resting while one is not tried again yet; tries counts those that failed,
	// and why is what the last one said.
	busy, resting bool
	tries         int
	why           string
}

func (r *record) key() desired.Key { return desired.Key{Namespace: r.Namespace, Name: r.Name} }

// arms reports whether the record was armed for what the schedule says.
func (r *record) arms(s *desired.Schedule) bool {
	return r.Schedule == s.Schedule && r.Zone == s.TimeZone && r.Suspended == s.Suspend && r.Gone.IsZero()
}

// arm makes the record one of what the schedule says. Of a cron expression only instants from now on count; a lone instant
// that has passed counts unless it, or a later one, was handled before. What is owed of before is reported.
func (r *record) arm(s *desired.Schedule, i desired.Instants, now time.Time) {
	was, err := desired.ParseSchedule(r.Schedule, r.Zone)
	known, changed := err == nil, r.Schedule != s.Schedule || r.Zone != s.TimeZone
	switch {
	case !known || !r.Gone.IsZero():
	case !r.Suspended && (changed || s.Suspend):
		r.owe(missedBetween(was, r.Handled, now, "the schedule was changed before it could run"))
	case r.Suspended && !i.Repeats() && !s.Suspend:
		r.owe(missedBetween(i, r.Handled, now, "the schedule was suspended"))
	}
	if known && changed && !i.Repeats() && !i.Once.After(r.Handled) && !i.Once.Equal(r.lastAt()) {
		r.miss(missedBetween(i, i.Once.Add(-1), i.Once, "it lies before an instant that was handled already"))
	}
	r.Schedule, r.Zone, r.Suspended, r.Gone = s.Schedule, s.TimeZone, s.Suspend, time.Time{}
	if i.Repeats() && now.After(r.Handled) {
		r.Handled = now
	}
}

// owe notes instants that do not run any more.
func (r *record) owe(m *Missed) {
	if m != nil {
		r.miss(m)
		r.Handled = m.Until
	}
}

func (r *record) lastAt() time.Time {
	if r.Last == nil {
		return time.Time{}
	}
	return r.Last.At
}

// amongOthers begins the reason of misses that were put together.
const amongOthers = "among others, "

// miss notes instants that do not run. Those that are told already make room.
func (r *record) miss(m *Missed) {
	const most = 16
	if m == nil {
		return
	}
	kept := r.Misses[:0:0]
	for _, old := range r.Misses {
		if !old.Told {
			kept = append(kept, old)
		}
	}
	if len(kept) == most {
		kept[1].Reason = amongOthers + strings.TrimPrefix(kept[1].Reason, amongOthers)
		kept[1].From, kept[1].Count = kept[0].From, min(kept[0].Count+kept[1].Count, mostCounted)
		kept = kept[1:]
	}
	r.Misses = append(kept, *m)
}

// drop takes a claim out.
func (r *record) drop(c *claim) {
	kept := r.Claims[:0:0]
	for _, o := range r.Claims {
		if o != c {
			kept = append(kept, o)
		}
	}
	r.Claims = kept
}

// claimOf returns the claim of an instant, or nil.
func (r *record) claimOf(at time.Time) *claim {
	for _, c := range r.Claims {
		if c.At.Equal(at) {
			return c
		}
	}
	return nil
}

// ran notes the run that is the latest one.
func (r *record) ran(run Run) {
	if r.Last == nil || !run.At.Before(r.Last.At) {
		r.Last = &run
	}
}
