package env

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take; it is long, since many tests share two cores. No test measures time by it.
const patience = 90 * time.Second

// Process is a program that a test runs. The zero value never ran.
type Process struct {
	// Log is what it has printed so far, on both outputs.
	Log *Log

	cmd  *exec.Cmd
	done chan struct{}
	// killed and stopped say how the test itself ended it.
	killed, stopped bool
}

// StartProcess runs a program, with more in its environment than the test has. It is killed when the test ends, and where
// that has failed, the end of the log is shown, unless the test itself killed it.
func StartProcess(tb testing.TB, environ []string, program string, args ...string) *Process {
	tb.Helper()
	p := &Process{Log: &Log{}, done: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(tb.Context()), program, args...)
	p.cmd.Env = append(os.Environ(), environ...)
	p.cmd.Stdout, p.cmd.Stderr = p.Log, p.Log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		tb.Fatalf("start %s: %v", program, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if tb.Failed() && !p.killed {
			tb.Logf("the end of the log of %s:\n%s", program, p.Log.tail())
		}
		if strings.Contains(p.Log.String(), "DATA RACE") {
			tb.Errorf("%s has a data race:\n%s", program, p.Log)
		}
	})
	return p
}

// Kill ends the process as SIGKILL does and returns when it has gone.
func (p *Process) Kill(tb testing.TB) {
	tb.Helper()
	p.killed = true
	p.signal(tb, syscall.SIGKILL)
	p.Wait()
}

// Stop ends the process in order; it must exit without an error.
func (p *Process) Stop(tb testing.TB) {
	tb.Helper()
	p.stopped = true
	p.signal(tb, syscall.SIGTERM)
	if code := p.Wait(); code != 0 {
		tb.Fatalf("%s exited with %d when it was asked to stop", p.cmd.Path, code)
	}
}

// Wait waits for the end of the process and returns its exit code.
func (p *Process) Wait() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

// Pause holds the process: its connections stay open, and nothing answers until Resume.
func (p *Process) Pause(tb testing.TB) {
	tb.Helper()
	p.signal(tb, syscall.SIGSTOP)
}

// Resume ends a Pause.
func (p *Process) Resume(tb testing.TB) {
	tb.Helper()
	p.signal(tb, syscall.SIGCONT)
}

func (p *Process) signal(tb testing.TB, s os.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		tb.Fatalf("send %s to %s: %v", s, p.cmd.Path, err)
	}
}

// Eventually asks until ask is content; it gives up where the process ends, if it ever ran and the test did not end it.
func (p *Process) Eventually(tb testing.TB, what string, ask func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithCancelCause(tb.Context())
	defer cancel(nil)
	if p.done != nil && !p.killed && !p.stopped {
		watched := make(chan struct{})
		defer close(watched)
		go func() {
			select {
			case <-p.done:
				cancel(errors.New("the process has ended"))
			case <-watched:
			}
		}()
	}
	if err := poll(ctx, patience, ask); err != nil {
		tb.Fatalf("gave up waiting for %s: %v", what, errors.Join(context.Cause(ctx), err))
	}
}

// Log collects what a process prints, while others read it.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write takes what was printed.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is all that was printed.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *Log) tail() string {
	const most = 16 << 10
	text := l.String()
	return text[max(0, len(text)-most):]
}
