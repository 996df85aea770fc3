package desired

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cronTimes are the times of a wall clock that a cron expression names. The library parses; it does not look for times,
// because it loses the days on which clocks change. A time of a wall clock is written as one of UTC.
type cronTimes struct{ *cron.SpecSchedule }

func parseCron(text string) (_ *cronTimes, err error) {
	// The library panics on some inputs.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%q is no cron expression", text)
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
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no cron expression: %w", text, err)
	}
	spec, ok := schedule.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("%q is no cron expression", text)
	}
	// From a leap year on, four years hold every date that there is.
	c := &cronTimes{spec}
	leap := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	if _, comes := c.next(leap, leap.AddDate(4, 0, 0)); !comes {
		return nil, fmt.Errorf("%q never comes: no such day in those months", text)
	}
	return c, nil
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
		last := f.low + f.span() - 1
		return "", fmt.Errorf("the range ends before it begins: write %d-%d,%d-%d", low, last, f.low, high)
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
	if err != nil && strings.ContainsAny(text, "LWH#") {
		return 0, fmt.Errorf("want %d to %d: the L, W, # and H of other crons are not known here", f.low, f.high)
	}
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

const (
	hoursOfDay    = 24
	minutesOfHour = 60
	minutesOfDay  = hoursOfDay * minutesOfHour
)

func has(set uint64, bit int) bool { return set&(1<<uint(bit)) != 0 }

// everyHour reports whether no hour is left out: an interval, not an hour of the day.
func (c cronTimes) everyHour() bool { return bits.OnesCount64(c.Hour&(1<<hoursOfDay-1)) == hoursOfDay }

// next returns the first time from a wall clock's from on, if there is one before end.
func (c cronTimes) next(from, end time.Time) (time.Time, bool) {
	from = from.Add(time.Minute - time.Nanosecond).Truncate(time.Minute)
	day, minute := dayOf(from)
	for day.Before(end) {
		if !has(c.Month, int(day.Month())) {
			day, minute = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC), 0
			continue
		}
		if c.onDay(day) {
			if m, ok := c.minuteFrom(minute); ok {
				t := day.Add(time.Duration(m) * time.Minute)
				return t, t.Before(end)
			}
		}
		day, minute = day.AddDate(0, 0, 1), 0
	}
	return time.Time{}, false
}

// last returns the last time up to a wall clock's until, if there is one after begin.
func (c cronTimes) last(until, begin time.Time) (time.Time, bool) {
	day, minute := dayOf(until)
	for day.AddDate(0, 0, 1).After(begin) {
		if !has(c.Month, int(day.Month())) {
			day, minute = time.Date(day.Year(), day.Month(), 0, 0, 0, 0, 0, time.UTC), minutesOfDay-1
			continue
		}
		if c.onDay(day) {
			if m, ok := c.minuteUpTo(minute); ok {
				t := day.Add(time.Duration(m) * time.Minute)
				return t, t.After(begin)
			}
		}
		day, minute = day.AddDate(0, 0, -1), minutesOfDay-1
	}
	return time.Time{}, false
}

func dayOf(t time.Time) (day time.Time, minute int) {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC), t.Hour()*minutesOfHour + t.Minute()
}

// onDay reports whether the two fields for days hold. Where both are given, one is enough: crontab(5).
func (c cronTimes) onDay(day time.Time) bool {
	const star = 63
	ofMonth, ofWeek := has(c.Dom, day.Day()), has(c.Dow, int(day.Weekday()))
	if has(c.Dom, star) || has(c.Dow, star) {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}

// minuteFrom returns the first minute of the day at or after one.
func (c cronTimes) minuteFrom(minute int) (int, bool) {
	for hour, m := minute/minutesOfHour, minute%minutesOfHour; hour < hoursOfDay; hour, m = hour+1, 0 {
		if left := c.Minute >> m << m & (1<<minutesOfHour - 1); has(c.Hour, hour) && left != 0 {
			return hour*minutesOfHour + bits.TrailingZeros64(left), true
		}
	}
	return 0, false
}

// minuteUpTo returns the last minute of the day at or before one.
func (c cronTimes) minuteUpTo(minute int) (int, bool) {
	for hour, m := minute/minutesOfHour, minute%minutesOfHour; hour >= 0; hour, m = hour-1, minutesOfHour-1 {
		if left := c.Minute & (1<<(m+1) - 1); has(c.Hour, hour) && left != 0 {
			return hour*minutesOfHour + bits.Len64(left) - 1, true
		}
	}
	return 0, false
}
