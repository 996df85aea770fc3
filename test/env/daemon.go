package env

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	stopTimeout = 20 * time.Second
	logTail     = 4 << 10
)

// daemon is a running `localcluster up`.
type daemon struct {
	plane *ControlPlane
	// host is the address at which pods reach servers of this machine; empty where there is no node.
	host string

	cmd *exec.Cmd
	// stdin carries commands and is the lifeline: the daemon stops when it closes, which the kernel sees to
	// when this process dies.
	stdin  io.WriteCloser
	events *json.Decoder
	log    string
	// telling is held from a command to the event that confirms it.
	telling sync.Mutex
}

// event is a line that localcluster prints.
type event struct {
	Event      string `json:"event"`
	Component  string `json:"component"`
	Error      string `json:"error"`
	Kubeconfig string `json:"kubeconfig"`
	Host       string `json:"host"`
}

// startDaemon returns when the API server is ready.
func startDaemon(logPath string, flags ...string) (*daemon, error) {
	binary, err := tool("localcluster", "cluster")
	if err != nil {
		return nil, err
	}
	log, err := os.Create(logPath)
	if err != nil {
		return nil, fmt.Errorf("make a log: %w", err)
	}
	defer log.Close() // the child has its own copy
	//nolint:noctx // it outlives the test that starts it and ends with its standard input
	cmd := exec.Command(binary, append([]string{"up", "--lifeline"}, flags...)...)
	cmd.Stderr = log
	d := &daemon{cmd: cmd, log: logPath}
	if d.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("connect to localcluster: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to localcluster: %w", err)
	}
	d.events = json.NewDecoder(stdout)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start localcluster: %w", err)
	}
	ready, err := d.next("ready")
	if err != nil {
		return nil, errors.Join(err, d.stop())
	}
	if d.plane, err = connect(ready.Kubeconfig); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	d.plane.daemon, d.host = d, ready.Host
	return d, nil
}

// next reads the next event, which must be the wanted one.
func (d *daemon) next(wanted string) (event, error) {
	var e event
	if err := d.events.Decode(&e); err != nil {
		return event{}, fmt.Errorf("localcluster gave up: %w; the end of %s:\n%s", err, d.log, tail(d.log))
	}
	if e.Event != wanted {
		return event{}, fmt.Errorf("localcluster: %s %s: %s", e.Event, e.Component, e.Error)
	}
	return e, nil
}

// tell sends a command and waits for the event that confirms it.
func (d *daemon) tell(command, wanted string) error {
	d.telling.Lock()
	defer d.telling.Unlock()
	if _, err := fmt.Fprintln(d.stdin, command); err != nil {
		return fmt.Errorf("tell localcluster to %s: %w", command, err)
	}
	_, err := d.next(wanted)
	return err
}

// stop ends the daemon and returns when it has gone.
func (d *daemon) stop() error {
	if err := d.stdin.Close(); err != nil {
		return fmt.Errorf("stop localcluster: %w", err)
	}
	kill := time.AfterFunc(stopTimeout, func() { _ = d.cmd.Process.Kill() })
	defer kill.Stop()
	if err := d.cmd.Wait(); err != nil {
		return fmt.Errorf("stop localcluster: %w", err)
	}
	return nil
}

// tail returns the end of a log.
func tail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-logTail):])
}
