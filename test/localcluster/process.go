package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	stopTimeout = 5 * time.Second
	logTail     = 2 << 10
)

// process is a component that runs as a child of ours.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	// cuts is how many components had been taken away when it started.
	cuts int
	// done is closed when the child has exited; err is set before.
	done chan struct{}
	err  error
}

// startProcess runs a component by its command line, with its log in dir.
func startProcess(dir, name string, argv []string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer log.Close() // the child has its own copy
	//nolint:noctx // it is stopped in order, not killed with a context
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// Its own process group, so that Ctrl-C reaches only us and the order of the stop is ours.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop asks the process to end, and kills it where it does not.
func (p *process) stop() error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
		return p.kill()
	}
}

func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

func (p *process) signal(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to %s: %w", sig, p.name, err)
	}
	return nil
}

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// context returns a child of ctx that is done when the process has exited.
func (p *process) context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// failure says how an exited process ended, with the end of its log, because the folder may be gone next.
func (p *process) failure() error {
	tail, err := os.ReadFile(p.log)
	if err != nil {
		tail = []byte(err.Error())
	}
	if len(tail) > logTail {
		tail = tail[len(tail)-logTail:]
	}
	why := cmp.Or(p.err, errReturned)
	return fmt.Errorf("%s ended: %w; the end of its log:\n%s", p.name, why, bytes.TrimSpace(tail))
}
