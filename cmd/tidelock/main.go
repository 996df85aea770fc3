// Command tidelock keeps a Kubernetes cluster and a fleet of Envoy proxies at one git commit.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones of schedules must not depend on the machine

	"github.com/tidelock/tidelock/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		if !errors.Is(err, cli.ErrNo) {
			fmt.Fprintln(os.Stderr, "tidelock:", err)
		}
		os.Exit(cli.ExitCode(err))
	}
}
