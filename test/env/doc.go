// Package env gives tests the real things: a Kubernetes control plane, a cluster with a node, namespaces in them, an Envoy.
// What goes in is a test; what comes out runs until that test, or the test process, has ended, however it ends.
//
// The binaries come from `make cluster node envoy`. With CLUSTER=<kubeconfig> in the environment that
// cluster is used and none is started. What is missing fails a test, it never skips it.
package env
