package diff

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

const whole = 100 // percent

// words says a match as people write it: "/catalog", "= /exact", "~ /regex", with method, headers and query where set.
func words(m desired.Match) string {
	var parts []string
	if m.Method != "" {
		parts = append(parts, m.Method)
	}
	switch m.PathType {
	case desired.PathExact:
		parts = append(parts, "= "+m.Path)
	case desired.PathRegex:
		parts = append(parts, "~ "+m.Path)
	case desired.PathPrefix:
		parts = append(parts, m.Path)
	}
	for _, h := range m.Headers {
		parts = append(parts, "with header "+h.String())
	}
	for _, q := range m.Query {
		parts = append(parts, "with ?"+q.String())
	}
	return strings.Join(parts, " ")
}

// words returns the moves that lead from one route to the other, each with what it says. Weights are told apart from
// settings, so that a split that several routes lead to is told once.
func (t *moves) words(m move) []move {
	switch {
	case m.before == nil:
		was := t.base.answering(m.entry, m.after.Match)
		m.moved = distance(was, m.after)
		m.text = "now " + goes(m.after) + " (before: " + by(was, m.entry) + ")"
		return []move{m}
	case m.after == nil:
		is := t.head.answering(m.entry, m.before.Match)
		m.moved = distance(m.before, is)
		m.text = "no longer " + goes(m.before) + " (now: " + by(is, m.entry) + ")"
		return []move{m}
	}
	var out []move
	if m.split, m.text = t.targets(m.before, m.after); m.text != "" {
		m.moved = distance(m.before, m.after)
		out = append(out, m)
	}
	if m.text = strings.Join(settings(m.before, m.after), ", "); m.text != "" {
		m.split, m.moved = "", 0
		out = append(out, m)
	}
	return out
}

// by says which route answers instead.
func by(r *desired.Route, e entry) string {
	if r == nil {
		return "404"
	}
	if slices.Contains(r.Hosts, e.host) {
		return target(r) + ", by " + words(r.Match)
	}
	return target(r) + ", by " + strings.Join(r.Hosts, ", ") + " " + words(r.Match)
}

// targets says how the targets of a route differ that is there on both sides; split names the one whose weights do.
func (t *moves) targets(a, b *desired.Route) (split, text string) {
	was, is := splitOf(t.states[0], a), splitOf(t.states[1], b)
	if was != "" && was == is {
		return is, strings.Join(weights(a, b), ", ")
	}
	if target(a) != target(b) || distance(a, b) > 0 {
		return "", "now " + goes(b) + " (before: " + target(a) + ")"
	}
	return "", ""
}

// splitOf names the TrafficSplit that a route leads to: "split catalog", or "split shop/catalog" from another namespace.
func splitOf(s desired.State, r *desired.Route) string {
	if len(r.Backends) == 0 {
		return ""
	}
	if r.Source.Kind == v1alpha1.KindTrafficSplit {
		return "split " + r.Source.Name
	}
	id := desired.ID{Group: v1alpha1.Group, Kind: r.Source.Kind, Namespace: r.Source.Namespace, Name: r.Source.Name}
	i, ok := slices.BinarySearchFunc(s.Objects, id, func(o desired.Object, id desired.ID) int { return o.Compare(id) })
	if !ok {
		return ""
	}
	rules, _, _ := unstructured.NestedSlice(s.Objects[i].Content.Object, "spec", "rules")
	if r.Rule >= len(rules) {
		return ""
	}
	rule, _ := rules[r.Rule].(map[string]any)
	backend, _ := rule["backend"].(map[string]any)
	name, _ := backend["split"].(string)
	switch space, _ := backend["namespace"].(string); {
	case name == "":
		return ""
	case space != "" && space != r.Source.Namespace:
		return "split " + space + "/" + name
	}
	return "split " + name
}

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

// place says where a backend is: "mock petstore", "service cart:8080", "api.example.com:443".
func place(b *desired.Backend, r *desired.Route) string {
	u := b.Upstream
	if u.Address != "" {
		return fmt.Sprintf("%s:%d", u.Address, u.Port)
	}
	name := u.Service.Name
	if u.Service.Namespace != r.Source.Namespace {
		name = u.Service.String()
	}
	if u.Mock {
		return "mock " + name
	}
	return fmt.Sprintf("service %s:%d", name, u.Port)
}

// target says what answers a route, in a few words.
func target(r *desired.Route) string {
	switch {
	case r == nil:
		return "404"
	case r.Redirect != nil:
		return "a redirect to " + redirectTo(r.Redirect)
	case r.Direct != nil:
		return fmt.Sprintf("%d by the proxy", r.Direct.Status)
	case len(r.Backends) == 1:
		return place(&r.Backends[0], r)
	}
	was := shares(r, targetName)
	var parts []string
	for _, name := range unionOf(r, r) {
		parts = append(parts, name+" "+percent(was[name]))
	}
	return strings.Join(parts, ", ")
}

// goes says it as a sentence's verb.
func goes(r *desired.Route) string {
	switch {
	case r.Redirect != nil:
		return "redirects to " + redirectTo(r.Redirect)
	case r.Direct != nil:
		return fmt.Sprintf("answers %d by the proxy", r.Direct.Status)
	}
	return "goes to " + target(r)
}

func redirectTo(d *desired.Redirect) string {
	var b strings.Builder
	if d.Scheme != "" {
		b.WriteString(d.Scheme + "://")
	}
	b.WriteString(d.Host)
	if d.Port != 0 {
		fmt.Fprintf(&b, ":%d", d.Port)
	}
	b.WriteString(d.Path)
	if d.Prefix != nil {
		b.WriteString(*d.Prefix + "…")
	}
	if b.Len() == 0 {
		b.WriteString("itself")
	}
	if d.Code != 0 {
		fmt.Fprintf(&b, " (%d)", d.Code)
	}
	return b.String()
}

// settings says what else of a route differs. A field that it does not know by name is told by its name alone.
func settings(a, b *desired.Route) []string {
	known := map[string]bool{ // told elsewhere, or no matter of traffic
		"Source": true, "Rule": true, "Origin": true, "Force": true, "Hosts": true, "Match": true, "Resources": true,
		"Redirect": true, "Direct": true, "Backends": true,
	}
	var out []string
	if target(a) == target(b) && !reflect.DeepEqual(a.Direct, b.Direct) {
		out = append(out, "another body")
	}
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		name := x.Type().Field(i).Name
		if known[name] || reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			continue
		}
		switch name {
		case "Timeout":
			out = append(out, "timeout "+duration(a)+" -> "+duration(b))
		case "Retries":
			out = append(out, "retries "+retries(a)+" -> "+retries(b))
		case "Proxies":
			out = append(out, "proxies "+list(a.Proxies)+" -> "+list(b.Proxies))
		default:
			out = append(out, strings.ToLower(name[:1])+name[1:]+" changed")
		}
	}
	return append(out, connections(a, b)...)
}

func duration(r *desired.Route) string {
	switch {
	case r.Timeout == nil:
		return "15s (default)"
	case *r.Timeout == 0:
		return "none"
	}
	return r.Timeout.String()
}

func retries(r *desired.Route) string {
	if r.Retries == nil {
		return "0"
	}
	return strconv.FormatUint(uint64(r.Retries.Attempts), 10)
}

func list(names []string) string {
	if len(names) == 0 {
		return "all"
	}
	return strings.Join(names, ",")
}

// connections says of which upstreams that both have the connection is made in another way.
func connections(a, b *desired.Route) []string {
	was := map[string]desired.Upstream{}
	for i := range a.Backends {
		was[place(&a.Backends[i], a)] = a.Backends[i].Upstream
	}
	changed := map[string]bool{}
	for i := range b.Backends {
		name := place(&b.Backends[i], b)
		x, ok := was[name]
		y := b.Backends[i].Upstream
		if !ok {
			continue
		}
		xv, yv := reflect.ValueOf(x), reflect.ValueOf(y)
		for f := range xv.NumField() {
			field := xv.Type().Field(f).Name
			if field != "Pending" && field != "Idle" && !reflect.DeepEqual(xv.Field(f).Interface(), yv.Field(f).Interface()) {
				changed[name+": "+lower(field)+" changed"] = true
			}
		}
		if x.Idle != y.Idle {
			changed[name+map[bool]string{true: " has no pods by intent (replicas 0)", false: " has pods again"}[y.Idle]] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// lower writes a Go name as a field: ConnectTimeout as connectTimeout, TLS as tls.
func lower(name string) string {
	if strings.ToUpper(name) == name {
		return strings.ToLower(name)
	}
	return string(unicode.ToLower(rune(name[0]))) + name[1:]
}
