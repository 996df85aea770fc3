package desired

import (
	"strconv"
	"strings"
	"time"
)

// Split is the weights of one TrafficSplit over time.
type Split struct {
	Key
	// Targets by name, in the order of the split.
	Targets []string
	// Own are the weights of Targets while no step is in force.
	Own []uint32
	// Steps in the order of the split.
	Steps []Step
	// InForce is the step whose weights are in force, counted from 1; 0 for none.
	InForce int
}

// Step changes the weights of a split at an instant, or at each of several.
type Step struct {
	Instants
	// Weights of the split's targets, in their order.
	Weights []uint32
}

// Weights returns those in force, in the order of Targets.
func (s Split) Weights() []uint32 { return s.weights(s.InForce) }

func (s Split) weights(step int) []uint32 {
	if step == 0 {
		return s.Own
	}
	return s.Steps[step-1].Weights
}

// String returns the weights in force: "stable=90 canary=10".
func (s Split) String() string { return s.text(s.InForce) }

func (s Split) text(step int) string {
	parts := make([]string, len(s.Targets))
	for i, weight := range s.weights(step) {
		parts[i] = s.Targets[i] + "=" + strconv.FormatUint(uint64(weight), 10)
	}
	return strings.Join(parts, " ")
}

// Next returns the first instant of a step after now, and the weights from then on as a text; a zero time where none comes.
func (s Split) Next(now time.Time) (time.Time, string) {
	var first time.Time
	step := 0
	for i := range s.Steps {
		at := s.Steps[i].Next(now)
		// Of two at one instant the later in the list is in force.
		if !at.IsZero() && (first.IsZero() || !at.After(first)) {
			first, step = at, i+1
		}
	}
	if first.IsZero() {
		return first, ""
	}
	return first, s.text(step)
}

// at returns the step whose latest instant at or before now is the latest of all; of two at one instant the later in the
// list. 0 where no instant has come.
func (s Split) at(now time.Time) int {
	var latest time.Time
	step := 0
	for i := range s.Steps {
		at := s.Steps[i].Latest(now)
		if !at.IsZero() && !at.Before(latest) {
			latest, step = at, i+1
		}
	}
	return step
}
