// Program localcluster is a Kubernetes control plane for tests and demos: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and kubectl in one binary. There are no nodes: Pods stay pending.
//
//	localcluster up [--dir DIR] [--port PORT] [--no-fsync] [--processes] [--lifeline]
//	localcluster kubectl ARGS...
//	localcluster etcd|kube-apiserver|kube-controller-manager|kube-scheduler ARGS...
//
// Up prints one JSON event a line on standard output. The first is "ready" and names the kubeconfig.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

var errUsage = errors.New("usage: localcluster up|kubectl|etcd|kube-apiserver|kube-controller-manager|kube-scheduler")

func main() {
	code, err := run(os.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "localcluster:", err)
	}
	os.Exit(code)
}

// run dispatches on the first argument and returns the exit code. The components read os.Args themselves, so
// their own name is moved to the front of it.
func run(args []string) (int, error) {
	if len(args) < 2 {
		return 2, errUsage
	}
	os.Args = args[1:]
	switch args[1] {
	case "up":
		if err := runUp(args[2:]); err != nil {
			return 1, err
		}
		return 0, nil
	case etcdName:
		etcdmain.Main(os.Args)
		return 0, nil
	case apiServerName:
		return cli.Run(apiserver.NewAPIServerCommand()), nil
	case controllerManagerName:
		return cli.Run(controllermanager.NewControllerManagerCommand()), nil
	case schedulerName:
		return cli.Run(scheduler.NewSchedulerCommand()), nil
	case "kubectl":
		return runKubectl(), nil
	default:
		return 2, fmt.Errorf("%w, not %q", errUsage, args[1])
	}
}

func runUp(args []string) error {
	// Whoever started us may be gone when we report to it: that must not keep us from an orderly stop.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return up(ctx, args, os.Stdin, os.Stdout)
}
