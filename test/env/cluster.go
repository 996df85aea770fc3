package env

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// ControlPlane is a running Kubernetes API server with its controllers. It has no nodes, so no Pod of it runs.
type ControlPlane struct {
	// Kubeconfig is the path of a kubeconfig with all rights.
	Kubeconfig string

	config *rest.Config
	// daemon is kept here because its standard input is the lifeline: collected as garbage, it would close.
	// It is nil where the cluster is not ours.
	daemon *daemon
}

// shared starts the control plane that all tests of this process share, when the first one asks.
//
//nolint:gochecknoglobals // one control plane a process is the point; it costs 3 s and 350 MB
var shared = sync.OnceValues(startShared)

// Cluster returns the control plane that all tests of this process share. It stops when the process ends.
// Tests keep apart by Namespace.
func Cluster(tb testing.TB) *ControlPlane {
	tb.Helper()
	plane, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	return plane
}

// Config returns a client configuration with all rights and without a rate limit. It is the caller's to change.
func (c *ControlPlane) Config() *rest.Config {
	return rest.CopyConfig(c.config)
}

func startShared() (*ControlPlane, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	if kubeconfig := named(root); kubeconfig != "" {
		return connect(kubeconfig)
	}
	d, err := startLogged(root, "localcluster", "--no-fsync")
	if err != nil {
		return nil, err
	}
	return d.plane, nil
}

// named returns the path of the kubeconfig in CLUSTER, or nothing.
func named(root string) string {
	kubeconfig := os.Getenv("CLUSTER")
	if kubeconfig == "" || filepath.IsAbs(kubeconfig) {
		return kubeconfig
	}
	return filepath.Join(root, kubeconfig)
}

// startLogged starts a cluster whose log outlives the process; the next one of the same package overwrites it.
func startLogged(root, name string, flags ...string) (*daemon, error) {
	logs := filepath.Join(root, ".cache", "log")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, fmt.Errorf("make a folder for logs: %w", err)
	}
	return startDaemon(filepath.Join(logs, filepath.Base(os.Args[0])+"."+name+".log"), flags...)
}

func connect(kubeconfig string) (*ControlPlane, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	ctrllog.SetLogger(logr.Discard()) // else clients ask for one after half a minute, on the standard error of the process
	return &ControlPlane{Kubeconfig: kubeconfig, config: config}, nil
}
