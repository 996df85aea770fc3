package env

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// Main builds tidelock with more flags of go build, says where it is, and runs the tests of a package; it returns the code
// to exit with.
func Main(m *testing.M, binary *string, flags ...string) int {
	code, err := buildAndRun(m, binary, flags)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests of the binary:", err)
		return 1
	}
	return code
}

func buildAndRun(m *testing.M, binary *string, flags []string) (int, error) {
	dir, err := os.MkdirTemp("", "tidelock-test-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	*binary = filepath.Join(dir, "tidelock")
	args := append(append([]string{"build", "-o", *binary}, flags...), "github.com/tidelock/tidelock/cmd/tidelock")
	build := exec.Command("go", args...) //nolint:noctx // no test has begun
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("build tidelock: %w", err)
	}
	return m.Run(), nil
}

// Client returns a client with all rights that knows our kinds.
func (c *ControlPlane) Client(tb testing.TB) client.Client {
	tb.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		tb.Fatal(err)
	}
	out, err := client.New(c.Config(), client.Options{Scheme: s})
	if err != nil {
		tb.Fatalf("make a client: %v", err)
	}
	return out
}

// StartEdge starts an Envoy that the tidelock on a port of this machine serves, and returns when it is live.
func StartEdge(tb testing.TB, binary string, xdsPort int) *Envoy {
	tb.Helper()
	bootstrap, err := exec.CommandContext(tb.Context(), binary, "xds", "bootstrap", "--node", "edge-1", "--group", "edge",
		"--xds-address", fmt.Sprintf("127.0.0.1:%d", xdsPort), "--admin-port", fmt.Sprint(FreePort(tb))).Output()
	if err != nil {
		tb.Fatalf("make Envoy's bootstrap: %v", err)
	}
	e := StartEnvoy(tb, bootstrap)
	e.WaitReady(tb)
	return e
}

// Sync returns the status of the instance that has the name of its namespace, or another.
func Sync(ctx context.Context, c client.Client, namespace, name string) (v1alpha1.SyncStatus, error) {
	var s v1alpha1.Sync
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)
	return s.Status, err
}

// Show is a status as a failing test tells it.
func Show(s v1alpha1.SyncStatus) string {
	b, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
