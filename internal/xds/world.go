package xds

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidelock/tidelock/internal/desired"
)

// World is what Build needs to know of the cluster: the endpoints of Services and the certificates of listeners.
// It is a snapshot and must not be changed.
type World struct {
	// Generation differs between Worlds of one Watcher that differ.
	Generation uint64
	// Synced is set once everything that was asked for has been looked at. Until then an absent Service or Secret may exist.
	Synced bool
	// Services by namespace, name and port; a Service that does not exist is absent.
	Services map[ServicePort]EndpointSet
	// Secrets by namespace and name; a Secret that does not exist is absent.
	Secrets map[desired.Key]Secret
}

// ServicePort is one port of a Service.
type ServicePort struct {
	desired.Key
	Port uint32
}

// String returns "namespace/name/port", which is also the name of the Service's cluster.
func (p ServicePort) String() string {
	return p.Key.String() + "/" + strconv.FormatUint(uint64(p.Port), 10)
}

// EndpointSet is the endpoints of one port of a Service, sorted.
type EndpointSet struct {
	Ready []Endpoint
	// Leaving are those that are told to end and still serve.
	Leaving []Endpoint
}

// answering returns who gets requests: while none is ready those that still serve, as kube-proxy does.
func (s EndpointSet) answering() []Endpoint {
	if len(s.Ready) == 0 {
		return s.Leaving
	}
	return s.Ready
}

// Endpoint is one address that answers.
type Endpoint struct {
	Address string // an IP address
	Port    uint32
}

func (e Endpoint) compare(o Endpoint) int {
	return cmp.Or(strings.Compare(e.Address, o.Address), cmp.Compare(e.Port, o.Port))
}

// Secret is the content of a kubernetes.io/tls Secret, or of one with a ca.crt. It never leaves the xDS stream.
type Secret struct {
	Certificate []byte // PEM, tls.crt
	Key         []byte // PEM, tls.key
	CA          []byte // PEM, ca.crt
}

// With returns a World in which the given endpoints answer for their Services, whether these exist or not.
func (w World) With(local map[ServicePort][]Endpoint) World {
	if len(local) == 0 {
		return w
	}
	services := make(map[ServicePort]EndpointSet, len(w.Services)+len(local))
	maps.Copy(services, w.Services)
	for p, ready := range local {
		services[p] = EndpointSet{Ready: slices.SortedFunc(slices.Values(ready), Endpoint.compare)}
	}
	w.Services = services
	return w
}
