package xds

import (
	"slices"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/tidelock/tidelock/internal/desired"
)

// listener adds the listener of t and its certificate.
func (b *builder) listener(t *table) {
	l := t.listener
	at := binding{name: l.Name, address: l.Address, port: l.Port, route: t.first()}
	resource, found := b.old.listeners[l]
	if !found {
		message, err := buildListener(l)
		if err == nil {
			resource, err = newResource(l.Name, message)
		}
		if err != nil {
			b.problems = append(b.problems, listenerProblem(at, err.Error()))
			return
		}
	}
	b.next.listeners[l] = resource
	b.add(TypeListener, resource)
	b.bound = append(b.bound, at)
	if l.TLSSecret != (desired.Key{}) {
		b.secret(l.TLSSecret.String(), l.TLSSecret, buildCertificate, t.routes)
	}
}

// cluster adds the cluster of u, its endpoints and the roots that it trusts.
func (b *builder) cluster(u namedUpstream) {
	users := func() []*desired.Route { return b.users(u.name) }
	resource, found := b.old.clusters[u.name]
	if !found {
		message, err := buildCluster(u)
		if err == nil {
			resource, err = newResource(u.name, message)
		}
		if err != nil {
			b.fail(err, users()[0], "backend")
			return
		}
	}
	b.next.clusters[u.name] = resource
	b.add(TypeCluster, resource)
	if isService(u.Upstream) {
		b.endpoints(u, users)
	}
	if u.TLS != nil && u.TLS.CASecret != (desired.Key{}) {
		b.secret(caName(u.TLS.CASecret), u.TLS.CASecret, buildCA, users)
	}
}

// endpoints adds the endpoints of a Service that answer; none of one that does not exist.
func (b *builder) endpoints(u namedUpstream, users func() []*desired.Route) {
	ready := b.world.Services[servicePort(u.Upstream)].answering()
	memo, found := b.old.endpoints[u.name]
	if !found || !slices.Equal(memo.ready, ready) {
		ordered := slices.SortedFunc(slices.Values(ready), Endpoint.compare)
		resource, err := newResource(u.name, loadAssignment(u.name, slices.Compact(ordered)))
		if err != nil {
			b.fail(err, users()[0], "backend")
			return
		}
		memo = endpointMemo{ready: ready, resource: resource}
	}
	b.next.endpoints[u.name] = memo
	b.add(TypeEndpoint, memo.resource)
}

// secret adds a Secret once; where there is none to send, what uses it waits and its users are told.
func (b *builder) secret(
	name string, key desired.Key, build func(desired.Key, World) (*tlsv3.Secret, string), users func() []*desired.Route,
) {
	if _, done := b.next.secrets[name]; done {
		b.noteWaiting(name, users())
		return
	}
	content, present := b.world.Secrets[key]
	memo, found := b.old.secrets[name]
	if !found || memo.present != present || !sameSecret(memo.content, content) {
		memo = secretMemo{content: content, present: present}
		message, missing := build(key, b.world)
		memo.missing = missing
		if message != nil {
			resource, err := newResource(name, message)
			if err != nil {
				memo.missing = "waits for Secret " + key.String() + ": it cannot be encoded"
			}
			memo.resource = resource
		}
	}
	b.next.secrets[name] = memo
	if memo.missing == "" {
		b.add(TypeSecret, memo.resource)
		return
	}
	b.noteWaiting(name, users())
}

// noteWaiting tells users what the Secret of a name lacks, if anything.
func (b *builder) noteWaiting(name string, users []*desired.Route) {
	missing := b.next.secrets[name].missing
	if missing == "" {
		return
	}
	for _, r := range users {
		b.notes = append(b.notes, Note{Source: r.Source, Text: missing})
	}
}

// users returns the routes that name a cluster, those in force first. It looks at every route: for what is rare.
func (b *builder) users(cluster string) []*desired.Route {
	var out []*desired.Route
	for _, routes := range [][]desired.Route{b.inForce, b.known} {
		for i := range routes {
			if _, ok := upstreamOf(&routes[i], cluster); ok {
				out = append(out, &routes[i])
			}
		}
	}
	return out
}

// upstreamOf returns what a route sends requests to under the name of a cluster.
func upstreamOf(r *desired.Route, cluster string) (desired.Upstream, bool) {
	for u := range r.Upstreams() {
		if clusterName(*u) == cluster {
			return *u, true
		}
	}
	return desired.Upstream{}, false
}

// routes returns every route of t.
func (t *table) routes() []*desired.Route {
	var out []*desired.Route
	for _, host := range t.names {
		out = append(out, t.hosts[host]...)
	}
	return out
}
