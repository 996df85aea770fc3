package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// stopTimeout is how long the command has to end after it was asked to.
const stopTimeout = 20 * time.Second

// A Sandbox is a network and a cgroup that no other has, ready to run one command.
type Sandbox struct {
	// Network is how the host and the command will reach each other.
	Network Network
	// Cgroup is where the command may keep cgroups of its own, in every hierarchy.
	Cgroup string

	registry registry
	file     *os.File // the record, locked while we live
	content  record
}

// Open removes what sandboxes left whose owners were killed, and returns a new one. Where a folder is named, it goes with
// the sandbox.
func Open(ctx context.Context, folder string) (*Sandbox, error) {
	return machine.open(ctx, folder)
}

// Clean removes what sandboxes left whose owners were killed, and returns how many there were.
func Clean(ctx context.Context) (int, error) {
	lock, err := machine.lock()
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	return machine.clean(ctx)
}

func (r registry) open(ctx context.Context, folder string) (_ *Sandbox, err error) {
	if err := permitted(); err != nil {
		return nil, err
	}
	lock, err := r.lock()
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if _, err := r.clean(ctx); err != nil {
		return nil, err
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	// An interface's name has at most 15 characters.
	network, err := freeNetwork("lc-"+id, random[0])
	if err != nil {
		return nil, err
	}
	s := &Sandbox{Network: network, Cgroup: "localcluster-" + id, registry: r}
	s.content = record{PID: os.Getpid(), Network: network, Cgroup: s.Cgroup, Folder: folder}
	s.file, err = r.add(id, s.content)
	return s, err
}

// permitted says early, and in words, what would fail later with an errno.
func permitted() error {
	if os.Geteuid() != 0 {
		return errors.New("only root may make a node: it has a network and mounts of its own")
	}
	const attempt = syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID
	cmd := exec.Command("true") //nolint:noctx // it ends at once
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: attempt}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("this system does not let us make a node, which has a network and mounts of its own: %w", err)
	}
	return nil
}

// clean removes what belongs to records that nobody holds. The caller holds the lock.
func (r registry) clean(ctx context.Context) (int, error) {
	dead, err := r.orphans()
	errs := []error{err}
	for file, content := range dead {
		if err := content.remove(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, os.Remove(file))
	}
	return len(dead), errors.Join(errs...)
}

// remove removes all that a sandbox may have left.
func (c record) remove(ctx context.Context) error {
	if c.Cgroup == "" || c.Network.Link == "" {
		return nil
	}
	errs := []error{removeCgroup(ctx, c.Cgroup), disconnect(c.Network.Link)}
	if c.Folder != "" {
		errs = append(errs, os.RemoveAll(c.Folder))
	}
	return errors.Join(errs...)
}

// Run runs our own binary with these arguments in the sandbox, which it enters by calling Enter, until it ends or ctx is
// done. It uses our standard input, output and error.
func (s *Sandbox) Run(ctx context.Context, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find our own binary: %w", err)
	}
	ready, tell, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{ready}
	// Its own process group, so that Ctrl-C reaches only us and the stop is ours.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL, Setpgid: true,
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	err = cmd.Start()
	err = errors.Join(err, ready.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("start a node's first process: %w", err), tell.Close())
	}
	if err := s.furnish(cmd.Process.Pid, tell); err != nil {
		return errors.Join(err, cmd.Process.Kill(), ignoreExit(cmd.Wait()))
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return ignoreExit(err)
	}
	return err
}

// furnish gives a new first process what only the host can, and lets it go on.
func (s *Sandbox) furnish(pid int, tell *os.File) error {
	err := makeCgroup(s.Cgroup, pid)
	if err == nil {
		err = s.Network.connect(pid)
	}
	if err == nil {
		_, err = tell.WriteString(goOn)
	}
	return errors.Join(err, tell.Close())
}

func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// Close removes what is left of the sandbox, once its command has ended.
func (s *Sandbox) Close(ctx context.Context) error {
	err := s.content.remove(ctx)
	if err == nil {
		err = os.Remove(s.file.Name())
	}
	return errors.Join(err, s.file.Close())
}
