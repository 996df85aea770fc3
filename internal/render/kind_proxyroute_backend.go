package render

import (
	"cmp"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// backend resolves the backend of the rule: one upstream, or the targets of a split.
func (rl ruler) backend(b v1alpha1.Backend) []desired.Backend {
	at := rl.at.child("backend")
	key := desired.Key{
		Namespace: cmp.Or(b.Namespace, rl.Namespace),
		Name:      cmp.Or(b.Service, b.Mock, b.Split),
	}
	named := 0
	for _, name := range []string{b.Service, b.Mock, b.Split, b.Address} {
		if name != "" {
			named++
		}
	}
	if named != 1 {
		rl.wrong(at, "set one of service, mock, split and address")
		return nil
	}
	var backends []desired.Backend
	switch {
	case b.Split != "":
		backends = rl.split(at, b, key)
	case b.Address != "":
		backends = rl.address(at, b)
	default:
		name := "service"
		if b.Mock != "" {
			name = "mock"
		}
		up, ok := rl.upstream(rl.place, backendRef{
			Key: key, mock: b.Mock != "", port: b.Port, name: at.child(name), portField: at.child("port"),
		})
		if ok {
			backends = []desired.Backend{{Weight: 1, Upstream: up}}
		}
	}
	for i := range backends {
		rl.connection(at, b, &backends[i].Upstream)
	}
	return backends
}

// split returns the targets of a TrafficSplit.
func (rl ruler) split(at fieldPath, b v1alpha1.Backend, key desired.Key) []desired.Backend {
	if b.Port != 0 {
		rl.wrong(at.child("port"), "the targets of a split have ports of their own")
	}
	if _, declared, _ := find[v1alpha1.TrafficSplitSpec](rl.commit, v1alpha1.KindTrafficSplit, key); !declared {
		rl.wrong(at.child("split"), "no TrafficSplit %s in the repository%s", key,
			rl.didYouMeanOur(v1alpha1.KindTrafficSplit, key))
		return nil
	}
	s, ok := rl.splits[key]
	if !ok {
		return nil // refused: that is reported where it stands
	}
	if !s.writes(v1alpha1.OutputEnvoy) {
		rl.wrong(at.child("split"), "TrafficSplit %s (%s) is not written for Envoy: add Envoy to its outputs", key, s.origin)
		return nil
	}
	return s.backends()
}

// divide gives a route to a split what else that split says. What is copied is spoken to as the targets are.
func (rl ruler) divide(route *desired.Route) {
	b := rl.rule.Backend
	s, ok := rl.splits[desired.Key{Namespace: cmp.Or(b.Namespace, rl.Namespace), Name: b.Split}]
	if b.Split == "" || !ok {
		return
	}
	s.divide(route)
	if route.Mirror != nil {
		rl.connection(rl.at.child("backend"), *b, &route.Mirror.Upstream)
	}
}

// address returns a host outside Kubernetes.
func (rl ruler) address(at fieldPath, b v1alpha1.Backend) []desired.Backend {
	host, port, wrong := hostPort(b.Address)
	if wrong != "" {
		rl.wrong(at.child("address"), "%s", wrong)
		return nil
	}
	if b.Port != 0 {
		rl.wrong(at.child("port"), "the port stands in the address")
	}
	if b.Namespace != "" {
		rl.wrong(at.child("namespace"), "an address has no namespace")
	}
	return []desired.Backend{{Weight: 1, Upstream: desired.Upstream{Address: host, Port: port}}}
}

// connection sets how an upstream is spoken to.
func (rl ruler) connection(at fieldPath, b v1alpha1.Backend, up *desired.Upstream) {
	up.Protocol = desired.Protocol(cmp.Or(b.Protocol, v1alpha1.HTTP1))
	if d := rl.timeout(at.child("connectTimeout"), b.ConnectTimeout, time.Millisecond); d != nil {
		up.ConnectTimeout = *d
	}
	if b.TLS != nil {
		up.TLS = rl.upstreamTLS(at.child("tls"), *b.TLS, *up)
	}
	if b.DNS == nil {
		return
	}
	if up.Address == "" || isIP(up.Address) {
		rl.wrong(at.child("dns"), "goes with the name of a host only: there is no name to resolve")
	}
	up.DNS = desired.DNS{Logical: b.DNS.Type == v1alpha1.DNSLogical, Family: b.DNS.Family}
	if b.DNS.Family == v1alpha1.DNSAuto {
		up.DNS.Family = ""
	}
}

func (rl ruler) upstreamTLS(at fieldPath, t v1alpha1.BackendTLS, up desired.Upstream) *desired.TLS {
	out := &desired.TLS{SNI: t.SNI}
	switch {
	case t.SNI != "" && !isHostName(t.SNI):
		rl.wrong(at.child("sni"), "want a host name in lower case")
	case t.SNI == "" && up.Address != "" && !isIP(up.Address):
		out.SNI = up.Address
	case t.SNI == "":
		rl.wrong(at.child("sni"), "is required here: there is no host name that the certificate could be checked against")
	}
	if t.CASecretName != "" {
		out.CASecret = desired.Key{Namespace: rl.Namespace, Name: t.CASecretName}
	}
	return out
}
