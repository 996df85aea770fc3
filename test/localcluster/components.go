package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	cliflag "k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the metrics that the components register upstream
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	controllermanageroptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// The functions below run a component inside this process until ctx is done. They take the place of the
// components' own commands, each of which installs a signal handler and panics at the second.

// startEtcd returns when etcd serves, on a port that the kernel chose.
func startEtcd(ctx context.Context, c controlPlane) (*embed.Etcd, error) {
	anyPort := url.URL{Scheme: "http", Host: net.JoinHostPort(loopback, "0")}
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(c.dir, etcdName)
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{anyPort}, []url.URL{anyPort}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{anyPort}, []url.URL{anyPort}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = c.noFsync
	cfg.LogLevel = "error"
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err = <-etcd.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	etcd.Close()
	return nil, fmt.Errorf("start etcd: %w", err)
}

// runAPIServer serves on listener, which it closes.
func runAPIServer(ctx context.Context, args []string, listener net.Listener) error {
	opts := apiserveroptions.NewServerRunOptions()
	opts.SecureServing.Listener = listener
	if err := parseArgs(opts.Flags(), args); err != nil {
		return err
	}
	if err := opts.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	completed, err := opts.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return utilerrors.NewAggregate(errs)
	}
	return apiserver.Run(ctx, completed)
}

func runControllerManager(ctx context.Context, args []string) error {
	opts, err := controllermanageroptions.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	all, disabled := controllermanager.KnownControllers(), controllermanager.ControllersDisabledByDefault()
	aliases := controllermanager.ControllerAliases()
	flags := opts.Flags(all, disabled, aliases)
	opts.ParsedFlags = &flags
	if err := parseArgs(flags, args); err != nil {
		return err
	}
	config, err := opts.Config(ctx, all, disabled, aliases)
	if err != nil {
		return err
	}
	return controllermanager.Run(ctx, config.Complete())
}

func runScheduler(ctx context.Context, args []string) error {
	opts := scheduleroptions.NewOptions()
	if err := parseArgs(*opts.Flags, args); err != nil {
		return err
	}
	config, sched, err := scheduler.Setup(ctx, opts)
	if err != nil {
		return err
	}
	return scheduler.Run(ctx, config, sched)
}

func parseArgs(named cliflag.NamedFlagSets, args []string) error {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, fs := range named.FlagSets {
		all.AddFlagSet(fs)
	}
	return all.Parse(args)
}
