package xds

import (
	"github.com/tidelock/tidelock/internal/desired"
)

// World is what Build needs to know of the cluster: the endpoints of Services and the certificates of listeners.
// It is a snapshot and must not be changed.
type World struct {
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

// EndpointSet is the ready endpoints of one port of a Service, sorted.
type EndpointSet struct {
	Ready []Endpoint
}

// Endpoint is one address that answers.
type Endpoint struct {
	Address string // an IP address
	Port    uint32
}

// Secret is the content of a kubernetes.io/tls Secret, or of one with a ca.crt. It never leaves the xDS stream.
type Secret struct {
	Certificate []byte // PEM, tls.crt
	Key         []byte // PEM, tls.key
	CA          []byte // PEM, ca.crt
}
