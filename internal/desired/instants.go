package desired

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Instants are the moments at which a schedule fires: one, or those of a cron expression. The zero value has none.
type Instants struct {
	// Once is the only instant, in the offset that it is written in; zero for a cron expression.
	Once time.Time
	// Zone is where the hours of a cron expression are read.
	Zone *time.Location

	cron *cronTimes
}

// maxSchedule bounds the text of a schedule and the name of a zone, in bytes.
const maxSchedule = 256

// ParseSchedule reads an RFC 3339 instant with its offset, or a cron expression of five fields (or @hourly, @daily, @weekly,
// @monthly, @yearly) in an IANA zone; no zone means UTC, never that of the machine. Day of week 7 is Sunday. What is
// ambiguous or never comes is refused: a zone inside the expression, @every, a step beyond its range, 31 February.
func ParseSchedule(text, zone string) (Instants, error) {
	if len(text) > maxSchedule || len(zone) > maxSchedule {
		return Instants{}, fmt.Errorf("want at most %d bytes", maxSchedule)
	}
	loc, err := parseZone(zone)
	if err != nil {
		return Instants{}, err
	}
	if looksLikeDate(text) {
		once, err := parseInstant(text)
		if err != nil {
			return Instants{}, err
		}
		return Instants{Once: once, Zone: loc}, nil
	}
	c, err := parseCron(text)
	if err != nil {
		return Instants{}, err
	}
	return Instants{Zone: loc, cron: c}, nil
}

// Repeats reports whether they are those of a cron expression.
func (i Instants) Repeats() bool { return i.cron != nil }

func parseZone(name string) (*time.Location, error) {
	switch name {
	case "Local", "localtime", "posixrules":
		return nil, fmt.Errorf("time zone %q is that of one machine: want an IANA name, such as Europe/Berlin", name)
	}
	loc, err := time.LoadLocation(name)
	// Debian has these two folders beside the zones, with other clocks in one of them; an image without zone data has none.
	machine := strings.HasPrefix(name, "right/") || strings.HasPrefix(name, "posix/")
	if err != nil || machine {
		return nil, fmt.Errorf("unknown time zone %q: want an IANA name, such as Europe/Berlin", name)
	}
	return loc, nil
}

// looksLikeDate tells an instant from a cron expression, so that a wrong instant is told what is wrong with it.
func looksLikeDate(text string) bool {
	const digits = 4
	year, _, dashed := strings.Cut(text, "-")
	_, err := strconv.ParseUint(year, 10, 64)
	return dashed && len(year) == digits && err == nil
}

func parseInstant(text string) (time.Time, error) {
	const oldest = 1970
	text = strings.ToUpper(text) // RFC 3339, section 5.6: "t" and "z" may be in lower case
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case err == nil && lenient(text, at):
	case err == nil && at.Year() < oldest:
		return time.Time{}, fmt.Errorf("%q lies before %d: want a year that can come", text, oldest)
	case err == nil:
		return at, nil
	}
	for _, naive := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if _, naiveErr := time.Parse(naive, text); naiveErr == nil {
			return time.Time{}, fmt.Errorf("%q has no offset: say where, as in 2026-12-24T18:00:00+01:00, "+
				"or 2026-12-24T17:00:00Z for UTC", text)
		}
	}
	if strings.Contains(text, ":60") {
		return time.Time{}, fmt.Errorf("%q is a leap second, which computers' clocks do not show: name the second after it", text)
	}
	return time.Time{}, fmt.Errorf("%q is no RFC 3339 instant: want 2026-12-24T18:00:00+01:00", text)
}

// lenient reports whether time.Parse let something through that is not RFC 3339: an hour of one digit, a decimal comma, an
// offset of a day.
func lenient(text string, at time.Time) bool {
	_, offset := at.Zone()
	const day = 24 * 60 * 60
	return text[len("2006-01-02T1")] == ':' || strings.Contains(text, ",") || offset <= -day || offset >= day
}
