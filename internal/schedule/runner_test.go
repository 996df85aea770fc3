package schedule

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/tidelock/tidelock/internal/desired"
)

// The clock of synctest begins at 2000-01-01T00:00:00Z, a Saturday.

func TestMissedWhileTheDaemonWasDown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		schedule   desired.Schedule
		down, up   string
		end        string
		runs, miss []string
		reason     string
	}{
		"minutely without a deadline": {
			at("a", "* * * * *"), "2000-01-01T00:02:30", "2000-01-01T03:00:30", "2000-01-01T03:01:30",
			[]string{"01-01T00:01:00", "01-01T00:02:00", "01-01T03:00:00", "01-01T03:01:00"},
			[]string{"177 instants from 2000-01-01T00:03:00Z to 2000-01-01T02:59:00Z did not run: only the latest of the " +
				"instants that came while nothing could run is made up for"},
			"one catch-up, not 178 and not none",
		},
		"hourly with a deadline that holds": {
			at("a", "0 * * * *", deadline(60)), "2000-01-01T00:30:00", "2000-01-01T01:00:30", "2000-01-01T01:30:00",
			[]string{"01-01T01:00:00"},
			nil, "30 s are not too late",
		},
		"once, within its deadline": {
			at("a", "2000-01-01T12:00:00Z", deadline(7200)), "2000-01-01T11:00:00", "2000-01-01T13:00:00", "2000-01-01T14:00:00",
			[]string{"01-01T12:00:00"},
			nil, "it keeps the instant that it was for",
		},
		"once, after its deadline": {
			at("a", "2000-01-01T12:00:00Z", deadline(600)), "2000-01-01T11:00:00", "2000-01-01T13:00:00", "2000-01-01T14:00:00",
			nil,
			[]string{"2000-01-01T12:00:00Z did not run: more than startingDeadlineSeconds (600) late"},
			"a miss is reported",
		},
		"once, without a deadline": {
			at("a", "2000-01-01T12:00:00Z"), "2000-01-01T11:00:00", "2000-01-02T13:00:00", "2000-01-02T14:00:00",
			[]string{"01-01T12:00:00"},
			nil, "late is better than never",
		},
		"suspended all the time": {
			at("a", "0 * * * *", suspended), "2000-01-01T00:30:00", "2000-01-01T05:30:00", "2000-01-01T09:00:30", nil, nil,
			"it says of itself that nothing runs",
		},
		"a deadline of nothing": {
			at("a", "0 * * * *", deadline(0)), "2000-01-01T01:30:00", "2000-01-01T02:00:02", "2000-01-01T03:30:00",
			[]string{"01-01T01:00:00", "01-01T03:00:00"},
			[]string{"2000-01-01T02:00:00Z did not run: more than startingDeadlineSeconds (0) late"},
			"on time it runs all the same",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				d := start(t.Context(), c, nil, tc.schedule)
				until(t, tc.down)
				d.end()
				until(t, tc.up)
				d = start(t.Context(), c, nil, tc.schedule)
				until(t, tc.end)
				d.end()
				if diff := cmp.Diff(tc.runs, c.runs(t, "a")); diff != "" {
					t.Errorf("%s: runs (-want +got):\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(tc.miss, c.missesOf("a")); diff != "" {
					t.Errorf("%s: misses (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

func TestSeenForTheFirstTime(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		schedule desired.Schedule
		runs     []string
		misses   int
		reason   string
	}{
		"a weekly one":                     {at("a", "45 14 * * 2", zone("Europe/London")), nil, 0, "no state is not: all is overdue"},
		"one instant that has passed":      {at("a", "1999-06-01T00:00:00Z"), []string{"06-01T00:00:00"}, 0, "it was asked for and did not run"},
		"one that has passed too long ago": {at("a", "1999-06-01T00:00:00Z", deadline(60)), nil, 1, "the deadline is the user's word"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				d := start(t.Context(), c, nil, tc.schedule)
				until(t, "2000-01-03T12:00:00")
				d.end()
				if diff := cmp.Diff(tc.runs, c.runs(t, "a")); diff != "" || len(c.missesOf("a")) != tc.misses {
					t.Errorf("%s: misses %q, runs (-want +got):\n%s", tc.reason, c.missesOf("a"), diff)
				}
			})
		})
	}
}

// A year of schedules: each fires at each of its instants, with nothing in between. It is not parallel: what shares the
// processor makes a million looks at the clock slow.
func TestAYearOfSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		d := start(t.Context(), c, nil, at("nightly", "30 2 * * *", zone("Europe/Berlin")), at("monthly", "0 0 1 * *"),
			at("once", "2000-12-24T18:00:00+01:00"), at("weekly", "0 9 * * MON", zone("America/New_York")))
		until(t, "2000-12-31T23:00:00")
		d.end()
		for name, want := range map[string]int{"nightly": 366, "monthly": 11, "once": 1, "weekly": 52} {
			if got := len(c.runs(t, name)); got != want {
				t.Errorf("%s ran %d times, want %d", name, got, want)
			}
		}
		if len(c.jobs) != 10 {
			t.Errorf("%d Jobs are kept, want 3 of each repeated schedule and the one that runs once", len(c.jobs))
		}
	})
}

func TestWhileARunGoesOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy       batchv1.ConcurrencyPolicy
		runs, misses int
		left         int
	}{
		"Allow":   {batchv1.AllowConcurrent, 3, 0, 3},
		"Forbid":  {batchv1.ForbidConcurrent, 1, 2, 1},
		"Replace": {batchv1.ReplaceConcurrent, 3, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				c.lasts = time.Hour
				d := start(t.Context(), c, nil, at("a", "*/5 * * * *", policy(tc.policy)))
				until(t, "2000-01-01T00:16:00")
				d.end()
				if runs, misses := c.runs(t, "a"), c.missesOf("a"); len(runs) != tc.runs || len(misses) != tc.misses || len(c.jobs) != tc.left {
					t.Errorf("runs %q, misses %q, %d Jobs", runs, misses, len(c.jobs))
				}
				if got := d.Tally(); got.Started != uint64(tc.runs) || got.Missed != uint64(tc.misses) {
					t.Errorf("the tally is %+v", got)
				}
			})
		})
	}
}

func TestWhatAScheduleShows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.ends = Failed
		d := start(t.Context(), c, nil, at("a", "2000-01-01T01:00:00Z"), at("b", "0 0 * * *"), at("c", "0 0 * * *", suspended))
		show := func(name string) string {
			synctest.Wait()
			s, ok := d.Standing(key(name))
			out := []string{s.Next.Format("02T15:04"), "active " + string(rune('0'+s.Active))}
			if s.Last != nil {
				out = append(out, string(s.Last.Outcome), s.Last.Reason)
			}
			if s.Suspended || !ok {
				out = append(out, "suspended or unknown")
			}
			return strings.Join(out, " ")
		}
		synctest.Wait()
		before := show("a")
		until(t, "2000-01-01T01:00:05")
		during := show("a")
		until(t, "2000-01-01T01:00:20")
		after := show("a")
		want := []string{
			"01T01:00 active 0", "01T00:00 active 1 Running ", "01T00:00 active 0 Failed BackoffLimitExceeded",
			"02T00:00 active 0", "01T00:00 active 0 suspended or unknown", "01T00:00 active 0 suspended or unknown",
		}
		if diff := cmp.Diff(want, []string{before, during, after, show("b"), show("c"), show("none")}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		s, _ := d.Standing(key("a"))
		if s.Last == nil || s.Last.ExitCode == nil || *s.Last.ExitCode != 3 || s.Last.Finished.IsZero() {
			t.Errorf("got %+v, want an exit code and times", s.Last)
		}
		var reasons []string
		for _, e := range c.events {
			reasons = append(reasons, e.Reason)
		}
		if diff := cmp.Diff([]string{ReasonFired, ReasonFailed}, reasons); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(Tally{Started: 1, Failed: 1}, d.Tally()); diff != "" {
			t.Errorf("tally (-want +got):\n%s", diff)
		}
		next, _ := d.Upcoming()
		if diff := cmp.Diff([]Upcoming{{Key: key("b"), At: time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)}}, next); diff != "" {
			t.Errorf("upcoming (-want +got):\n%s", diff)
		}
		d.end()
	})
}

// Between its instants a schedule asks nothing of the API server.
func TestNoInstantNoRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		d := start(t.Context(), c, nil, at("a", "0 0 1 1 *"))
		until(t, "2000-01-01T00:00:10")
		c.asked()
		until(t, "2000-01-31T00:00:00")
		if asked := c.asked(); len(asked) > 0 {
			t.Errorf("made %v in a month without an instant", asked)
		}
		d.end()
	})
}

// A date that comes every four years, and one that never does, leave the clock alone: nothing fires, however often the same
// is set again.
func TestARareDateIsNoWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		var looks atomic.Int64
		now := func() time.Time {
			looks.Add(1)
			return time.Now()
		}
		until(t, "2000-03-01T00:30:00")
		list := func() []desired.Schedule {
			return []desired.Schedule{at("feb29", "0 0 29 2 *"), at("feb31", "0 0 31 2 *")}
		}
		d := start(t.Context(), c, now, list()...)
		for range 5 {
			<-time.After(time.Second)
			d.Set(list())
		}
		<-time.After(time.Minute)
		looks.Store(0)
		c.asked()
		until(t, "2000-03-02T00:30:00")
		if n, asked := looks.Load(), c.asked(); n > 3*24*60*60/int64(glance.Seconds()) || len(asked) > 0 {
			t.Errorf("looked %d times at the clock in a day, and asked for %v", n, asked)
		}
		s, _ := d.Standing(key("feb29"))
		if want := time.Date(2004, 2, 29, 0, 0, 0, 0, time.UTC); !s.Next.Equal(want) || len(c.runs(t, "feb29"))+len(c.runs(t, "feb31")) > 0 {
			t.Errorf("next %s, want %s; runs %v", s.Next, want, c.began)
		}
		d.end()
	})
}

func TestALaterCommitChangesASchedule(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, after desired.Schedule
		runs, misses  []string
		reason        string
	}{
		"the hour": {
			at("a", "0 9 * * *"), at("a", "0 8 * * *"),
			[]string{"01-01T09:00:00", "01-02T08:00:00"},
			nil,
			"eight o'clock of the day of the change is past",
		},
		"the instant": {
			at("a", "2000-01-01T09:00:00Z"), at("a", "2000-01-02T09:00:00Z"),
			[]string{"01-01T09:00:00", "01-02T09:00:00"},
			nil,
			"each is one; the Job of the first makes room",
		},
		"back to an instant that ran": {
			at("a", "2000-01-01T09:00:00Z"), at("a", "2000-01-01T09:00:00Z", suspended),
			[]string{"01-01T09:00:00"},
			nil,
			"it never runs again",
		},
		"to an instant before one that ran": {
			at("a", "2000-01-01T09:00:00Z"), at("a", "2000-01-01T08:00:00Z"),
			[]string{"01-01T09:00:00"},
			[]string{"2000-01-01T08:00:00Z did not run: it lies before an instant that was handled already"},
			"reported, not forgotten",
		},
		"suspended": {at("a", "0 9 * * *"), at("a", "0 9 * * *", suspended), []string{"01-01T09:00:00"}, nil, "it stops"},
		"resumed":   {at("a", "0 9 * * *", suspended), at("a", "0 9 * * *"), []string{"01-02T09:00:00"}, nil, "no catch-up"},
		"resumed after its instant": {
			at("a", "2000-01-01T09:00:00Z", suspended), at("a", "2000-01-01T09:00:00Z"), nil,
			[]string{"2000-01-01T09:00:00Z did not run: the schedule was suspended"},
			"what passes meanwhile is not made up for",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				d := start(t.Context(), c, nil, tc.before)
				until(t, "2000-01-01T12:00:00")
				d.Set([]desired.Schedule{tc.after})
				until(t, "2000-01-02T12:00:00")
				d.end()
				if diff := cmp.Diff(tc.runs, c.runs(t, "a")); diff != "" {
					t.Errorf("%s: runs (-want +got):\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(tc.misses, c.missesOf("a")); diff != "" {
					t.Errorf("%s: misses (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// An instant whose Job cannot be made waits, and holds up nobody else.
func TestAnInstantWaitsForItsAt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.noAts = true
		d := start(t.Context(), c, nil, at("a", "0 1 * * *"), at("b", "0 1 * * *", deadline(60)))
		until(t, "2000-01-01T01:05:00")
		s, _ := d.Standing(key("a"))
		if s.Active != 1 || s.Waiting != ErrNoAt.Error() {
			t.Errorf("got %+v, want one that waits for its At", s)
		}
		c.mu.Lock()
		c.noAts = false
		c.mu.Unlock()
		until(t, "2000-01-01T01:07:00")
		d.end()
		if got := c.runs(t, "a"); len(got) != 1 || len(c.missesOf("a")) > 0 {
			t.Errorf("a ran %q and missed %q, want one run", got, c.missesOf("a"))
		}
		want := []string{"2000-01-01T01:00:00Z did not run: it could not begin within startingDeadlineSeconds: " + ErrNoAt.Error()}
		if diff := cmp.Diff(want, c.missesOf("b")); diff != "" || len(c.runs(t, "b")) > 0 {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A Job of the same name that somebody else made is reported, and never taken for the result.
func TestAForeignJobOfTheSameName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.jobs[key("a")] = Job{Key: key("a"), UID: "foreign", Outcome: Succeeded}
		d := start(t.Context(), c, nil, at("a", "2000-01-01T01:00:00Z"))
		until(t, "2000-01-01T02:00:00")
		want := []string{"2000-01-01T01:00:00Z did not run: there is a Job shop/a already, which is none of this schedule"}
		if s, _ := d.Standing(key("a")); cmp.Diff(want, c.missesOf("a")) != "" || s.Last != nil || c.jobs[key("a")].UID != "foreign" {
			t.Errorf("misses %q, last %+v", c.missesOf("a"), s.Last)
		}
		d.end()
	})
}

// Deleting what ran, or its At, never runs an instant again, not even after a restart.
func TestDeletingARunDoesNotRepeatIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.lasts = time.Hour
		once := at("a", "2000-01-01T01:00:00Z")
		d := start(t.Context(), c, nil, once)
		until(t, "2000-01-01T01:10:00")
		c.mu.Lock()
		c.drop(key("a"), c.jobs[key("a")].UID)
		c.mu.Unlock()
		synctest.Wait()
		if s, _ := d.Standing(key("a")); s.Last == nil || s.Last.Outcome != Deleted {
			t.Errorf("got %+v, want that it was deleted", s.Last)
		}
		d.Set(nil)
		until(t, "2000-01-01T02:00:00")
		d.Set([]desired.Schedule{once})
		until(t, "2000-01-01T03:00:00")
		d.end()
		d = start(t.Context(), c, nil, once)
		until(t, "2000-01-01T04:00:00")
		d.end()
		if got := c.runs(t, "a"); len(got) != 1 || len(c.missesOf("a")) > 0 {
			t.Errorf("ran %q, missed %q", got, c.missesOf("a"))
		}
	})
}

// A clock that jumps ahead makes one catch-up; set back, it fires nothing twice and does not stop.
func TestAClockThatJumps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		var wrong atomic.Int64
		d := start(t.Context(), c, func() time.Time { return time.Now().Add(time.Duration(wrong.Load())) }, at("a", "*/10 * * * *"))
		until(t, "2000-01-01T00:15:00")
		wrong.Store(int64(time.Hour))
		until(t, "2000-01-01T00:16:00")
		if diff := cmp.Diff([]string{"01-01T00:10:00", "01-01T01:10:00"}, c.runs(t, "a")); diff != "" {
			t.Errorf("after a jump of an hour (-want +got):\n%s", diff)
		}
		wrong.Store(0)
		until(t, "2000-01-01T01:21:00")
		if diff := cmp.Diff([]string{"01-01T00:10:00", "01-01T01:10:00", "01-01T01:20:00"}, c.runs(t, "a")); diff != "" {
			t.Errorf("after the way back (-want +got):\n%s", diff)
		}
		wrong.Store(int64(1000 * 24 * time.Hour))
		until(t, "2000-01-01T01:22:00")
		wrong.Store(0)
		until(t, "2000-01-01T01:41:00")
		d.end()
		want := []string{"01-01T00:10:00", "01-01T01:10:00", "01-01T01:20:00", "01-01T01:30:00", "01-01T01:40:00", "09-27T01:20:00"}
		if diff := cmp.Diff(want, c.runs(t, "a")); diff != "" {
			t.Errorf("after years and back (-want +got):\n%s", diff)
		}
	})
}
