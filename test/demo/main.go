// Command demo runs Tidelock's main job from nothing: a cluster, a git repository made from examples/repo, the
// daemon and Envoy; then it pushes a commit and shows what changed in the cluster and in the traffic, and how fast; and
// where there is a node, an At that fires.
//
// It is started by "make demo", which builds what it needs and names the programs in the environment: TIDELOCK_BIN, ENVOY_BIN,
// LOCALCLUSTER_BIN; or CLUSTER, the kubeconfig of a cluster to use instead. With ONCE=1, or where standard output is no
// terminal, it ends by itself; else it stays up until Ctrl-C.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	// Children end with the thread that started them (Pdeathsig): keep that thread for as long as the program lives.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run is the whole demonstration; it returns when everything that it started has ended.
func run(ctx context.Context, out *os.File) error {
	d, err := newDemo(ctx, out)
	if err != nil {
		return err
	}
	defer d.cleanUp()

	steps := []struct {
		title string
		do    func(context.Context) error
	}{
		{"cluster", d.startCluster},
		{"git repository from examples/repo", d.makeRepository},
		{"tidelock run", d.startDaemon},
		{"Envoy", d.startEnvoy},
		{"first answers through Envoy", d.firstAnswers},
	}
	for _, s := range steps {
		if err := d.step(ctx, s.title, s.do); err != nil {
			return err
		}
	}
	d.printf("   %s\n", d.whereMocksRun())
	for _, show := range []func(context.Context) error{d.showPush, d.showAt} {
		if err := show(ctx); err != nil {
			return err
		}
	}
	return d.stay(ctx)
}
