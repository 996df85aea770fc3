package diff

import (
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/desired"
)

// covers reports whether every request that b matches is matched by a too. It may say no where it is yes: of two different
// regular expressions it knows only those that end in ".*".
func covers(a, b desired.Match) bool {
	if a.Method != "" && a.Method != b.Method {
		return false
	}
	within := func(some, all []desired.ValueMatch) bool {
		return !slices.ContainsFunc(some, func(v desired.ValueMatch) bool { return !slices.Contains(all, v) })
	}
	return coversPath(a, b) && within(a.Headers, b.Headers) && within(a.Query, b.Query)
}

func coversPath(a, b desired.Match) bool {
	switch a.PathType {
	case desired.PathExact:
		return b.PathType == desired.PathExact && a.Path == b.Path
	case desired.PathPrefix:
		prefix := strings.TrimSuffix(a.Path, "/")
		path := b.Path
		if b.PathType == desired.PathRegex {
			path = literal(b.Path)
		}
		rest, ok := strings.CutPrefix(path, prefix)
		return ok && (prefix == "" || strings.HasPrefix(rest, "/") || rest == "" && b.PathType != desired.PathRegex)
	case desired.PathRegex:
		if b.PathType == desired.PathRegex && a.Path == b.Path {
			return true
		}
		prefix, all := strings.CutSuffix(a.Path, ".*")
		return all && prefix == literal(prefix) && strings.HasPrefix(b.Path, prefix) &&
			(b.PathType != desired.PathRegex || strings.HasPrefix(literal(b.Path), prefix))
	}
	return false
}

// literal is the beginning of a regular expression that stands for itself.
func literal(regex string) string {
	i := strings.IndexAny(regex, `\.+*?()|[]{}^$`)
	if i < 0 {
		return regex
	}
	if i > 0 && strings.ContainsRune("*?{", rune(regex[i])) {
		i-- // what is before is repeated
	}
	return regex[:i]
}

// entry is where requests come in: one host of one listener. A request is looked up under the most specific host alone.
type entry struct {
	listener string
	host     string
}

// hosts are the routes of a state by entry, in the order in which they win.
type hosts map[entry][]*desired.Route

func hostsOf(routes []desired.Route) hosts {
	out := make(hosts, len(routes))
	for i := range routes {
		r := &routes[i]
		for _, h := range r.Hosts {
			e := entry{listener: r.Listener.Name, host: h}
			out[e] = append(out[e], r)
		}
	}
	return out
}

// sorted returns the routes of an entry by precedence.
func (h hosts) sorted(e entry) []*desired.Route {
	return slices.SortedStableFunc(slices.Values(h[e]), func(a, b *desired.Route) int { return a.Match.Compare(b.Match) })
}

// at returns the entry that answers for a host: its own, else the longest wildcard that fits.
func (h hosts) at(e entry) (entry, bool) {
	if len(h[e]) > 0 {
		return e, true
	}
	for name := e.host; name != desired.AnyHost && name != ""; {
		_, rest, ok := strings.Cut(strings.TrimPrefix(name, "*."), ".")
		if !ok {
			break
		}
		name = rest
		if wild := (entry{listener: e.listener, host: "*." + rest}); len(h[wild]) > 0 {
			return wild, true
		}
	}
	wild := entry{listener: e.listener, host: desired.AnyHost}
	return wild, len(h[wild]) > 0
}

// answering returns the route that answers what m matches on a host, if one answers all of it.
func (h hosts) answering(e entry, m desired.Match) *desired.Route {
	at, ok := h.at(e)
	if !ok {
		return nil
	}
	for _, r := range h.sorted(at) {
		if covers(r.Match, m) {
			return r
		}
	}
	return nil
}
