package xds

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/tidelock/tidelock/internal/desired"
)

const (
	// maxBody is what Envoy takes as the body of a direct response.
	maxBody = 4096
	// maxDuration of a timeout; Envoy refuses what does not fit its own arithmetic.
	maxDuration = 366 * 24 * time.Hour
	// maxProgram bounds a regular expression in instructions of Go's engine; one of Go's is at most some tens of RE2's, which
	// compiles to bytes and not to characters.
	maxProgram, maxProgramRE2 = 1_000, 100_000
)

// checkRoute finds what would make a proxy refuse the whole table of a listener for the sake of one route.
func checkRoute(r *desired.Route, message *routev3.Route) desired.Problems {
	var out desired.Problems
	add := func(field, text string) { out = append(out, problem(r, field, text)) }
	if err := message.ValidateAll(); err != nil {
		add("match", err.Error())
	}
	if n := actions(r); n != 1 {
		add("backend", fmt.Sprintf("set one of backend, redirect and directResponse, not %d", n))
	}
	checkExpressions(r, add)
	checkPaths(r, add)
	checkRetries(r, add)
	for _, c := range []struct {
		field  string
		change desired.HeaderChange
	}{{"headers.request", r.Headers.Request}, {"headers.response", r.Headers.Response}} {
		for _, name := range changedHeaders(c.change) {
			if strings.HasPrefix(name, ":") || strings.EqualFold(name, "host") {
				add(c.field, "header "+name+" cannot be changed here; rewrite.host and rewrite.path can")
			}
		}
	}
	if r.Direct != nil && len(r.Direct.Body) > maxBody {
		add("directResponse.body", fmt.Sprintf("is %d bytes long; Envoy takes at most %d", len(r.Direct.Body), maxBody))
	}
	for u := range r.Upstreams() {
		if d := u.ConnectTimeout; d < 0 || d > maxDuration {
			add("backend.connectTimeout", fmt.Sprintf("%s must be more than 0s and at most %s", d, maxDuration))
		}
	}
	if sum := totalWeight(r.Backends); sum > math.MaxUint32 {
		add("backend", fmt.Sprintf("the weights add up to %d; Envoy takes at most %d", sum, uint32(math.MaxUint32)))
	}
	return out
}

// actions counts what r does with a request.
func actions(r *desired.Route) int {
	n := 0
	for _, set := range []bool{len(r.Backends) > 0, r.Redirect != nil, r.Direct != nil} {
		if set {
			n++
		}
	}
	return n
}

// checkRetries refuses conditions that Envoy ignores without a word, and timeouts that it does not take.
func checkRetries(r *desired.Route, add func(field, text string)) {
	check := func(field string, d time.Duration) {
		if d < 0 || d > maxDuration {
			add(field, fmt.Sprintf("%s must be from 0s to %s", d, maxDuration))
		}
	}
	if r.Timeout != nil {
		check("timeout", *r.Timeout)
	}
	if r.Retries == nil {
		return
	}
	check("retries.perTryTimeout", r.Retries.PerTryTimeout)
	for _, on := range r.Retries.On {
		if !slices.Contains(retryConditions(), on) {
			add("retries.on", fmt.Sprintf("%q is no retry condition of Envoy; those are %s",
				on, strings.Join(retryConditions(), ", ")))
		}
	}
}

// checkExpressions compiles every regular expression; Go's are RE2 as Envoy's are.
func checkExpressions(r *desired.Route, add func(field, text string)) {
	check := func(field, expression string) {
		if err := checkExpression(expression); err != nil {
			add(field, err.Error())
		}
	}
	if r.Match.PathType == desired.PathRegex {
		check("match.path.value", r.Match.Path)
	}
	for _, h := range r.Match.Headers {
		if h.Type == desired.ValueRegex {
			check("match.headers", h.Value)
		}
	}
	for _, q := range r.Match.Query {
		if q.Type == desired.ValueRegex {
			check("match.queryParams", q.Value)
		}
	}
}

// checkExpression finds what is no expression of RE2, or one that Envoy does not take for its size.
func checkExpression(expression string) error {
	size, err := programSize(expression)
	if err == nil && size > maxProgram {
		return errors.New("the regular expression is too large: make it shorter, or its repetitions smaller")
	}
	return err
}

// programSize returns how many instructions an expression compiles to.
func programSize(expression string) (int, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return len(program.Inst), nil
}

// checkPaths refuses a new path that is none, and a new prefix where no prefix is matched.
func checkPaths(r *desired.Route, add func(field, text string)) {
	check := func(field, path string) {
		if path != "" && !strings.HasPrefix(path, "/") {
			add(field, fmt.Sprintf("%q must begin with /", path))
		}
	}
	prefix := func(field string, value *string) {
		if value == nil {
			return
		}
		check(field, *value)
		if r.Match.PathType != desired.PathPrefix {
			add(field, "replaces the prefix that is matched: the rule's path must be of type Prefix")
		}
	}
	if r.Match.PathType != desired.PathRegex {
		check("match.path.value", r.Match.Path)
	}
	check("rewrite.path", r.Rewrite.Path)
	prefix("rewrite.prefix", r.Rewrite.Prefix)
	if r.Redirect != nil {
		check("redirect.path", r.Redirect.Path)
		prefix("redirect.prefix", r.Redirect.Prefix)
	}
}

func changedHeaders(c desired.HeaderChange) []string {
	out := slices.Clone(c.Remove)
	for _, h := range slices.Concat(c.Set, c.Add) {
		out = append(out, h.Name)
	}
	return out
}

func totalWeight(targets []desired.Backend) uint64 {
	var sum uint64
	for _, t := range targets {
		sum += uint64(t.Weight)
	}
	return sum
}

// retryConditions are those that need no further setting
// (https://www.envoyproxy.io/docs/envoy/v1.40.0/configuration/http/http_filters/router_filter#x-envoy-retry-on).
func retryConditions() []string {
	return []string{
		"5xx", "gateway-error", "reset", "reset-before-request", "connect-failure", "envoy-ratelimited", "retriable-4xx",
		"refused-stream", "http3-post-connect-failure",
		"cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable",
	}
}

// binding is a port that a listener opens.
type binding struct {
	name    string
	address string
	port    uint32
	route   *desired.Route
}

// checkBound refuses two listeners on one address: the kernel would share connections between them.
func (b *builder) checkBound() {
	seen := map[netip.AddrPort]binding{}
	for _, l := range b.bound {
		ip, err := netip.ParseAddr(l.address)
		if err != nil || l.port > math.MaxUint16 {
			b.problems = append(b.problems, listenerProblem(l, fmt.Sprintf("%s port %d is no IP address and port", l.address, l.port)))
			continue
		}
		at := netip.AddrPortFrom(ip, uint16(l.port))
		if holder, held := b.heldBy(l, at); held {
			b.problems = append(b.problems, listenerProblem(l, fmt.Sprintf("takes %s from listener %s, which moves in the same commit: "+
				"a proxy that has both refuses that; move %s in one commit, and %s in the next", at, holder, holder, l.name)))
		}
		if other, taken := seen[at]; taken && l.port != 0 {
			b.problems = append(b.problems, listenerProblem(l, fmt.Sprintf("%s is taken by listener %s of %s (%s)",
				at, other.name, other.route.Source, other.route.Origin)))
			continue
		}
		seen[at] = l
	}
}

// heldBy returns the live listener that a proxy has on an address when it is told that l moves there: it takes listeners in
// the order of their names, and closes at first only those that are gone.
func (b *builder) heldBy(l binding, at netip.AddrPort) (string, bool) {
	moves := func(o binding) bool { return o.name > l.name && b.live[o.name] == at }
	if i := slices.IndexFunc(b.bound, moves); i >= 0 && b.live[l.name] != at {
		return b.bound[i].name, true
	}
	return "", false
}

// addresses returns where the listeners of routes are, by name.
func addresses(routes []desired.Route) map[string]netip.AddrPort {
	out := map[string]netip.AddrPort{}
	for i := range routes {
		l := routes[i].Listener
		if _, known := out[l.Name]; known || l.Name == "" {
			continue
		}
		if ip, err := netip.ParseAddr(l.Address); err == nil && l.Port <= math.MaxUint16 {
			out[l.Name] = netip.AddrPortFrom(ip, uint16(l.Port))
		}
	}
	return out
}

func listenerProblem(l binding, text string) desired.Problem {
	return desired.Problem{
		Origin: l.route.Origin, Object: l.route.Source.String(), Field: "spec.listener", Text: "listener " + l.name + ": " + text,
	}
}
