package reconcile

import (
	"strconv"
	"strings"
	"time"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
)

// at returns a commit with what is in force of it now. It is the same commit, and costs nothing, as long as no step begins
// and the clock is not set back.
func (c commit) at(now time.Time) (commit, error) {
	if len(c.state.Splits) == 0 || c.holds(now) {
		return c, nil
	}
	state := c.state.At(now)
	if !isSame(state.Objects, c.state.Objects) {
		declared, err := apply.Declare(state.Objects, c.declared)
		if err != nil {
			return c, err
		}
		c.declared = declared
	}
	// Wall clock alone: a step begins when that says so, also where it was set meanwhile.
	c.state, c.steps, c.asOf, c.until = state, stepsOf(state.Splits), now.Round(0), state.Next(now)
	return c, nil
}

// holds reports whether what is in force of a commit was found out before, and still is.
func (c commit) holds(now time.Time) bool {
	return !c.asOf.IsZero() && !now.Before(c.asOf) && (c.until.IsZero() || now.Before(c.until))
}

// stepsOf names the steps that are in force.
func stepsOf(splits []desired.Split) string {
	var b strings.Builder
	for i := range splits {
		b.WriteString(strconv.Itoa(splits[i].InForce) + " ")
	}
	return b.String()
}
