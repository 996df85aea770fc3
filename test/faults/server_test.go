//go:build e2e

package faults

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/tidelock/tidelock/test/env"
)

// The API server is stopped, or killed, in the middle of a mixed commit, and comes back.
func TestAPIServerMayGoInTheMiddleOfACommit(t *testing.T) {
	t.Parallel()
	plane := env.Processes(t)
	x := &trial{daemon: daemonOn(t, plane.ControlPlane, plane.Namespace(t)), fired: map[string]types.UID{}}
	x.proxy = newProxy(t, plane.ControlPlane)
	x.set("--kubeconfig", x.proxy.kubeconfig)
	x.undisturbed(t)
	ns := []int{10, 45}
	if *every {
		ns = []int{5, 15, 25, 35, 45, 55, 65}
	}
	outages := 0
	for k, down := range []func(testing.TB){plane.StopAPIServer, plane.KillAPIServer} {
		for _, n := range ns {
			g := newGate(k > 0)
			x.proxy.arm(writes, n, g.hold)
			outages++
			commit := x.push(t, x.texts(outages))
			if x.settled(t, commit, g.held) {
				t.Fatalf("there is no write %d", n)
			}
			down(t)
			close(g.open)
			x.proxy.disarm()
			plane.StartAPIServer(t)
			x.check(t, (outages-1)%2, commit)
		}
	}
	t.Logf("%d outages, all converged", outages)
}
