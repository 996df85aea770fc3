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
}

// reporter writes an event; a reader that has gone away is no reason to stop.
type reporter func(event)

// up runs a control plane until ctx is done, or standard input ends where --lifeline is set.
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
	if opts.processes {
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
	fs.BoolVar(&o.lifeline, "lifeline", false, "stop when standard input ends; with --processes also obey its lines:\n"+
		"stop|kill|start COMPONENT")
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
