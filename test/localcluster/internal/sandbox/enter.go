package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	goOn = "go on\n"
	// readyFD is the pipe on which the host says that the network is there.
	readyFD = 3
)

// Enter is the life of a sandbox's first process: it waits for the host, makes the place fit for a node, runs our own
// binary with the given arguments, and returns its exit code. Every process that loses its parent becomes its child, and
// when it ends, the kernel ends them all.
func Enter(n Network, args ...string) (int, error) {
	// Before anything else: a signal that the first process does not catch is lost.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if err := waitForHost(); err != nil {
		return 1, err
	}
	if err := errors.Join(furnishMounts(), n.configure(), forward()); err != nil {
		return 1, err
	}
	child, err := startChild(args)
	if err != nil {
		return 1, err
	}
	go func() {
		for s := range signals {
			_ = child.Signal(s) // one that has ended needs none
		}
	}()
	return reap(child.Pid)
}

func waitForHost() error {
	ready := os.NewFile(readyFD, "ready")
	defer ready.Close()
	word, err := io.ReadAll(ready)
	if err != nil {
		return fmt.Errorf("wait for the host: %w", err)
	}
	if string(word) != goOn {
		return errors.New("the host gave up")
	}
	return nil
}

// forward lets packets pass between the link and the pods.
func forward() error {
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600); err != nil {
		return fmt.Errorf("let packets pass: %w", err)
	}
	return nil
}

func startChild(args []string) (*os.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own binary: %w", err)
	}
	cmd := exec.Command(self, args...) //nolint:noctx // it lives as long as we do
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", self, err)
	}
	return cmd.Process, nil
}

// reap buries every child until the given one has ended, and returns its exit code.
func reap(child int) (int, error) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 1, fmt.Errorf("wait for a child: %w", err)
		case pid == child && status.Signaled():
			return 1, fmt.Errorf("the supervisor of the node was ended by %s", status.Signal())
		case pid == child:
			return status.ExitStatus(), nil
		}
	}
}
