package reconcile

import (
	"context"
	"slices"
	"time"
)

// How long the loop rests where no news comes.
const (
	// recheckAfter is how long a commit that the cluster refused rests before it is looked at again, without a write.
	recheckAfter = 2 * time.Minute
	// firstRetry and lastRetry bound the back-off after trouble.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// longestRest is how long the loop rests at most where a step is to begin: a clock may be set.
	longestRest = 30 * time.Second
	// glance is how often an instance that waits for something looks up, should no news come.
	glance = 5 * time.Second
	// mostAgain is how many passes in a row come at once, because each changed what it had looked at.
	mostAgain = 8
)

// rest waits for news, at the longest for as long as a standing may be left alone.
func rest(ctx context.Context, wake <-chan struct{}, now standing, at time.Time) error {
	d, goOn := now.next(at)
	if goOn {
		return ctx.Err()
	}
	return pause(ctx, wake, d)
}

// next returns how long the loop may rest if no news comes, and whether it may rest at all; 0 means for ever.
func (s standing) next(at time.Time) (rest time.Duration, goOn bool) {
	if s.more || 0 < s.again && s.again <= mostAgain {
		return 0, true
	}
	var due []time.Time
	if s.again > mostAgain {
		due = append(due, at.Add(firstRetry))
	}
	if s.failures > 0 {
		due = append(due, s.retry)
	} else {
		for _, a := range []attempt{s.writing, s.pruning} {
			if a.digest != "" {
				due = append(due, a.again)
			}
		}
	}
	if s.untold > 0 {
		due = append(due, at.Add(backOff(s.untold)))
	}
	if len(s.waits) > 0 {
		due = append(due, at.Add(glance))
	}
	// Without a newest commit there is nothing to look at again.
	if s.refused != nil && !s.refused.again.IsZero() && s.unknown == nil && s.unchecked == nil {
		due = append(due, s.refused.again)
	}
	if len(s.accepted.state.Splits) > 0 && !s.accepted.until.IsZero() {
		due = append(due, s.accepted.until, at.Add(longestRest))
	}
	if at.Before(s.absent) {
		due = append(due, s.absent)
	}
	if len(due) == 0 {
		return 0, false
	}
	const least = 10 * time.Millisecond // a moment that has passed meanwhile
	return max(slices.MinFunc(due, time.Time.Compare).Sub(at), least), false
}

// backOff doubles from firstRetry to lastRetry.
func backOff(failures int) time.Duration {
	const doublings = 6
	return min(firstRetry<<min(max(failures, 1)-1, doublings), lastRetry)
}

// pause waits for news, at the longest for d; 0 means no limit.
func pause(ctx context.Context, wake <-chan struct{}, d time.Duration) error {
	var expired <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		expired = t.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wake:
		return nil
	case <-expired:
		return nil
	}
}
