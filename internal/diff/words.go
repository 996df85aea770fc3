package diff

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

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
