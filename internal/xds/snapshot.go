// Package xds turns routes into what Envoy understands and serves it: Build makes a Snapshot from routes and the view of
// endpoints, the Server publishes it in phases and keeps the book of who acknowledged what.
package xds

import (
	"github.com/tidelock/tidelock/internal/desired"
)

// The types that are served, in the order in which Envoy wants them.
const (
	TypeCluster  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	TypeEndpoint = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	TypeSecret   = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	TypeListener = "type.googleapis.com/envoy.config.listener.v3.Listener"
	TypeRoute    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	TypeRuntime  = "type.googleapis.com/envoy.service.runtime.v3.Runtime"
)

// Resource is one marshalled message, ready to be sent; it is shared and must not be changed.
type Resource struct {
	Name string
	// Value is the message, marshalled deterministically.
	Value []byte
	// Hash of Value.
	Hash string
}

// Snapshot is what one group of proxies is to hold.
type Snapshot struct {
	// Group is the node.cluster of the proxies that it is for.
	Group string
	// Commit that the desired routes come from; it is told to proxies, and is no part of any version.
	Commit string
	// Resources by type URL, each list sorted by name.
	Resources map[string][]Resource
	// Refs names, for each RouteConfiguration by name, the clusters that its routes name.
	Refs map[string][]string
	// InForce are the routes that Resources stand for: the desired ones, and for each that is held back the live one.
	InForce []desired.Route
	// Held are the switches that wait for a backend.
	Held []desired.Wait
	// Notes say what is pending or odd about single resources of ours; they stop nothing.
	Notes []Note
}

// Note is a remark on one resource of ours, for its status.
type Note struct {
	Source desired.Source
	Text   string
}
