package desired

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Instants are the moments at which a schedule fires: one, or those of a cron expression.
type Instants struct {
	// Once is the only instant; zero where Cron is set.
	Once time.Time
	// Cron finds the instants in the zone of the time that it is asked with.
	Cron cron.Schedule
	// Zone is where the hours of Cron are read.
	Zone *time.Location
}

// ParseSchedule reads an RFC 3339 instant with its offset, or a cron expression of five fields (or @hourly, @daily, @weekly,
// @monthly, @yearly) in an IANA zone; no zone means UTC, never that of the machine. Day of week 7 is Sunday. What is
// ambiguous or never comes is refused: a zone inside the expression, @every, a step beyond its range, 31 February.
func ParseSchedule(text, zone string) (Instants, error) {
	loc, err := parseZone(zone)
	if err != nil {
		return Instants{}, err
	}
	if looksLikeDate(text) {
		once, err := parseInstant(text)
		return Instants{Once: once, Zone: loc}, err
	}
	c, err := parseCron(text)
	return Instants{Cron: c, Zone: loc}, err
}

func parseZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errors.New(`time zone "Local" is that of one machine: want an IANA name, such as Europe/Berlin`)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
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
	at, err := time.Parse(time.RFC3339, text)
	if err == nil {
		return at, nil
	}
	for _, naive := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if _, naiveErr := time.Parse(naive, text); naiveErr == nil {
			return time.Time{}, fmt.Errorf("%q has no offset: say where, as in 2026-12-24T18:00:00+01:00, "+
				"or 2026-12-24T17:00:00Z for UTC", text)
		}
	}
	return time.Time{}, fmt.Errorf("%q is no RFC 3339 instant: want 2026-12-24T18:00:00+01:00", text)
}

func parseCron(text string) (schedule cron.Schedule, err error) {
	// The library panics on some inputs.
	defer func() {
		if r := recover(); r != nil {
			schedule, err = nil, fmt.Errorf("%q is no cron expression", text)
		}
	}()
	switch {
	case strings.Contains(text, "TZ="):
		return nil, errors.New("name the zone in timeZone, not in the schedule")
	case strings.HasPrefix(text, "@every"):
		return nil, errors.New("@every has no instants of its own, they would depend on when the daemon started: " +
			"write cron fields, such as */15 * * * *")
	case !strings.HasPrefix(text, "@"):
		if text, err = normalCron(text); err != nil {
			return nil, err
		}
	}
	schedule, err = cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no cron expression: %w", text, err)
	}
	// The library looks five years ahead; from a leap year on that finds every date that there is.
	if schedule.Next(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, fmt.Errorf("%q never comes: no such day in those months", text)
	}
	return schedule, nil
}

// cronField is one of the five fields: its name, its least and greatest value, and names for values from 0 or 1 on.
type cronField struct {
	name      string
	low, high int
	names     []string
}

func cronFields() []cronField {
	months := []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	days := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	return []cronField{
		{name: "minute", low: 0, high: 59},
		{name: "hour", low: 0, high: 23},
		{name: "day of month", low: 1, high: 31},
		{name: "month", low: 1, high: 12, names: months},
		{name: "day of week", low: 0, high: 7, names: days},
	}
}

// normalCron returns the expression as the library reads it without a surprise: the library takes "*-5", "1,,2" and steps
// beyond the range for something else than they say, and knows no Sunday 7.
func normalCron(text string) (string, error) {
	fields, specs := strings.Fields(text), cronFields()
	if len(fields) != len(specs) {
		return "", fmt.Errorf("%q is no cron expression: want five fields (minute, hour, day of month, month, day of week), "+
			"or an RFC 3339 instant", text)
	}
	for i, spec := range specs {
		parts := strings.Split(fields[i], ",")
		for j, part := range parts {
			normal, err := spec.part(part)
			if err != nil {
				return "", fmt.Errorf("%s %q: %w", spec.name, part, err)
			}
			parts[j] = normal
		}
		fields[i] = strings.Join(parts, ",")
	}
	return strings.Join(fields, " "), nil
}

// part checks one member of a list, such as "1-5" or "*/15", and returns it without a Sunday 7.
func (f cronField) part(text string) (string, error) {
	ranged, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		var err error
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 || stepText[0] == '+' {
			return "", errors.New("want a step of 1 or more")
		}
	}
	if ranged == "*" || ranged == "?" {
		if most := f.span(); step > most {
			return "", fmt.Errorf("a step of %d never comes round: want at most %d", step, most)
		}
		return text, nil
	}
	lowText, highText, twoEnds := strings.Cut(ranged, "-")
	low, err := f.number(lowText)
	if err != nil {
		return "", err
	}
	high := low
	if twoEnds {
		if high, err = f.number(highText); err != nil {
			return "", err
		}
		if high == 0 && low > 0 && f.isDayOfWeek() {
			high = 7 // FRI-SUN
		}
	} else if stepped {
		high = f.low + f.span() - 1
	}
	switch {
	case high < low:
		return "", errors.New("the range ends before it begins")
	case stepped && step > high-low:
		return "", fmt.Errorf("a step of %d leads out of the range %d-%d", step, low, high)
	}
	return f.write(low, high, step, high != low), nil
}

func (f cronField) isDayOfWeek() bool { return f.high == 7 }

// span is how many different values the field has.
func (f cronField) span() int {
	if f.isDayOfWeek() {
		return f.high // 0 and 7 are one day
	}
	return f.high - f.low + 1
}

func (f cronField) number(text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return i + f.low, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || text[0] == '+' || n < f.low || n > f.high {
		return 0, fmt.Errorf("want %d to %d", f.low, f.high)
	}
	return n, nil
}

// write returns low-high/step; where 7 is in it, as a list with 0 for it.
func (f cronField) write(low, high, step int, ranged bool) string {
	if f.isDayOfWeek() && high == f.high {
		var days []string
		for d := low; d <= high; d += step {
			days = append(days, strconv.Itoa(d%f.high))
		}
		return strings.Join(days, ",")
	}
	text := strconv.Itoa(low)
	if ranged {
		text += "-" + strconv.Itoa(high)
	}
	if step > 1 {
		text += "/" + strconv.Itoa(step)
	}
	return text
}
