package desired

import (
	"strings"
	"testing"
	"time"
)

func TestSchedulesComeWhenTheySay(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, time.November, 1, 0, 30, 0, 0, time.UTC) // a Sunday
	for name, tc := range map[string]struct{ text, zone, want, reason string }{
		"a zone by name":      {"0 9 * * *", "Asia/Tokyo", "2026-11-02T00:00:00Z", "nine in Tokyo is midnight in UTC"},
		"no zone":             {"0 9 * * *", "", "2026-11-01T09:00:00Z", "UTC, not the zone of the machine"},
		"29 February":         {"0 0 29 2 *", "UTC", "2028-02-29T00:00:00Z", "rare is not never"},
		"Sunday as 7":         {"0 9 * * 7", "", "2026-11-01T09:00:00Z", "crontab(5): 0 or 7 is Sunday"},
		"a range to 7":        {"0 9 * * 6-7", "", "2026-11-01T09:00:00Z", "Saturday and Sunday"},
		"a range to SUN":      {"0 9 * * FRI-SUN", "", "2026-11-01T09:00:00Z", "Friday to Sunday"},
		"steps to 7":          {"0 9 * * 1-7/2", "", "2026-11-01T09:00:00Z", "Monday, Wednesday, Friday, Sunday"},
		"a descriptor":        {"@daily", "", "2026-11-02T00:00:00Z", "short for 0 0 * * *"},
		"a step":              {"*/20 * * * *", "", "2026-11-01T00:40:00Z", "plain cron"},
		"a step from a start": {"5/20 * * * *", "", "2026-11-01T00:45:00Z", "5, 25, 45"},
		"a fraction, by t, z": {"2026-12-31t23:59:00.5z", "", "2026-12-31T23:59:00Z", "RFC 3339 allows lower case"},
		"a list":              {"1,31 0 * * *", "", "2026-11-01T00:31:00Z", "plain cron"},
		"month names":         {"0 0 1 Dec *", "", "2026-12-01T00:00:00Z", "plain cron"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseSchedule(tc.text, tc.zone)
			if err != nil {
				t.Fatalf("%q: %v (%s)", tc.text, err, tc.reason)
			}
			if next := got.Next(start).UTC().Format(time.RFC3339); next != tc.want {
				t.Errorf("%q in %q comes at %s, want %s (%s)", tc.text, tc.zone, next, tc.want, tc.reason)
			}
		})
	}
}

func TestAnInstantIsReadWithItsOffset(t *testing.T) {
	t.Parallel()
	got, err := ParseSchedule("2026-11-05T09:00:00+09:00", "")
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2026, time.November, 5, 0, 0, 0, 0, time.UTC); !got.Once.Equal(want) {
		t.Errorf("got %s, want %s", got.Once, want)
	}
}

func TestSchedulesThatCannotMeanWhatTheySayAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, zone, want string }{
		"31 February":               {"0 0 31 2 *", "UTC", "never comes"},
		"31 April":                  {"0 0 31 4 *", "", "never comes"},
		"two zones":                 {"TZ=Asia/Tokyo 0 9 * * *", "Europe/Berlin", "name the zone in timeZone"},
		"a zone and nothing else":   {"TZ=UTC", "", "name the zone in timeZone"},
		"CRON_TZ":                   {"CRON_TZ=UTC 0 9 * * *", "", "name the zone in timeZone"},
		"a zone with a slip":        {"0 9 * * *", "Europe/Berlim", "unknown time zone"},
		"the machine's zone":        {"0 9 * * *", "Local", "that of one machine"},
		"an instant with no offset": {"2026-11-05T09:00:00", "Europe/Berlin", "has no offset"},
		"a date alone":              {"2026-11-05", "", "has no offset"},
		"an hour of one digit":      {"2026-11-05T9:00:00Z", "", "no RFC 3339 instant"},
		"a fraction by a comma":     {"2026-11-05T09:00:00,5Z", "", "no RFC 3339 instant"},
		"an offset of a day":        {"2026-11-05T09:00:00+24:00", "", "no RFC 3339 instant"},
		"a year that has passed":    {"0026-11-05T09:00:00Z", "", "lies before 1970"},
		"no such day":               {"2026-02-30T09:00:00Z", "", "no RFC 3339 instant"},
		"@every":                    {"@every 1h", "", "has no instants of its own"},
		"@reboot":                   {"@reboot", "", "no cron expression"},
		"six fields":                {"0 0 9 * * *", "", "want five fields"},
		"a step of nothing":         {"*/0 * * * *", "", "want a step of 1 or more"},
		"a step beyond the hour":    {"*/61 * * * *", "", "never comes round"},
		"a step beyond its range":   {"10-20/30 * * * *", "", "leads out of the range"},
		"a star with an end":        {"*-5 * * * *", "", `"*-5"`},
		"an empty member":           {"1,,2 * * * *", "", "want 0 to 59"},
		"only a comma":              {", * * * *", "", "want 0 to 59"},
		"a sign":                    {"+5 * * * *", "", "want 0 to 59"},
		"a range backwards":         {"20-10 * * * *", "", "ends before it begins"},
		"over midnight":             {"0 22-2 * * *", "", "write 22-23,0-2"},
		"over the week's end":       {"0 9 * * FRI-MON", "", "write 5-6,0-1"},
		"the last day of Quartz":    {"0 0 L * *", "", "not known here"},
		"the second Friday":         {"0 0 * * 5#2", "", "not known here"},
		"a leap second":             {"2026-12-31T23:59:60Z", "", "name the second after it"},
		"a zone with leap seconds":  {"0 9 * * *", "right/Europe/Berlin", "unknown time zone"},
		"minute 60":                 {"60 * * * *", "", "want 0 to 59"},
		"day of week 8":             {"0 0 * * 8", "", "want 0 to 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseSchedule(tc.text, tc.zone)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q in %q: got %v, want an error with %q", tc.text, tc.zone, err, tc.want)
			}
		})
	}
}

func FuzzParseSchedule(f *testing.F) {
	for _, seed := range []string{"0 9 * * *", "TZ=UTC", "*/15 1-5 * JAN SUN-7/2", "@daily", "2026-11-05T09:00:00Z", "*-5 , / - *", "0000-01-01T0:00:00Z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseSchedule(text, "UTC")
		if err == nil && got.Next(time.Date(1969, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
			t.Errorf("%q was accepted and never fires", text)
		}
	})
}
