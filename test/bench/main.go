// Command bench measures the line beside its peers: the same objects, the same API server, one run on one machine. It prints
// one table; the ratios in it hold elsewhere, the absolute figures do not.
//
// It is started by "make bench", which builds what it needs. Every request of every side passes one counting proxy, so that
// the columns of requests are counted and not estimated.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// options say how much is measured.
type options struct {
	root string
	many int
	few  int
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "checkout of Tidelock, with its programs built")
	flag.IntVar(&o.many, "many", 10_000, "objects of the large repository")
	flag.IntVar(&o.few, "few", 1_000, "objects of the small repository, which the peers apply too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.root, err = filepath.Abs(o.root); err != nil {
		return fmt.Errorf("find the checkout: %w", err)
	}
	dir, err := os.MkdirTemp("", "tidelock-bench-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	plane, err := startPlane(ctx, o.root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.stop()) }()
	gate, err := openGate(plane.config, dir)
	if err != nil {
		return err
	}
	defer gate.close()

	b := &bench{options: o, dir: dir, plane: plane, gate: gate, out: os.Stdout}
	for _, measure := range []func(context.Context) error{b.full, b.large, b.routes, b.review} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return b.print()
}
