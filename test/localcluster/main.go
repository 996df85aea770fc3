// Program localcluster is a Kubernetes cluster for tests and demos, in one binary: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and kubectl, and with --node, as root, also a node on which pods run: kubelet,
// kube-proxy and Debian's containerd. Without it there are no nodes, and pods stay pending.
//
//	localcluster up [--dir DIR] [--port PORT] [--no-fsync] [--processes] [--lifeline] [--node [--image NAME=BINARY]...]
//	localcluster clean
//	localcluster kubectl ARGS...
//	localcluster etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kube-proxy ARGS...
//
// Up prints one JSON event a line on standard output. The first is "ready" and names the kubeconfig. Clean removes what a
// killed node has left; the next one that starts does so, too.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"github.com/tidelock/tidelock/test/localcluster/internal/sandbox"
)

var errUsage = errors.New("usage: localcluster up|clean|kubectl|" +
	"etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kube-proxy")

func main() {
	// A child ends with the thread that started it (Pdeathsig): this one lives as long as we do.
	runtime.LockOSThread()
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
		return exitCode(runUp(args[2:]))
	case "clean":
		return exitCode(runClean())
	case insideName:
		return inside(args[2:])
	case etcdName:
		etcdmain.Main(os.Args)
		return 0, nil
	case apiServerName:
		return cli.Run(apiserver.NewAPIServerCommand()), nil
	case controllerManagerName:
		return cli.Run(controllermanager.NewControllerManagerCommand()), nil
	case schedulerName:
		return cli.Run(scheduler.NewSchedulerCommand()), nil
	case kubeletName:
		return cli.Run(kubelet.NewKubeletCommand(context.Background())), nil
	case proxyName:
		return cli.Run(proxy.NewProxyCommand()), nil
	case "kubectl":
		return runKubectl(), nil
	default:
		return 2, fmt.Errorf("%w, not %q", errUsage, args[1])
	}
}

func exitCode(err error) (int, error) {
	if err != nil {
		return 1, err
	}
	return 0, nil
}

func runClean() error {
	n, err := sandbox.Clean(context.Background())
	fmt.Fprintf(os.Stdout, "cleaned up after %d killed nodes\n", n)
	return err
}

func runUp(args []string) error {
	// Whoever started us may be gone when we report to it: that must not keep us from an orderly stop.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return up(ctx, args, os.Stdin, os.Stdout)
}
