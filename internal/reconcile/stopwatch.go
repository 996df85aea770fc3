package reconcile

import (
	"log/slog"
	"time"
)

// passStep is a part of a pass that is timed by itself.
type passStep int

// The steps, in the order of once.
const (
	stepSource passStep = iota
	stepRender
	stepLook
	stepThink
	stepPreflight
	stepAccept
	stepApply
	stepPublish
	stepPrune
	stepReport
	steps // how many there are
)

// String returns the name of a step in logs and metrics.
func (s passStep) String() string {
	return [steps]string{
		"source", "render", "look", "think", "preflight", "accept", "apply", "publish", "prune", "report",
	}[s]
}

// stopwatch says how long each step of a pass took. A step within a step is not counted twice.
type stopwatch struct {
	began time.Time
	took  [steps]time.Duration
	// open are the steps that are under way, the innermost last; since is when that began or went on.
	open  []passStep
	since time.Time
}

// start begins a pass.
func (w *stopwatch) start() { *w = stopwatch{began: time.Now(), open: w.open[:0]} }

// enter begins a step, and returns what ends it.
func (w *stopwatch) enter(s passStep) (leave func()) {
	now := time.Now()
	if n := len(w.open); n > 0 {
		w.took[w.open[n-1]] += now.Sub(w.since)
	}
	w.open, w.since = append(w.open, s), now
	return w.leave
}

func (w *stopwatch) leave() {
	now, last := time.Now(), len(w.open)-1
	w.took[w.open[last]] += now.Sub(w.since)
	w.open, w.since = w.open[:last], now
}

// attrs are the time that a pass has taken so far, and the steps that took a share of it that counts.
func (w *stopwatch) attrs() []any {
	const unit = time.Millisecond
	var shares []any
	for s, d := range w.took {
		if d >= unit {
			shares = append(shares, slog.Duration(passStep(s).String(), d.Round(unit)))
		}
	}
	return []any{slog.Duration("took", time.Since(w.began).Round(unit)), slog.Group("steps", shares...)}
}
