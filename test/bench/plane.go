package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// plane is a control plane of the run's own.
type plane struct {
	cmd        *exec.Cmd
	stdin      io.Closer
	kubeconfig string
	config     *rest.Config
	// admin talks to it past the counting proxy.
	admin client.WithWatch
}

func startPlane(ctx context.Context, root string) (*plane, error) {
	//nolint:gosec // the program that make cluster built
	cmd := exec.CommandContext(ctx, filepath.Join(root, ".cache", "bin", "localcluster"), "up", "--lifeline", "--no-fsync")
	p := &plane{cmd: cmd}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to localcluster: %w", err)
	}
	p.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to localcluster: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start localcluster: %w: run make cluster", err)
	}
	var ready struct{ Kubeconfig, Error string }
	if err := json.NewDecoder(stdout).Decode(&ready); err != nil || ready.Error != "" {
		return nil, fmt.Errorf("localcluster gave up: %s %w", ready.Error, err)
	}
	p.kubeconfig = ready.Kubeconfig
	if p.config, err = clientcmd.BuildConfigFromFlags("", p.kubeconfig); err != nil {
		return nil, fmt.Errorf("read its kubeconfig: %w", err)
	}
	p.config.QPS = -1
	if p.admin, err = client.NewWithWatch(p.config, client.Options{Scheme: scheme()}); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return p, nil
}

func (p *plane) stop() error {
	if err := p.stdin.Close(); err != nil {
		return fmt.Errorf("stop localcluster: %w", err)
	}
	if err := p.cmd.Wait(); err != nil && p.cmd.ProcessState.ExitCode() > 0 {
		return fmt.Errorf("stop localcluster: %w", err)
	}
	return nil
}

// memory returns the resident set of a process, in bytes.
func memory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory of the daemon: %w", err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, fmt.Errorf("read the memory of the daemon: %w", err)
	}
	return resident * int64(os.Getpagesize()), nil
}
