//go:build e2e

package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// split spreads requests over backends.
type split struct {
	weights map[string]int    // by backend
	names   map[string]string // of targets, by backend; those that are not here have the backend's
	steps   []step
}

// step gives all requests of a split to one backend at an instant.
type step struct {
	at time.Time
	to string
}

// reached are the backends that get requests, or may by a step.
func (s *split) reached() set {
	out := set{}
	for b, w := range s.weights {
		if w > 0 {
			out[b] = true
		}
	}
	for _, step := range s.steps {
		out[step.to] = true
	}
	return out
}

// weigh makes a split of all mocks and services and leads a host to it.
func (s *scene) weigh(r *rand.Rand) {
	weights := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(s.backends)) {
		if s.backends[name].kind != "address" {
			weights[name] = 1 + r.IntN(9)
		}
	}
	if len(weights) == 0 {
		return
	}
	name := s.name("split")
	s.splits[name] = &split{weights: weights, names: map[string]string{}}
	s.move(r, name)
}

// named is what the target of a backend is called.
func (s *split) named(backend string) string {
	if name := s.names[backend]; name != "" {
		return name
	}
	return backend
}

func (s *scene) renameTarget(r *rand.Rand) {
	if len(s.splits) > 0 {
		sp := s.splits[pick(r, s.splits)]
		sp.names[pick(r, sp.weights)] = s.name("target")
	}
}

func (s *scene) addStep(r *rand.Rand) {
	if len(s.splits) == 0 {
		return
	}
	const soon = 2000
	sp := s.splits[pick(r, s.splits)]
	at := time.Now().Add(time.Duration(r.IntN(soon)) * time.Millisecond)
	sp.steps = append(sp.steps, step{at: at, to: pick(r, sp.weights)})
}

func (s *scene) dropSteps(r *rand.Rand) {
	if len(s.splits) > 0 {
		s.splits[pick(r, s.splits)].steps = nil
	}
}

// reweigh changes a split's weights; some become 0, and one never does. A target may go.
func (s *scene) reweigh(r *rand.Rand) {
	if len(s.splits) == 0 {
		return
	}
	sp := s.splits[pick(r, s.splits)]
	weights := sp.weights
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		weights[name] = r.IntN(3)
	}
	weights[pick(r, weights)] = 3
	last := pick(r, weights)
	if weights[last] == 0 && !slices.ContainsFunc(sp.steps, func(st step) bool { return st.to == last }) {
		delete(weights, last)
		delete(sp.names, last)
	}
}

// manifest is the spec of a split.
func (s *split) manifest(backends map[string]backend) string {
	var targets, steps []string
	names := slices.Sorted(maps.Keys(s.weights))
	for _, b := range names {
		targets = append(targets, fmt.Sprintf("{name: %s, %s: %s, weight: %d}", s.named(b), backends[b].kind, b, s.weights[b]))
	}
	for _, step := range s.steps {
		var weights []string
		for _, b := range names {
			weight := 0
			if b == step.to {
				weight = 1
			}
			weights = append(weights, fmt.Sprintf("%s: %d", s.named(b), weight))
		}
		steps = append(steps, fmt.Sprintf("{at: '%s', weights: {%s}}", step.at.UTC().Format(time.RFC3339), strings.Join(weights, ", ")))
	}
	return fmt.Sprintf("targets: [%s], steps: [%s]", strings.Join(targets, ", "), strings.Join(steps, ", "))
}
