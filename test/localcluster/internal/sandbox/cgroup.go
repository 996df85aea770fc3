package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	cgroupPoll    = 20 * time.Millisecond
	cgroupTimeout = 20 * time.Second
)

// hierarchy is a mounted tree of cgroups: the one of version 2, or one of several of version 1.
type hierarchy struct {
	path    string
	unified bool
	cpuset  bool
}

// hierarchies are those that this process sees, the unified one first.
func hierarchies() ([]hierarchy, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list cgroup hierarchies: %w", err)
	}
	defer f.Close()
	var found []hierarchy
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// man 5 proc: id parent device root path options [fields] - type source superoptions
		before, after, ok := strings.Cut(lines.Text(), " - ")
		where, what := strings.Fields(before), strings.Fields(after)
		if !ok || len(where) < 5 || len(what) < 3 {
			continue
		}
		switch what[0] {
		case "cgroup2":
			found = slices.Insert(found, 0, hierarchy{path: where[4], unified: true})
		case "cgroup":
			cpuset := slices.Contains(strings.Split(what[2], ","), "cpuset")
			found = append(found, hierarchy{path: where[4], cpuset: cpuset})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("list cgroup hierarchies: %w", err)
	}
	return found, nil
}

// makeCgroup makes the cgroup in every hierarchy, and in one of them puts the process into a child of it, by which
// everything that it starts can be found.
func makeCgroup(name string, pid int) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	tracked := false
	for _, h := range all {
		dir := filepath.Join(h.path, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("make a cgroup: %w", err)
		}
		if h.unified {
			if err := delegate(h.path); err != nil {
				return err
			}
		}
		// A new cpuset takes no process before it has been given CPUs.
		if tracked || h.cpuset {
			continue
		}
		system := filepath.Join(dir, "system")
		if err := os.Mkdir(system, 0o755); err != nil {
			return fmt.Errorf("make a cgroup: %w", err)
		}
		if err := os.WriteFile(filepath.Join(system, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600); err != nil {
			return fmt.Errorf("put process %d into its cgroup: %w", pid, err)
		}
		tracked = true
	}
	if !tracked {
		return errors.New("no cgroup hierarchy is mounted")
	}
	return nil
}

// delegate lets the children of a unified hierarchy's root use the controllers that a kubelet asks for.
func delegate(root string) error {
	available, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("list cgroup controllers: %w", err)
	}
	for controller := range strings.FieldsSeq(string(available)) {
		if !slices.Contains([]string{"cpu", "cpuset", "hugetlb", "memory", "pids"}, controller) {
			continue
		}
		err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+"+controller), 0o600)
		if err != nil {
			return fmt.Errorf("delegate cgroup controller %s: %w", controller, err)
		}
	}
	return nil
}

// removeCgroup kills what is left in the cgroup and its children, and removes them, in every hierarchy.
func removeCgroup(ctx context.Context, name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cgroupTimeout)
	defer cancel()
	tick := time.NewTicker(cgroupPoll)
	defer tick.Stop()
	for _, h := range all {
		for {
			// It is busy until the kernel has buried the last process.
			err := removeTree(filepath.Join(h.path, name))
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("remove cgroup %s: %w", name, err)
			case <-tick.C:
			}
		}
	}
	return nil
}

// removeTree removes a cgroup, its children first, and kills the processes in its way.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENODEV) {
		return err
	}
	for line := range strings.FieldsSeq(string(procs)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
			_ = unix.Kill(pid, unix.SIGKILL) // one that has gone is what we want
		}
	}
	// Not os.Remove, which would try to unlink it first and hide why it could not be removed.
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
