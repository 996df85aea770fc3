package diff

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/desired"
)

// moves is how requests of one commit go other ways than those of another.
type moves struct {
	base, head   hosts
	states       [2]desired.State
	all          []move
	shadows      []move
	raw          []move
	hostsChanged map[entry]bool
}

// move is one change at one host.
type move struct {
	entry
	before, after *desired.Route // nil where there is none
	text          string
	split         string // the split whose weights change, where that is all
	moved         float64
}

// route is the one that is told with its place.
func (m move) route() *desired.Route {
	if m.after != nil {
		return m.after
	}
	return m.before
}

// traffic compares the routes of two states.
func traffic(base, head desired.State) moves {
	t := moves{
		base: hostsOf(base.Routes), head: hostsOf(head.Routes), states: [2]desired.State{base, head}, hostsChanged: map[entry]bool{},
	}
	entries := map[entry]bool{}
	for e := range t.base {
		entries[e] = true
	}
	for e := range t.head {
		entries[e] = true
	}
	for e := range entries {
		t.host(e)
	}
	for e := range t.hostsChanged {
		t.shadow(e)
	}
	t.resources()
	return t
}

// host compares the routes of one host.
func (t *moves) host(e entry) {
	was, is := t.base[e], t.head[e]
	if slices.EqualFunc(was, is, sameRoute) {
		return
	}
	old := map[string][]*desired.Route{}
	for _, r := range was {
		k := r.Match.String()
		old[k] = append(old[k], r)
	}
	for _, r := range is {
		k := r.Match.String()
		before := take(old, k, r)
		if before != nil && sameRoute(before, r) {
			continue
		}
		t.add(e, before, r)
	}
	for _, left := range old {
		for _, r := range left {
			t.add(e, r, nil)
		}
	}
}

// take removes the route of the match that is for the same proxies, else any, and returns it.
func take(old map[string][]*desired.Route, key string, r *desired.Route) *desired.Route {
	list := old[key]
	if len(list) == 0 {
		return nil
	}
	i := max(0, slices.IndexFunc(list, func(o *desired.Route) bool { return slices.Equal(o.Proxies, r.Proxies) }))
	found := list[i]
	old[key] = slices.Delete(slices.Clone(list), i, i+1)
	return found
}

func (t *moves) add(e entry, before, after *desired.Route) {
	t.hostsChanged[e] = true
	t.all = append(t.all, t.words(move{entry: e, before: before, after: after})...)
}

// sameRoute reports whether both do the same, wherever they are declared.
func sameRoute(a, b *desired.Route) bool {
	if a == b {
		return true
	}
	x, y := *a, *b
	for _, r := range []*desired.Route{&x, &y} {
		r.Source, r.Rule, r.Origin, r.Force, r.Hosts = desired.Source{}, 0, desired.Origin{}, false, nil
	}
	return reflect.DeepEqual(x, y)
}

// shadow finds routes that are there and get no request any more, at a host whose routes changed.
func (t *moves) shadow(e entry) {
	routes := t.head.sorted(e)
	for i, r := range routes {
		for _, first := range routes[:i] {
			if first.Match.PathType == desired.PathRegex && covers(first.Match, r.Match) && !t.shadowed(e, first, r) {
				t.all = slices.DeleteFunc(t.all, func(m move) bool { return m.entry == e && m.after == r })
				t.shadows = append(t.shadows, move{
					entry: e, after: r, text: "is shadowed: " + words(first.Match) + " takes all of its requests",
				})
				break
			}
		}
	}
	if len(t.base[e]) == 0 && len(routes) > 0 {
		t.cutOff(e, routes)
	}
}

// shadowed reports whether it was so before.
func (t *moves) shadowed(e entry, first, second *desired.Route) bool {
	var seen int
	for _, r := range t.base[e] {
		if r.Match.String() == first.Match.String() || r.Match.String() == second.Match.String() {
			seen++
		}
	}
	return seen > 1
}

// cutOff tells of routes of a wildcard that do not apply any more to a host that got routes of its own.
func (t *moves) cutOff(e entry, own []*desired.Route) {
	wild, ok := t.base.at(e)
	if !ok {
		return
	}
	for _, r := range t.base.sorted(wild) {
		if slices.ContainsFunc(own, func(o *desired.Route) bool { return covers(o.Match, r.Match) }) {
			continue
		}
		t.shadows = append(t.shadows, move{
			entry: e, before: r, moved: whole,
			text: "no longer " + goes(r) + ": " + wild.host + " does not apply to a host with routes of its own; what they leave " +
				"gets 404",
		})
	}
}

// resources compares the raw messages of EnvoyConfigs.
func (t *moves) resources() {
	type key struct{ kind, name string }
	index := func(s desired.State) map[key]*desired.Route {
		out := map[key]*desired.Route{}
		for i := range s.Routes {
			for _, res := range s.Routes[i].Resources {
				kind := res.TypeURL[strings.LastIndexAny(res.TypeURL, "./")+1:]
				out[key{kind: kind, name: res.Name}] = &s.Routes[i]
			}
		}
		return out
	}
	find := func(r *desired.Route, k key) string {
		for _, res := range r.Resources {
			if res.Name == k.name && strings.HasSuffix(res.TypeURL, k.kind) {
				return string(res.JSON)
			}
		}
		return ""
	}
	was, is := index(t.states[0]), index(t.states[1])
	for k, r := range is {
		before, ok := was[k]
		switch {
		case !ok:
			t.raw = append(t.raw, move{after: r, text: "raw " + k.kind + " " + k.name + " is new"})
		case find(before, k) != find(r, k):
			t.raw = append(t.raw, move{before: before, after: r, text: "raw " + k.kind + " " + k.name + " changed"})
		}
	}
	for k, r := range was {
		if _, ok := is[k]; !ok {
			t.raw = append(t.raw, move{before: r, text: "raw " + k.kind + " " + k.name + " is gone"})
		}
	}
}

// entries groups moves that read the same, and sorts them.
func (t *moves) entries() []Traffic {
	groups := map[string]*Traffic{}
	for _, m := range t.every() {
		r := m.route()
		where, subject := "", m.split
		if m.host != "" {
			where = strings.TrimSpace(m.host + " " + words(r.Match))
		} else {
			subject = r.Source.String()
		}
		key := strings.Join([]string{m.split, r.Listener.Name, m.text, strings.Join(r.Proxies, " ")}, "\x00")
		if m.split == "" {
			key += "\x00" + r.Source.String() + "\x00" + r.Match.String()
		}
		g := groups[key]
		if g == nil {
			g = &Traffic{
				Subject: subject, Listener: r.Listener.Name, Proxies: r.Proxies, Text: m.text, Moved: m.moved,
				Source: r.Source.String(), File: r.Origin.Path, Line: r.Origin.Line,
			}
			groups[key] = g
		}
		if where != "" {
			g.Where = append(g.Where, where)
		}
	}
	out := make([]Traffic, 0, len(groups))
	for _, g := range groups {
		slices.Sort(g.Where)
		g.Where = slices.Compact(g.Where)
		if g.Subject == "" && len(g.Where) > 0 {
			g.Subject = g.Where[0]
		}
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b Traffic) int {
		return cmp.Or(strings.Compare(a.Subject, b.Subject), strings.Compare(a.Text, b.Text), strings.Compare(a.Source, b.Source))
	})
	return out
}
