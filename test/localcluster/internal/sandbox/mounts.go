package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// furnishMounts makes the mount namespace that of a node which shares the host's files but leaves none behind.
func furnishMounts() error {
	// Mounts of the host come and go here too; none of ours reaches it. The container runtime wants ours to be shared with
	// those of the containers.
	for _, propagation := range []uintptr{unix.MS_SLAVE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", unix.MS_REC|propagation, ""); err != nil {
			return fmt.Errorf("part our mounts from the host's: %w", err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	// The folders in which a node writes, and what others of its kind have there.
	return errors.Join(
		shadow("/run", "containerd", "netns"),
		shadow("/var/lib", "cni", "containerd", "kubelet"),
		shadow("/var/log", "containers", "pods"),
		detachTunables(),
	)
}

// shadow replaces a folder by one in memory that shows the same folders in it, but those hidden: what is added
// to it is seen by nobody else and gone with us.
func shadow(dir string, hidden ...string) error {
	old, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("shadow %s: %w", dir, err)
	}
	defer old.Close()
	entries, err := old.ReadDir(-1)
	if err != nil {
		return fmt.Errorf("shadow %s: %w", dir, err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("shadow %s: %w", dir, err)
	}
	for _, e := range entries {
		if slices.Contains(hidden, e.Name()) {
			continue
		}
		// Through the open folder, because its path leads to the new one by now.
		from, to := fmt.Sprintf("/proc/self/fd/%d/%s", old.Fd(), e.Name()), filepath.Join(dir, e.Name())
		if err := show(from, to, e.Type()); err != nil {
			return fmt.Errorf("shadow %s: show %s: %w", dir, e.Name(), err)
		}
	}
	return nil
}

// show makes a folder or a symbolic link appear in another place; other files are left out.
func show(from, to string, kind fs.FileMode) error {
	if kind.IsDir() {
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
		return unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, "")
	}
	if kind != fs.ModeSymlink {
		return nil
	}
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return os.Symlink(target, to)
}

// detachTunables puts copies in the place of the settings of the kernel that a kubelet would change for the whole machine.
func detachTunables() error {
	const copies = "/run/tunables"
	if err := os.Mkdir(copies, 0o755); err != nil {
		return fmt.Errorf("keep a kubelet from the kernel's settings: %w", err)
	}
	for _, name := range []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"} {
		path, replica := filepath.Join("/proc/sys", name), filepath.Join(copies, strings.ReplaceAll(name, "/", "_"))
		value, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(replica, value, 0o600)
		}
		if err == nil {
			err = unix.Mount(replica, path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("keep a kubelet from the kernel's setting %s: %w", name, err)
		}
	}
	return nil
}
