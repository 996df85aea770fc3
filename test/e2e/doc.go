// Package e2e tests the real binary against a real API server, a real Envoy and real git repositories: what a user pushes
// goes in, what the cluster holds and what HTTP clients are answered comes out. Its tests carry the build tag e2e.
package e2e
