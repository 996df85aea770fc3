package desired

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the zones of these tests must not depend on the machine

	"github.com/google/go-cmp/cmp"
)

func mustParse(tb testing.TB, text, zone string) Instants {
	tb.Helper()
	i, err := ParseSchedule(text, zone)
	if err != nil {
		tb.Fatalf("%q in %q: %v", text, zone, err)
	}
	return i
}

func instant(tb testing.TB, text string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		tb.Fatal(err)
	}
	return at
}

func TestClocksThatChange(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text, zone, from string
		want             []string
		reason           string
	}{
		"a skipped time": {
			"30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z",
			[]string{"2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z", "2027-03-30T00:30:00Z"},
			"the first moment after the gap, and the day is not lost",
		},
		"the first skipped time": {
			"0 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z",
			[]string{"2027-03-28T01:00:00Z", "2027-03-29T00:00:00Z"},
			"02:00 is 03:00 on that day",
		},
		"a skipped midnight": {
			"0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z",
			[]string{"2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z", "2026-09-08T03:00:00Z"},
			"the day has no midnight and begins at one",
		},
		"several skipped times": {
			"*/10 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z",
			[]string{"2027-03-28T01:00:00Z", "2027-03-29T00:00:00Z", "2027-03-29T00:10:00Z"},
			"they all come at the same moment, which is one instant",
		},
		"a skipped time and the moment after": {
			"0 2,3 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z",
			[]string{"2027-03-28T01:00:00Z", "2027-03-29T00:00:00Z", "2027-03-29T01:00:00Z"},
			"two of one moment are one",
		},
		"half an hour skipped": {
			"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z",
			[]string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"},
			"02:15 on that day is 02:30",
		},
		"a whole day skipped": {
			"0 9 * * *", "Pacific/Apia", "2011-12-29T10:00:00Z",
			[]string{"2011-12-29T19:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T19:00:00Z"},
			"Samoa had no 30 December; its nine o'clock comes as the 31st begins",
		},
		"a time that comes twice": {
			"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z", "2026-10-27T01:30:00Z"},
			"once a day",
		},
		"an interval of two hours": {
			"0 */2 * * *", "Europe/Berlin", "2026-10-24T21:00:00Z",
			[]string{"2026-10-24T22:00:00Z", "2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z", "2026-10-25T05:00:00Z"},
			"the second two o'clock is no new one",
		},
		"an interval of half an hour": {
			"*/30 * * * *", "Europe/Berlin", "2026-10-24T23:59:00Z",
			[]string{"2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"},
			"an interval goes on through the second hour",
		},
		"every hour through a gap": {
			"30 * * * *", "Europe/Berlin", "2027-03-28T00:00:00Z",
			[]string{"2027-03-28T00:30:00Z", "2027-03-28T01:30:00Z"},
			"an hour lies between them as ever",
		},
		"an interval on the day of a repeated hour at its end": {
			"0 * 4 4 *", "America/Santiago", "2026-04-05T02:00:00Z",
			[]string{"2026-04-05T03:00:00Z", "2027-04-04T04:00:00Z"},
			"23:00 of 4 April comes twice in 2026; in 2027 only midnight's hour is there twice",
		},
		"29 February across 2100": {
			"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", []string{"2104-02-29T00:00:00Z"}, "2100 is no leap year",
		},
		"a zone whose rules the library loses at the end of a leap year": {
			"0 0 1 1 *", "Africa/Cairo", "2040-12-30T00:00:00Z",
			[]string{"2040-12-31T22:00:00Z", "2041-12-31T22:00:00Z"},
			"time.ZoneBounds stands still there",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i, at := mustParse(t, tc.text, tc.zone), instant(t, tc.from)
			var got []string
			for range tc.want {
				at = i.Next(at)
				got = append(got, at.UTC().Format(time.RFC3339))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s in %s: %s (-want +got):\n%s", tc.text, tc.zone, tc.reason, diff)
			}
		})
	}
}

// oracle lists the instants of an expression between two moments, minute by minute of real time.
func oracle(i Instants, from, to time.Time) []time.Time {
	wall := func(t time.Time) time.Time { return t.UTC().Add(offset(t, i.Zone)) }
	matches := func(w time.Time) bool {
		return has(i.cron.Minute, w.Minute()) && has(i.cron.Hour, w.Hour()) && has(i.cron.Month, int(w.Month())) && i.cron.onDay(w)
	}
	var out []time.Time
	shown := wall(from.Add(-time.Minute)) // the latest time that the clock has shown
	for t := from; t.Before(to); t = t.Add(time.Minute) {
		w := wall(t)
		fires := matches(w) && (w.After(shown) || i.cron.everyHour())
		for skipped := shown.Add(time.Minute); skipped.Before(w) && !i.cron.everyHour(); skipped = skipped.Add(time.Minute) {
			fires = fires || matches(skipped)
		}
		if fires {
			out = append(out, t)
		}
		shown = maxTime(shown, w)
	}
	return out
}

func zonesOfInterest() []string {
	return []string{
		"UTC", "Europe/Berlin", "Europe/London", "Europe/Dublin", "America/New_York", "America/Santiago", "America/Havana",
		"America/Sao_Paulo", "America/St_Johns", "America/Asuncion", "Asia/Tehran", "Asia/Beirut", "Asia/Amman", "Asia/Gaza",
		"Asia/Kathmandu", "Asia/Pyongyang", "Africa/Cairo", "Africa/Casablanca", "Atlantic/Azores", "Australia/Lord_Howe",
		"Antarctica/Troll", "Antarctica/Macquarie", "Pacific/Apia", "Pacific/Chatham", "Pacific/Kwajalein", "America/Caracas",
	}
}

func randomCron(r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	return fmt.Sprintf("%s %s %s %s %s",
		pick("0", "30", "*", "*/15", "59", "1,31", "15-45/10", "2"),
		pick("*", "*", "2", "1-3", "0", "23", "*/2", "*/1", "0-23", "0,12", "3"),
		pick("*", "*", "*", "1-7", "29", "31", "*/5"),
		pick("*", "*", "*", "3,4,9-11", "*/2"),
		pick("*", "*", "0", "SUN", "1-5", "SAT,SUN", "*/2"))
}

// Next and Latest find what looking at every minute finds, on the days around each change of many zones and years.
func TestInstantsAreThoseOfEveryMinute(t *testing.T) {
	t.Parallel()
	for _, name := range zonesOfInterest() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 0))
			zone := mustParse(t, "@daily", name)
			for day := time.Date(1985, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2045; day = day.AddDate(0, 0, 2) {
				s := zone.shiftNear(day)
				if s.earlier == s.later && r.IntN(500) > 0 {
					continue
				}
				compareWithOracle(t, mustParse(t, randomCron(r), name), day.AddDate(0, 0, -2), day.AddDate(0, 0, 2), r)
			}
		})
	}
}

func compareWithOracle(t *testing.T, i Instants, from, to time.Time, r *rand.Rand) {
	t.Helper()
	want := oracle(i, from, to)
	for range 20 {
		at := from.Add(time.Duration(r.Int64N(int64(to.Sub(from)))))
		if len(want) > 0 && r.IntN(2) == 0 {
			at = want[r.IntN(len(want))].Add(time.Duration(r.IntN(3) - 1))
		}
		n, _ := slices.BinarySearchFunc(want, at, time.Time.Compare)
		for n < len(want) && !want[n].After(at) {
			n++
		}
		if next := i.Next(at); n < len(want) && !next.Equal(want[n]) || n == len(want) && next.Before(to) && !next.IsZero() {
			t.Fatalf("%+v in %s: the next after %s is %s, want %s", *i.cron, i.Zone, at, next, want[n:min(n+1, len(want))])
		}
		if latest := i.Latest(at); n > 0 && !latest.Equal(want[n-1]) || n == 0 && !latest.Before(from) {
			t.Fatalf("%+v in %s: the latest at %s is %s, want %s", *i.cron, i.Zone, at, latest, want[max(n-1, 0):n])
		}
	}
}

// Whoever asks for the end of time gets an answer.
func TestInstantsAtTheEndsOfTime(t *testing.T) {
	t.Parallel()
	i := mustParse(t, "0 0 29 2 1", "Europe/Berlin")
	for _, at := range []time.Time{
		{}, time.Unix(1<<62, 0), time.Unix(-1<<62, 0), time.Date(9, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	} {
		if next, latest := i.Next(at), i.Latest(at); !next.IsZero() || !latest.IsZero() {
			t.Errorf("at %s: next %s, latest %s; want none", at, next, latest)
		}
	}
	if none := (Instants{}); !none.Next(time.Now()).IsZero() || !none.Latest(time.Now()).IsZero() {
		t.Error("the zero value has instants")
	}
}

func TestOneInstantComesOnce(t *testing.T) {
	t.Parallel()
	i := mustParse(t, "2026-12-24T18:00:00.5+05:30", "")
	at := instant(t, "2026-12-24T12:30:00.5Z")
	if got := i.Next(at.Add(-1)); !got.Equal(at) {
		t.Errorf("next before it is %s", got)
	}
	if got := i.Next(at); !got.IsZero() {
		t.Errorf("next at it is %s", got)
	}
	if got := i.Latest(at); !got.Equal(at) {
		t.Errorf("latest at it is %s", got)
	}
	if got := i.Latest(at.Add(-1)); !got.IsZero() {
		t.Errorf("latest before it is %s", got)
	}
}

func BenchmarkNext(b *testing.B) {
	for _, text := range []string{"*/5 * * * *", "30 2 * * *", "0 0 29 2 *"} {
		b.Run(text, func(b *testing.B) {
			i, at := mustParse(b, text, "Europe/Berlin"), time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC)
			b.ReportAllocs()
			for b.Loop() {
				i.Next(at)
			}
		})
	}
}
