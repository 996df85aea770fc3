package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// process is a program that runs beside the demonstration; its output goes to a file.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error
}

// start runs a program that ends with the demonstration, whatever way that ends.
func (d *demo) start(name, program string, args ...string) error {
	p := &process{name: name, log: filepath.Join(d.dir, name+".log"), done: make(chan struct{})}
	f, err := os.Create(p.log)
	if err != nil {
		return fmt.Errorf("make the log of %s: %w", name, err)
	}
	p.cmd = exec.Command(program, args...) //nolint:noctx // stopped in order by cleanUp
	p.cmd.Stdout, p.cmd.Stderr = f, f
	// Its own process group: Ctrl-C reaches us alone, and we stop the rest in order. Pdeathsig: kill -9 of us ends it too.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", name, err), f.Close())
	}
	d.procs = append(d.procs, p)
	go func() {
		p.err = errors.Join(p.cmd.Wait(), f.Close())
		close(p.done)
	}()
	return nil
}

// died returns a channel that gets the name of the first process that ends by itself.
func (d *demo) died() <-chan error {
	c := make(chan error, len(d.procs))
	for _, p := range d.procs {
		go func() {
			<-p.done
			c <- fmt.Errorf("%s ended: %w", p.name, p.err)
		}()
	}
	return c
}

// cleanUp stops the processes, the last one first. The logs stay in the ignored folder until the next start.
func (d *demo) cleanUp() {
	for _, p := range slices.Backward(d.procs) {
		p.stop()
	}
}

// stop asks the process to end, and kills it where it does not.
func (p *process) stop() {
	const patience = 10 * time.Second
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
	}
}

// tails are the last lines of each log, for the message of a failure.
func (d *demo) tails() string {
	const lines = 8
	var b strings.Builder
	for _, p := range d.procs {
		text, err := os.ReadFile(p.log)
		if err != nil || len(text) == 0 {
			continue
		}
		all := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(&b, "\n--- %s (%s)\n%s", p.name, p.log, strings.Join(all[max(0, len(all)-lines):], "\n"))
	}
	return b.String()
}

// until asks again and again until ask is content, ctx ends, a process dies or a minute is over; the error then is
// ask's last one.
func (d *demo) until(ctx context.Context, every time.Duration, ask func(context.Context) error) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up after %s: %w", patience, err)
		case <-tick.C:
		}
		for _, p := range d.procs {
			select {
			case <-p.done:
				return fmt.Errorf("%s ended: %w", p.name, p.err)
			default:
			}
		}
	}
}

// preferPort returns port where it is free on all addresses, else a free one.
func preferPort(ctx context.Context, port int) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", fmt.Sprintf("0.0.0.0:%d", port))
	if err != nil && port != 0 {
		return preferPort(ctx, 0)
	}
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("find a free port: no TCP address")
	}
	return addr.Port, l.Close()
}

// tool is a program that the Makefile names in the environment, or where it puts it.
func tool(env, path string) string {
	if v := os.Getenv(env); v != "" {
		return v
	}
	return path
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != ""
}

// browser gives up soon: everything that is asked runs on this machine.
func browser() *http.Client {
	const timeout = 3 * time.Second
	return &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}
