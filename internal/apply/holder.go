package apply

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Identity names this process beside all others, for Lead. Where /proc tells, it also says which process of which machine it
// is, so that a later process of the same machine can prove its end.
func Identity() string { return identityOf(os.DirFS("/proc"), os.Getpid()) }

// identityOf is HOST-PID-CHANCE or, where the end of the process can be proven, HOST-PID-CHANCE-START-PLACE.
func identityOf(proc fs.FS, pid int) string {
	const chance = 5
	id := fmt.Sprintf("%s-%d-%s", hostname(), pid, rand.Text()[:chance])
	here, err := habitat(proc)
	if err != nil {
		return id
	}
	start, err := started(proc, pid)
	if err != nil {
		return id
	}
	return id + "-" + start + "-" + here
}

// gone reports whether the process that identity names has provably ended. Only that may take a Lease from its holder before
// its time, since the holder then runs nowhere and never will again:
//
//   - The place is the same: one boot of one kernel, one namespace of pids. So the pid means the same process here as there,
//     or none. (A namespace's number is used again only when all processes in it have ended.)
//   - The kernel knows no process of that pid, or one that began at another time. Both are asked in this namespace: habitat
//     knows that /proc shows it, and absent does not go through /proc, which may hide the processes of others.
//
// All else is no proof, and the answer no: another machine, another namespace, a dead process whose parent has not asked for
// it yet, no /proc. Machines that were cloned while they ran are the one thing that cannot be told apart, unless by name.
func gone(identity string, proc fs.FS, absent func(pid int) bool) bool {
	const pid, start, there, fields = 4, 2, 1, 5 // counted from the end: a host's name has hyphens
	parts := strings.Split(identity, "-")
	n := len(parts)
	if n < fields {
		return false
	}
	here, err := habitat(proc)
	if err != nil || parts[n-there] != here {
		return false
	}
	number, err := strconv.Atoi(parts[n-pid])
	if err != nil || number < 1 {
		return false
	}
	if absent(number) {
		return true
	}
	began, err := started(proc, number)
	return err == nil && began != parts[n-start]
}

// habitat identifies the namespace of pids that this process is in, on this boot of this machine. The start of a process is
// counted in a namespace too, that of time. It fails where proc does not show our namespace but an outer one.
func habitat(proc fs.FS) (string, error) {
	boot, err := fs.ReadFile(proc, "sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("identify the boot: %w", err)
	}
	pids, err := fs.ReadLink(proc, "self/ns/pid")
	if err != nil {
		return "", fmt.Errorf("identify the namespace of pids: %w", err)
	}
	times, err := fs.ReadLink(proc, "self/ns/time")
	if err != nil {
		return "", fmt.Errorf("identify the namespace of time: %w", err)
	}
	status, err := fs.ReadFile(proc, "self/status")
	if err != nil {
		return "", fmt.Errorf("read our pids: %w", err)
	}
	// One pid for each namespace from the one that proc shows down to ours (proc_pid_status(5)).
	_, ours, _ := strings.Cut(string(status), "\nNSpid:")
	ours, _, _ = strings.Cut(ours, "\n")
	if len(strings.Fields(ours)) != 1 {
		return "", errors.New("/proc does not show our namespace of pids")
	}
	const enough = 8
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%s", hostname(), boot, pids, times))
	return fmt.Sprintf("%x", sum[:enough]), nil
}

// started is when a process began, in ticks since the boot: field 22 of proc_pid_stat(5).
func started(proc fs.FS, pid int) (string, error) {
	stat, err := fs.ReadFile(proc, strconv.Itoa(pid)+"/stat")
	if err != nil {
		return "", fmt.Errorf("read when process %d began: %w", pid, err)
	}
	const starttime, state = 22, 3
	// The name, in field 2, may have spaces and parentheses in it.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) <= starttime-state {
		return "", fmt.Errorf("read when process %d began: %d fields", pid, len(fields))
	}
	return fields[starttime-state], nil
}

// absent reports whether the kernel says that there is no process of this pid. A process that may not be signalled is there.
func absent(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone)
}

func hostname() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}

// estate is a Lease that is free once its holder is gone. It is taken with the resourceVersion that was read, so of two that
// find it free one gets it.
type estate struct {
	resourcelock.Interface
	gone func(identity string) bool
	log  *slog.Logger
}

// Get returns what the Lease says, without a holder where that is gone.
func (l estate) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && l.gone(record.HolderIdentity) {
		l.log.InfoContext(ctx, "the process that had the Lease has died: it is taken at once",
			slog.String("holder", record.HolderIdentity))
		record.HolderIdentity = ""
	}
	return record, raw, err
}
