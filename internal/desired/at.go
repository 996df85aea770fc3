package desired

import (
	"slices"
	"time"
)

// At returns the state in force at an instant: the weights of each split are those of the step whose latest instant is the
// latest at or before now, and its own before any. It depends on what the commit declares and on now alone, whatever s was
// in force at, so a daemon that was away or started late is where it would be anyway.
//
// What does not change is the very same: s itself where no split moves, and each list that no moving split has a part in.
func (s State) At(now time.Time) State {
	now = now.Round(0) // by the wall clock alone: the monotonic one does not follow when that is set
	splits, moved := s.Splits, map[Key]int{}
	for i, was := range s.Splits {
		step := was.at(now)
		if step == was.InForce {
			continue
		}
		if &splits[0] == &s.Splits[0] {
			splits = slices.Clone(s.Splits)
		}
		splits[i].InForce = step
		if !slices.Equal(was.Weights(), splits[i].Weights()) {
			moved[was.Key] = i
		}
	}
	s.Splits = splits
	if len(moved) > 0 {
		s.Routes, s.Objects = s.routesOf(moved), s.objectsOf(moved)
	}
	return s
}

// Next returns the first instant after now at which a step begins; zero where none will.
func (s State) Next(now time.Time) time.Time {
	now = now.Round(0)
	var first time.Time
	for i := range s.Splits {
		if at, _ := s.Splits[i].Next(now); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// routesOf returns the routes, those of the splits that moved with the weights in force.
func (s State) routesOf(moved map[Key]int) []Route {
	out := s.Routes
	for i := range s.Routes {
		at, ok := moved[s.Routes[i].Split]
		if !ok || len(s.Routes[i].Backends) == 0 {
			continue
		}
		if &out[0] == &s.Routes[0] {
			out = slices.Clone(s.Routes)
		}
		out[i].Backends = slices.Clone(out[i].Backends)
		for j, weight := range s.Splits[at].Weights() {
			out[i].Backends[j].Weight = weight
		}
	}
	return out
}

// objectsOf returns the objects, those of the splits that moved with the content in force.
func (s State) objectsOf(moved map[Key]int) []Object {
	out := s.Objects
	for i := range s.Objects {
		if len(s.Objects[i].Steps) == 0 {
			continue
		}
		at, ok := moved[s.Objects[i].Source.Key]
		if !ok {
			continue
		}
		if &out[0] == &s.Objects[0] {
			out = slices.Clone(s.Objects)
		}
		out[i].Content = out[i].Steps[s.Splits[at].InForce]
	}
	return out
}
