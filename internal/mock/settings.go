package mock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// settings are a v1alpha1.MockServer made ready.
type settings struct {
	validate    bool
	cors        *cors // nil where browsers get no answer
	least, most time.Duration
	errorRate   float64
	seed        uint64
}

// ParseServer reads the JSON of a v1alpha1.MockServer; nothing at all are the defaults.
func ParseServer(text []byte) (v1alpha1.MockServer, error) {
	var out v1alpha1.MockServer
	if len(text) == 0 {
		return out, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&out); err != nil {
		return out, fmt.Errorf("read the settings of the mock: %w", err)
	}
	return out, nil
}

func settingsOf(s v1alpha1.MockServer) (settings, error) {
	least, most, err := s.Delays()
	if err != nil {
		return settings{}, fmt.Errorf("delay: %w", err)
	}
	if err := s.CORS.Check(); err != nil {
		return settings{}, fmt.Errorf("cors: %w", err)
	}
	out := settings{
		validate: s.ValidateRequests == nil || *s.ValidateRequests,
		least:    least, most: most,
		errorRate: s.ErrorRate.Value(),
		seed:      uint64(s.Seed), //nolint:gosec // any bits do
	}
	if s.CORS.Answers() {
		out.cors = newCORS(s.CORS)
	}
	return out, nil
}

// What is drawn by chance.
const (
	forDelay = iota + 1
	forError
)

// chance returns a number from 0 to 1 that depends on the seed, the request's number, and what it is drawn for.
func (s *settings) chance(request, what uint64) float64 {
	const bits = 53 // of a float64
	return float64(mix(mix(s.seed+request)+what)>>(64-bits)) / (1 << bits)
}

// mix is the finalizer of SplitMix64: bits of the result depend on all bits of x.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// disturbs reports whether requests are delayed or failed.
func (s *settings) disturbs() bool { return s.most > 0 || s.errorRate > 0 }

// disturb waits as long as it is to, and reports whether the request goes on: the client may be gone, or the answer is to
// be an error.
func (c *call) disturb(request uint64) bool {
	s := &c.api.settings
	if s.most > 0 {
		wait := s.least + time.Duration(float64(s.most-s.least)*s.chance(request, forDelay))
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.r.Context().Done():
			return false
		}
	}
	if s.errorRate > 0 && s.chance(request, forError) < s.errorRate {
		c.problem(problem{status: 500, detail: "an error that server.errorRate asks for"})
		return false
	}
	return true
}
