package env

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// NodeCluster is a cluster with a node: its pods run, and this machine reaches them at their addresses. Their images are
// those that the node has, Tidelock's own and busybox among them; there is no registry, and no cluster DNS.
type NodeCluster struct {
	*ControlPlane

	// Host is the address at which pods reach servers of this machine that listen on all of its addresses.
	Host string
}

// sharedNode starts the cluster that all tests of this process which need pods share, when the first one asks.
//
//nolint:gochecknoglobals // one a process is the point; it costs 8 s and 1 GB
var sharedNode = sync.OnceValues(startNode)

// Node returns the cluster with a node that all tests of this process share. It stops when the process ends. It needs
// Linux and root, and fails the test where it cannot be had; with CLUSTER it is that cluster, which must have the images.
func Node(tb testing.TB) *NodeCluster {
	tb.Helper()
	n, err := sharedNode()
	if err != nil {
		tb.Fatalf("%v\nThis test needs a cluster whose pods run. Run it as root on Linux, after make cluster node, or name one:"+
			" CLUSTER=<kubeconfig>, where this machine reaches pods at their addresses.", err)
	}
	return n
}

// Image makes an image of a program of this machine, which is its entrypoint, with the libraries that it needs, and gives it to
// the node. A cluster of CLUSTER must have it already.
func (n *NodeCluster) Image(tb testing.TB, name, binary string) {
	tb.Helper()
	if n.daemon == nil {
		return
	}
	if err := n.daemon.tell("image "+name+"="+binary, "imported"); err != nil {
		tb.Fatal(err)
	}
}

func startNode() (*NodeCluster, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	if kubeconfig := named(root); kubeconfig != "" {
		return connectNode(kubeconfig)
	}
	tidelock, err := buildTidelock(root)
	if err != nil {
		return nil, err
	}
	d, err := startLogged(root, "node", "--no-fsync", "--node", "--image", "tidelock="+tidelock)
	if err != nil {
		return nil, err
	}
	return &NodeCluster{ControlPlane: d.plane, Host: d.host}, nil
}

// buildTidelock builds the static binary that is in the image; it takes no time where nothing has changed.
func buildTidelock(root string) (string, error) {
	path := filepath.Join(root, ".cache", "image", "tidelock")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "./cmd/tidelock") //nolint:noctx // all tests share it
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tidelock of the image: %w\n%s", err, out)
	}
	return path, nil
}

// connectNode takes the address from which this machine talks to the API server for the one at which its pods reach us.
func connectNode(kubeconfig string) (*NodeCluster, error) {
	plane, err := connect(kubeconfig)
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(plane.config.Host)
	if err != nil {
		return nil, fmt.Errorf("read the server's address in %s: %w", kubeconfig, err)
	}
	port := server.Port()
	if port == "" {
		port = "443"
	}
	// Nothing is sent: connecting a UDP socket only looks the route up.
	conn, err := net.Dial("udp", net.JoinHostPort(server.Hostname(), port)) //nolint:noctx // it does not wait for anybody
	if err != nil {
		return nil, fmt.Errorf("find our address as the cluster of %s sees it: %w", kubeconfig, err)
	}
	defer conn.Close()
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	return &NodeCluster{ControlPlane: plane, Host: host}, err
}
