package sample

import (
	"math/big"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// count reads a keyword that counts.
func count(n *openapi.Node, otherwise int) int {
	r := rat(n)
	if r == nil || !r.IsInt() || !r.Num().IsInt64() {
		return otherwise
	}
	const most = hardSize // more cannot be made
	if c := r.Num().Int64(); c < most {
		return int(c)
	}
	return most
}

func rat(n *openapi.Node) *big.Rat {
	if n.Kind() != openapi.Number {
		return nil
	}
	r, ok := new(big.Rat).SetString(n.Text())
	if !ok {
		return nil
	}
	return r
}

// span is the numbers that are allowed: from low to high, multiples of step where there is one.
type span struct {
	low, high       *big.Rat // nil where there is no bound
	lowOut, highOut bool     // the bound itself is not allowed
	step            *big.Rat // nil where any number will do
}

// span returns the numbers that all schemas of a view allow. Of several steps it takes one that is a multiple of each.
func (v view) span(integer bool) span {
	var s span
	if integer {
		s.step = big.NewRat(1, 1)
	}
	for _, schema := range v.schemas {
		s = s.raised(rat(schema.Member("minimum")), schema.Member("exclusiveMinimum").IsTrue())
		s = s.raised(rat(schema.Member("exclusiveMinimum")), true)
		s = s.lowered(rat(schema.Member("maximum")), schema.Member("exclusiveMaximum").IsTrue())
		s = s.lowered(rat(schema.Member("exclusiveMaximum")), true)
		if m := rat(schema.Member("multipleOf")); m != nil && m.Sign() > 0 {
			s.step = commonStep(s.step, m)
		}
	}
	return s
}

// raised returns s with another lower bound, where that is stricter.
func (s span) raised(bound *big.Rat, out bool) span {
	if bound != nil && (s.low == nil || bound.Cmp(s.low) > 0 || bound.Cmp(s.low) == 0 && out) {
		s.low, s.lowOut = bound, out
	}
	return s
}

// lowered returns s with another upper bound, where that is stricter.
func (s span) lowered(bound *big.Rat, out bool) span {
	if bound != nil && (s.high == nil || bound.Cmp(s.high) < 0 || bound.Cmp(s.high) == 0 && out) {
		s.high, s.highOut = bound, out
	}
	return s
}

// commonStep returns the least number that is a multiple of both: lcm(a/b, c/d) is lcm(a*d, c*b)/(b*d).
func commonStep(x, y *big.Rat) *big.Rat {
	if x == nil {
		return y
	}
	a, c := new(big.Int).Mul(x.Num(), y.Denom()), new(big.Int).Mul(y.Num(), x.Denom())
	gcd := new(big.Int).GCD(nil, nil, a, c)
	lcm := new(big.Int).Mul(new(big.Int).Div(a, gcd), c)
	return new(big.Rat).SetFrac(lcm, new(big.Int).Mul(x.Denom(), y.Denom()))
}

func (s span) holds(x *big.Rat) bool {
	if s.low != nil {
		if order := x.Cmp(s.low); order < 0 || order == 0 && s.lowOut {
			return false
		}
	}
	if s.high != nil {
		if order := x.Cmp(s.high); order > 0 || order == 0 && s.highOut {
			return false
		}
	}
	return true
}

// number returns the number nearest to 0, from above where it can be, that is allowed; further ones for other variants.
func (g *generator) number(v view, integer bool) (string, bool) {
	s := v.span(integer)
	start := s.nearest()
	step := s.step
	if step == nil {
		step = s.fraction()
	}
	if !s.holds(start) {
		return "", false
	}
	if n := g.pick(); n > 0 {
		return decimal(s.further(start, step, n)), true
	}
	return decimal(start), true
}

// nearest returns the allowed number that is nearest to 0.
func (s span) nearest() *big.Rat {
	zero := new(big.Rat)
	switch {
	case s.holds(zero):
		return zero
	case s.low != nil && s.low.Sign() >= 0:
		return s.stepped(s.low, s.lowOut, 1)
	}
	return s.stepped(s.high, s.highOut, -1)
}

// stepped returns the number nearest to a bound on the side of sign.
func (s span) stepped(bound *big.Rat, out bool, sign int64) *big.Rat {
	step := s.step
	if step == nil {
		if !out {
			return bound
		}
		step = s.fraction()
		return new(big.Rat).Add(bound, new(big.Rat).Mul(step, big.NewRat(sign, 1)))
	}
	n := new(big.Rat).Quo(bound, step)
	q := new(big.Int).Div(n.Num(), n.Denom()) // rounds down
	x := new(big.Rat).Mul(new(big.Rat).SetInt(q), step)
	if x.Cmp(bound) == 0 && !out {
		return x
	}
	if sign > 0 {
		return x.Add(x, step)
	}
	if x.Cmp(bound) == 0 {
		return x.Sub(x, step)
	}
	return x
}

// fraction returns a step between numbers that need not be whole: a half, or a part of a narrow span.
func (s span) fraction() *big.Rat {
	half := big.NewRat(1, 2)
	if s.low == nil || s.high == nil {
		return half
	}
	width := new(big.Rat).Sub(s.high, s.low)
	for i := 0; i < 64 && width.Sign() > 0 && half.Cmp(width) >= 0; i++ {
		half.Quo(half, big.NewRat(10, 1))
	}
	return half
}

// further returns the n-th allowed number behind start, going round where the span ends.
func (s span) further(start, step *big.Rat, n int) *big.Rat {
	toward := big.NewRat(int64(n), 1)
	if s.holds(new(big.Rat).Add(start, step)) {
		if s.high != nil {
			toward = new(big.Rat).SetInt(modulo(n, s.high, start, step))
		}
	} else {
		if s.low != nil {
			toward = new(big.Rat).SetInt(modulo(n, start, s.low, step))
		}
		toward.Neg(toward)
	}
	x := new(big.Rat).Add(start, toward.Mul(toward, step))
	if !s.holds(x) {
		return start
	}
	return x
}

// modulo returns n modulo how many steps there are between two numbers, both included.
func modulo(n int, high, low, step *big.Rat) *big.Int {
	between := new(big.Rat).Quo(new(big.Rat).Sub(high, low), step)
	steps := new(big.Int).Div(between.Num(), between.Denom())
	return new(big.Int).Mod(big.NewInt(int64(n)), steps.Add(steps, big.NewInt(1)))
}

// decimal returns r as a JSON number.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	const digits = 30
	return strings.TrimRight(r.FloatString(digits), "0")
}
