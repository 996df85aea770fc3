package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidelock/tidelock/internal/desired"
)

const whole = 100 // percent

// weights says how the shares of two sets of targets differ.
func weights(a, b *desired.Route) []string {
	was, is := shares(a, targetName), shares(b, targetName)
	var parts []string
	for _, name := range unionOf(a, b) {
		before, had := was[name]
		after, has := is[name]
		switch {
		case had && has && before != after:
			parts = append(parts, fmt.Sprintf("%s %s -> %s", name, percent(before), percent(after)))
		case has && !had:
			parts = append(parts, fmt.Sprintf("%s is new with %s", name, percent(after)))
		case had && !has:
			parts = append(parts, fmt.Sprintf("%s is gone (had %s)", name, percent(before)))
		}
	}
	for i := range b.Backends {
		y := &b.Backends[i]
		for j := range a.Backends {
			x := &a.Backends[j]
			if targetName(x, a) == targetName(y, b) && place(x, a) != place(y, b) {
				parts = append(parts, fmt.Sprintf("%s now goes to %s (before: %s)", targetName(y, b), place(y, b), place(x, a)))
			}
		}
	}
	return parts
}

// unionOf names the targets of both, those of b first, in their order.
func unionOf(a, b *desired.Route) []string {
	var out []string
	for _, r := range []*desired.Route{b, a} {
		for i := range r.Backends {
			if name := targetName(&r.Backends[i], r); !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

func targetName(b *desired.Backend, r *desired.Route) string {
	if b.Name != "" {
		return b.Name
	}
	return place(b, r)
}

// shares are the percent of requests by target; none where all weights are 0.
func shares(r *desired.Route, name func(*desired.Backend, *desired.Route) string) map[string]float64 {
	out := map[string]float64{}
	if r == nil {
		return out
	}
	var total uint64
	for _, b := range r.Backends {
		total += uint64(b.Weight)
	}
	for i := range r.Backends {
		if total == 0 {
			out[name(&r.Backends[i], r)] = 0
			continue
		}
		out[name(&r.Backends[i], r)] += whole * float64(r.Backends[i].Weight) / float64(total)
	}
	return out
}

// distance is how many percent of the requests of one route something else answers in the other.
func distance(a, b *desired.Route) float64 {
	if a == nil && b == nil {
		return 0
	}
	was, is := answers(a), answers(b)
	kept := 0.0
	for k, v := range was {
		kept += min(v, is[k])
	}
	return max(0, whole-kept)
}

// answers are the percent of requests by what answers them.
func answers(r *desired.Route) map[string]float64 {
	if r == nil || len(r.Backends) == 0 {
		return map[string]float64{target(r): whole}
	}
	out := shares(r, func(b *desired.Backend, _ *desired.Route) string {
		u := b.Upstream
		return u.Service.String() + " " + u.Address + " " + strconv.FormatUint(uint64(u.Port), 10)
	})
	for _, v := range out {
		if v > 0 {
			return out
		}
	}
	return map[string]float64{"503": whole}
}

func percent(v float64) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " %"
}
