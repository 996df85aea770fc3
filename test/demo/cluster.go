package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// startCluster starts a local cluster, with a node where this machine allows it, or takes the one that CLUSTER names.
func (d *demo) startCluster(ctx context.Context) error {
	if c := os.Getenv("CLUSTER"); c != "" {
		d.kubeconfig, d.noNode = c, "the cluster of CLUSTER may not have Tidelock's image"
		return d.connect(ctx)
	}
	binary, err := filepath.Abs(tool("TIDELOCK_BIN", "bin/tidelock"))
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	failed := d.upCluster(ctx, "--node", "--image", "tidelock="+binary)
	if failed == nil || ctx.Err() != nil {
		return failed
	}
	d.noNode = d.giveUpCluster()
	return d.upCluster(ctx)
}

// upCluster returns when the cluster is ready for what it is to run.
func (d *demo) upCluster(ctx context.Context, flags ...string) error {
	dir := filepath.Join(d.dir, "cluster")
	d.kubeconfig = filepath.Join(dir, "kubeconfig")
	args := append([]string{"up", "--dir", dir, "--no-fsync"}, flags...)
	if err := d.start("cluster", tool("LOCALCLUSTER_BIN", ".cache/bin/localcluster"), args...); err != nil {
		return err
	}
	log := d.procs[len(d.procs)-1].log
	err := d.until(ctx, 50*time.Millisecond, func(context.Context) error {
		said, err := os.ReadFile(log)
		if err == nil && !bytes.Contains(said, []byte(`"event":"ready"`)) {
			err = errors.New("it is not ready")
		}
		return err
	})
	if err != nil {
		return err
	}
	return d.connect(ctx)
}

// giveUpCluster stops the cluster that has just been started, and returns the last that it said.
func (d *demo) giveUpCluster() string {
	last := len(d.procs) - 1
	p := d.procs[last]
	d.procs = slices.Delete(d.procs, last, last+1)
	p.stop()
	said, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "localcluster: ")
}

// whereMocksRun says it, and why not in pods.
func (d *demo) whereMocksRun() string {
	if d.noNode == "" {
		return "mocks run in pods of a real node"
	}
	return "mocks are answered by the daemon, not by pods, and no At is shown: " + d.noNode
}
