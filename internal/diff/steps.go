package diff

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// aheadOf is the Change of a step of a split that is still to come.
const aheadOf = "ahead"

// ofSplit begins the Subject of a Timing that is about a split.
const ofSplit = "split "

// stepsAhead tells of splits whose next steps are others than before: which weights move, and when.
func stepsAhead(base, head desired.State, now time.Time) []Timing {
	was := make(map[desired.Key][]string, len(base.Splits))
	for _, s := range base.Splits {
		was[s.Key] = nextSteps(s, now)
	}
	var out []Timing
	for _, s := range head.Splits {
		before, is := was[s.Key], nextSteps(s, now)
		delete(was, s.Key)
		if slices.Equal(before, is) {
			continue
		}
		at := originOf(head, s.Key)
		t := Timing{Subject: ofSplit + s.Key.String(), Change: aheadOf, File: at.Path, Line: at.Line}
		for _, t.Text = range is {
			out = append(out, t)
		}
		if len(is) == 0 {
			t.Change, t.Text = "changed", "no step is ahead any more (before: "+before[0]+")"
			out = append(out, t)
		}
	}
	for _, s := range base.Splits {
		if before := was[s.Key]; len(before) > 0 {
			at := originOf(base, s.Key)
			out = append(out, Timing{
				Subject: ofSplit + s.Key.String(), Change: "removed", Text: "no longer moves (before: " + before[0] + ")",
				File: at.Path, Line: at.Line,
			})
		}
	}
	return out
}

// nextSteps says of the next steps of a split which weights move, and when.
func nextSteps(s desired.Split, now time.Time) []string {
	var out []string
	weights := func(at time.Time) []uint32 {
		return desired.State{Splits: []desired.Split{s}}.At(at).Splits[0].Weights()
	}
	for was, left := weights(now), ahead; left > 0; left-- {
		at, _ := s.Next(now)
		if at.IsZero() {
			break
		}
		is := weights(at)
		if moved := moving(s.Targets, was, is); moved != "" {
			out = append(out, moved+" at "+moment(at))
		}
		now, was = at, is
	}
	return out
}

// moving says "canary 10 % -> 25 %" of each target whose share differs.
func moving(targets []string, was, is []uint32) string {
	var parts []string
	for i, name := range targets {
		if before, after := share(was, i), share(is, i); before != after {
			parts = append(parts, fmt.Sprintf("%s %s -> %s", name, percent(before), percent(after)))
		}
	}
	return strings.Join(parts, ", ")
}

func share(weights []uint32, i int) float64 {
	var total uint64
	for _, w := range weights {
		total += uint64(w)
	}
	if total == 0 {
		return 0
	}
	return whole * float64(weights[i]) / float64(total)
}

// moment writes an instant in its own zone, which is named, or in the offset that it is written in.
func moment(at time.Time) string {
	zone := at.Location().String()
	if zone == "" {
		zone = at.Format("-07:00")
	}
	return at.Format("2006-01-02 15:04") + " (" + zone + ")"
}

// originOf is where a split is declared.
func originOf(s desired.State, k desired.Key) desired.Origin {
	id := desired.ID{Group: v1alpha1.Group, Kind: v1alpha1.KindTrafficSplit, Namespace: k.Namespace, Name: k.Name}
	i, ok := slices.BinarySearchFunc(s.Objects, id, func(o desired.Object, id desired.ID) int { return o.Compare(id) })
	if !ok {
		return desired.Origin{}
	}
	return s.Objects[i].Origin
}
