package xds

import (
	"bytes"
	"slices"

	"github.com/tidelock/tidelock/internal/desired"
)

// Cache keeps what the last Build of each group marshalled, so that the next one marshals only what changed. It never
// changes what Build returns. The zero value is ready; it is for one goroutine.
type Cache struct {
	groups map[string]*memo
}

// memo is what one Build marshalled. Each Build fills a new one from the last, so that nothing outlives its use.
type memo struct {
	hosts     map[hostKey]hostMemo
	tables    map[string]tableMemo
	clusters  map[string]Resource
	endpoints map[string]endpointMemo
	listeners map[desired.Listener]Resource
	secrets   map[string]secretMemo
	raw       map[string]rawMemo
}

type hostKey struct{ listener, host string }

type endpointMemo struct {
	ready    []Endpoint
	resource Resource
}

type secretMemo struct {
	content  Secret
	present  bool
	resource Resource
	missing  string
}

// newMemo returns an empty memo that has room for as much as old holds.
func newMemo(old *memo) *memo {
	if old == nil {
		old = &memo{}
	}
	return &memo{
		hosts:     make(map[hostKey]hostMemo, len(old.hosts)),
		tables:    make(map[string]tableMemo, len(old.tables)),
		clusters:  make(map[string]Resource, len(old.clusters)),
		endpoints: make(map[string]endpointMemo, len(old.endpoints)),
		listeners: make(map[desired.Listener]Resource, len(old.listeners)),
		secrets:   make(map[string]secretMemo, len(old.secrets)),
		raw:       make(map[string]rawMemo, len(old.raw)),
	}
}

// last returns what was kept of a group.
func (c *Cache) last(group string) *memo {
	if c == nil || c.groups[group] == nil {
		return newMemo(nil)
	}
	return c.groups[group]
}

// keep replaces what is kept of a group.
func (c *Cache) keep(group string, m *memo) {
	if c == nil {
		return
	}
	if c.groups == nil {
		c.groups = map[string]*memo{}
	}
	c.groups[group] = m
}

func sameSecret(a, b Secret) bool {
	return bytes.Equal(a.Certificate, b.Certificate) && bytes.Equal(a.Key, b.Key) && bytes.Equal(a.CA, b.CA)
}

// sameRoute reports whether a and b are built alike: everything but where they stand in the repository.
func sameRoute(a, b *desired.Route) bool {
	return a == b ||
		a.Source == b.Source && a.Split == b.Split && a.Force == b.Force && a.Listener == b.Listener &&
			slices.Equal(a.Proxies, b.Proxies) && slices.Equal(a.Hosts, b.Hosts) &&
			sameMatch(a.Match, b.Match) &&
			slices.EqualFunc(a.Backends, b.Backends, sameBackend) &&
			samePointer(a.Sticky, b.Sticky, equal) && samePointer(a.Mirror, b.Mirror, sameMirror) &&
			samePointer(a.Direct, b.Direct, equal) &&
			samePointer(a.Redirect, b.Redirect, sameRedirect) &&
			a.Rewrite.Host == b.Rewrite.Host && a.Rewrite.Path == b.Rewrite.Path &&
			samePointer(a.Rewrite.Prefix, b.Rewrite.Prefix, equal) &&
			samePointer(a.Timeout, b.Timeout, equal) &&
			samePointer(a.Retries, b.Retries, sameRetries) &&
			sameHeaders(a.Headers.Request, b.Headers.Request) && sameHeaders(a.Headers.Response, b.Headers.Response) &&
			slices.EqualFunc(a.Resources, b.Resources, sameRaw)
}

func equal[T comparable](a, b T) bool { return a == b }

func samePointer[T any](a, b *T, same func(a, b T) bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a == b || same(*a, *b)
}

func sameMatch(a, b desired.Match) bool {
	return a.PathType == b.PathType && a.Path == b.Path && a.Method == b.Method &&
		slices.Equal(a.Headers, b.Headers) && slices.Equal(a.Query, b.Query)
}

func sameBackend(a, b desired.Backend) bool {
	return a.Name == b.Name && a.Weight == b.Weight && sameUpstream(a.Upstream, b.Upstream)
}

func sameMirror(a, b desired.Mirror) bool {
	return a.Percent == b.Percent && sameUpstream(a.Upstream, b.Upstream)
}

func sameUpstream(a, b desired.Upstream) bool {
	tls := samePointer(a.TLS, b.TLS, equal)
	a.TLS, b.TLS = nil, nil
	return tls && a == b
}

func sameRedirect(a, b desired.Redirect) bool {
	prefix := samePointer(a.Prefix, b.Prefix, equal)
	a.Prefix, b.Prefix = nil, nil
	return prefix && a == b
}

func sameRetries(a, b desired.Retries) bool {
	return a.Attempts == b.Attempts && a.PerTryTimeout == b.PerTryTimeout && slices.Equal(a.On, b.On)
}

func sameHeaders(a, b desired.HeaderChange) bool {
	return slices.Equal(a.Set, b.Set) && slices.Equal(a.Add, b.Add) && slices.Equal(a.Remove, b.Remove)
}

func sameRaw(a, b desired.Resource) bool {
	return a.TypeURL == b.TypeURL && a.Name == b.Name && bytes.Equal(a.JSON, b.JSON)
}

// names returns the keys of m, sorted.
func names[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
