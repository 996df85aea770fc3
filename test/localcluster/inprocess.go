package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sync/errgroup"
)

// errReturned is the error of a component that ends by itself and gives no reason.
var errReturned = errors.New("it returned")

// runInProcess runs all components in this process until ctx is done. The API server outlives its controllers
// and etcd outlives both, so that the stop is quick and quiet.
func runInProcess(ctx context.Context, c controlPlane, commands <-chan command, report reporter) error {
	etcd, err := startEtcd(ctx, c)
	if err != nil {
		return err
	}
	defer etcd.Close()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(c.apiPort)))
	if err != nil {
		return fmt.Errorf("listen for the API server: %w", err)
	}
	c.etcdURL = "http://" + etcd.Clients[0].Addr().String()
	c.apiPort = listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // a "tcp" listener has no other
	if err := c.writeKubeconfigs(); err != nil {
		return errors.Join(err, listener.Close())
	}

	apiCtx, stopAPIServer := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAPIServer()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return ended(apiCtx, apiServerName, runAPIServer(apiCtx, c.apiServerArgs(), listener))
	})
	g.Go(func() error {
		defer stopAPIServer()
		if err := waitReady(ctx, c); err != nil {
			return err
		}
		report(c.ready())
		return runControllers(ctx, c)
	})
	g.Go(func() error {
		refuseCommands(ctx, commands, report)
		return nil
	})
	return g.Wait()
}

func runControllers(ctx context.Context, c controlPlane) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return ended(ctx, controllerManagerName, runControllerManager(ctx, c.controllerManagerArgs()))
	})
	g.Go(func() error {
		return ended(ctx, schedulerName, runScheduler(ctx, c.schedulerArgs()))
	})
	return g.Wait()
}

// ended is the error of a component that has returned: none where it was asked to.
func ended(ctx context.Context, name string, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return fmt.Errorf("%s ended: %w", name, cmp.Or(err, errReturned))
	}
}

// refuseCommands answers commands: a component of this process cannot be stopped and started again.
func refuseCommands(ctx context.Context, commands <-chan command, report reporter) {
	for {
		select {
		case <-ctx.Done():
			return
		case cmd := <-commands:
			report(event{Event: "error", Component: cmd.component, Error: cmd.verb + " needs --processes"})
		}
	}
}
