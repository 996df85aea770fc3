package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tidelock/tidelock/test/localcluster/internal/pki"
)

// options are the flags of up.
type options struct {
	dir       string
	port      int
	noFsync   bool
	processes bool
	lifeline  bool
	node      bool
	packages  string
	images    []string
	// inside is set where we are inside a node's sandbox.
	inside string
}

// event is one line of up's standard output.
type event struct {
	// Event is "ready", "stopped", "started" or "error".
	Event      string `json:"event"`
	Component  string `json:"component,omitempty"`
	Error      string `json:"error,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Server     string `json:"server,omitempty"`
	Dir        string `json:"dir,omitempty"`
	// Host is the address at which pods reach servers of the host, and Pods are their own addresses.
	Host string `json:"host,omitempty"`
	Pods string `json:"pods,omitempty"`
}

// reporter writes an event; a reader that has gone away is no reason to stop.
type reporter func(event)

// up runs a cluster until ctx is done, or standard input ends where --lifeline is set.
func up(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	opts, err := parseUp(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	dir, remove, err := folder(opts.dir)
	if err != nil {
		return err
	}
	defer remove()
	if opts.node && opts.inside == "" {
		return upOutside(ctx, args, opts, dir)
	}
	certs, err := pki.Ensure(filepath.Join(dir, "pki"))
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var commands <-chan command
	if opts.lifeline {
		commands = readCommands(ctx, stdin, cancel)
	}
	encoder := json.NewEncoder(stdout)
	report := func(e event) { _ = encoder.Encode(e) }
	plane := controlPlane{dir: dir, certs: certs, noFsync: opts.noFsync, apiPort: opts.port}
	if plane.node, err = newNode(opts, dir); err != nil {
		return err
	}
	if opts.processes || plane.node != nil {
		return runProcesses(ctx, plane, commands, report)
	}
	return runInProcess(ctx, plane, commands, report)
}

func parseUp(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("localcluster up", flag.ContinueOnError)
	fs.StringVar(&o.dir, "dir", "", "folder for data, certificates and kubeconfig, kept at exit; a temporary one by default")
	fs.IntVar(&o.port, "port", 0, "port of the API server on 127.0.0.1; a free one by default")
	fs.BoolVar(&o.noFsync, "no-fsync", false, "etcd does not wait for the disk: faster, and data may be lost in a power cut")
	fs.BoolVar(&o.processes, "processes", false, "run each component as a process of its own")
	fs.BoolVar(&o.lifeline, "lifeline", false, "stop when standard input ends; with --processes or --node also obey its\n"+
		"lines: stop|kill|start COMPONENT, and with --node: image NAME=BINARY")
	fs.BoolVar(&o.node, "node", false, "run a node too, in network and mount namespaces of its own; needs root")
	fs.StringVar(&o.packages, "packages", defaultPackages(), "folder with the unpacked Debian packages of a node")
	fs.Func("image", "NAME=BINARY: a program as an image for the node's pods, beside busybox; may be repeated",
		func(image string) error {
			o.images = append(o.images, image)
			return nil
		})
	fs.StringVar(&o.inside, insideName, "", "set by us, inside the namespaces")
	if err := fs.Parse(args); err != nil {
		return options{}, err
	}
	if fs.NArg() > 0 {
		return options{}, fmt.Errorf("up takes no argument %q", fs.Arg(0))
	}
	return o, nil
}

// folder returns the absolute path of dir, made where it is missing, and what to do with it at exit.
func folder(dir string) (string, func(), error) {
	if dir == "" {
		temp, err := os.MkdirTemp("", "localcluster-")
		if err != nil {
			return "", nil, fmt.Errorf("make a folder for the cluster: %w", err)
		}
		return temp, func() { _ = os.RemoveAll(temp) }, nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", nil, fmt.Errorf("find folder %s: %w", dir, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", nil, fmt.Errorf("make folder %s: %w", abs, err)
	}
	return abs, func() {}, nil
}
