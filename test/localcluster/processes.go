package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tidelock/tidelock/test/localcluster/internal/port"
)

// supervisor runs the components as child processes. One goroutine owns it.
type supervisor struct {
	plane   controlPlane
	running map[string]*process
	exits   chan *process
	// cuts counts how often a component was taken away by command; fallen ended because of it and start again with the API
	// server, as a kubelet would start them.
	cuts   int
	fallen []string
}

// runProcesses runs each component as a child of ours and obeys commands until ctx is done.
func runProcesses(ctx context.Context, c controlPlane, commands <-chan command, report reporter) error {
	var ports [3]*port.Reservation
	for i, wanted := range []int{c.apiPort, 0, 0} {
		reserved, err := port.Reserve(wanted)
		if err != nil {
			return err
		}
		// Held until the end, so that a component that starts again finds its port free.
		defer reserved.Close()
		ports[i] = reserved
	}
	c.apiPort = ports[0].Port
	c.etcdURL = fmt.Sprintf("http://%s:%d", loopback, ports[1].Port)
	c.etcdPeer = fmt.Sprintf("http://%s:%d", loopback, ports[2].Port)
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	if c.node != nil {
		if err := c.configureNode(); err != nil {
			return err
		}
	}

	s := &supervisor{plane: c, running: map[string]*process{}, exits: make(chan *process)}
	err := s.run(ctx, commands, report)
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, s.stopAll())
}

func (s *supervisor) run(ctx context.Context, commands <-chan command, report reporter) error {
	for _, name := range s.startOrder() {
		if err := s.start(ctx, name); err != nil {
			return err
		}
	}
	if s.plane.node != nil {
		if err := s.awaitNode(ctx); err != nil {
			return err
		}
	}
	report(s.plane.ready())
	for {
		select {
		case <-ctx.Done():
			return nil
		case p := <-s.exits:
			if s.running[p.name] != p {
				continue
			}
			if !s.fell(p) {
				return p.failure()
			}
			if err := s.lift(ctx); err != nil {
				return err
			}
		case cmd := <-commands:
			report(s.obey(ctx, cmd))
		}
	}
}

func (s *supervisor) startOrder() []string {
	order := []string{etcdName, apiServerName, controllerManagerName, schedulerName}
	if s.plane.node != nil {
		// The runtime reads the images while the API server starts.
		return slices.Concat([]string{runtimeName}, order, []string{kubeletName, proxyName})
	}
	return order
}

func (s *supervisor) obey(ctx context.Context, cmd command) event {
	var (
		done event
		err  error
	)
	switch cmd.verb {
	case "start":
		done, err = event{Event: "started"}, errors.Join(s.start(ctx, cmd.component), s.lift(ctx))
	case "stop":
		done, err = event{Event: "stopped"}, s.stop(cmd.component)
	case "kill":
		done, err = event{Event: "stopped"}, s.kill(cmd.component)
	case "image":
		done, err = event{Event: "imported"}, s.plane.importImage(ctx, cmd.component)
	default:
		err = fmt.Errorf("unknown command %q", cmd.verb)
	}
	if err != nil {
		done = event{Event: "error", Error: err.Error()}
	}
	done.Component = cmd.component
	return done
}

// fell reports whether a component ended because another was taken away, and if so notes that it is to start again: the
// controller manager and the scheduler give up where the API server leaves them in the middle of their start.
func (s *supervisor) fell(p *process) bool {
	isClient := p.name == controllerManagerName || p.name == schedulerName
	if !isClient || p.cuts == s.cuts {
		return false
	}
	delete(s.running, p.name)
	s.fallen = append(s.fallen, p.name)
	return true
}

// lift starts what has fallen, once there is an API server to talk to.
func (s *supervisor) lift(ctx context.Context) error {
	if s.running[apiServerName] == nil || s.running[etcdName] == nil {
		return nil
	}
	fallen := s.fallen
	s.fallen = nil
	for _, name := range fallen {
		if err := s.start(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// start starts a component; the API server is waited for.
func (s *supervisor) start(ctx context.Context, name string) error {
	if s.running[name] != nil {
		return fmt.Errorf("%s is running", name)
	}
	argv, err := s.commandLine(name)
	if err != nil {
		return err
	}
	p, err := startProcess(s.plane.dir, name, argv)
	if err != nil {
		return err
	}
	p.cuts = s.cuts
	s.running[name] = p
	go func() {
		<-p.done
		select {
		case s.exits <- p:
		case <-ctx.Done():
		}
	}()
	if name != apiServerName {
		return nil
	}
	readyCtx, cancel := p.context(ctx)
	defer cancel()
	if err := waitReady(readyCtx, s.plane); err != nil {
		if p.exited() {
			return p.failure()
		}
		return err
	}
	return nil
}

// commandLine is that of a component: of our own binary, but for the container runtime.
func (s *supervisor) commandLine(name string) ([]string, error) {
	if s.plane.node != nil && name == runtimeName {
		return s.plane.runtimeCommandLine(), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own binary: %w", err)
	}
	var args []string
	switch {
	case name == etcdName:
		args = s.plane.etcdArgs()
	case name == apiServerName:
		args = s.plane.apiServerArgs()
	case name == controllerManagerName:
		args = s.plane.controllerManagerArgs()
	case name == schedulerName:
		args = s.plane.schedulerArgs()
	case s.plane.node != nil && name == kubeletName:
		args = s.plane.kubeletArgs()
	case s.plane.node != nil && name == proxyName:
		args = s.plane.proxyArgs()
	default:
		return nil, fmt.Errorf("unknown component %q", name)
	}
	return append([]string{self, name}, args...), nil
}

func (s *supervisor) stop(name string) error {
	p, err := s.take(name)
	if err != nil {
		return err
	}
	return p.stop()
}

func (s *supervisor) kill(name string) error {
	p, err := s.take(name)
	if err != nil {
		return err
	}
	return p.kill()
}

// take removes a component from those running, so that its exit is no surprise.
func (s *supervisor) take(name string) (*process, error) {
	p := s.running[name]
	if p == nil {
		return nil, fmt.Errorf("%s is not running", name)
	}
	delete(s.running, name)
	s.cuts++
	return p, nil
}

// stopAll stops what runs in reverse order: etcd last. The parts of a node are killed: what they leave goes with their
// namespaces, and an API server waits long for a kubelet's open requests.
func (s *supervisor) stopAll() error {
	var errs []error
	for _, name := range slices.Backward(s.startOrder()) {
		switch {
		case s.running[name] == nil:
		case isNodePart(name):
			errs = append(errs, s.kill(name))
		default:
			errs = append(errs, s.stop(name))
		}
	}
	return errors.Join(errs...)
}

func isNodePart(name string) bool {
	return name == runtimeName || name == kubeletName || name == proxyName
}
