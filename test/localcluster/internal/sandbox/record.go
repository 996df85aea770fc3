package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// record is what a sandbox has on this machine that the kernel does not remove with its processes.
type record struct {
	// PID is for the person who reads it: whether the owner lives, the lock says.
	PID     int     `json:"pid"`
	Network Network `json:"network"`
	Cgroup  string  `json:"cgroup"`
	Folder  string  `json:"folder,omitempty"`
}

// registry is a folder of records, one file each, locked by its owner.
type registry string

// machine is the registry that all sandboxes of this machine share, whoever's they are; a reboot empties it.
const machine registry = "/run/localcluster"

// lock keeps others from adding and removing records, and from choosing networks, until the returned file is closed.
func (r registry) lock() (*os.File, error) {
	if err := os.MkdirAll(string(r), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of records: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(string(r), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of records: %w", err)
	}
	if err := flock(f, unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// add writes a record and locks it: it counts as its owner's until the file is closed.
func (r registry) add(id string, content record) (*os.File, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode record %s: %w", id, err)
	}
	f, err := os.OpenFile(r.file(id), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make record %s: %w", id, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, flock(f, unix.LOCK_EX|unix.LOCK_NB)); err != nil {
		return nil, fmt.Errorf("write record %s: %w", id, errors.Join(err, os.Remove(f.Name()), f.Close()))
	}
	return f, nil
}

func (r registry) file(id string) string { return filepath.Join(string(r), id+".json") }

// orphans returns the records whose owners have died, by their files. The caller holds the lock.
func (r registry) orphans() (map[string]record, error) {
	files, err := filepath.Glob(r.file("*"))
	if err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	dead := map[string]record{}
	for _, file := range files {
		content, err := readOrphan(file)
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
			continue // it has an owner, or had one until now
		}
		if err != nil {
			return nil, fmt.Errorf("read record %s: %w", file, err)
		}
		dead[file] = content
	}
	return dead, nil
}

// readOrphan returns an empty record where its owner died while it wrote it: nothing had been made by then.

func readOrphan(file string) (record, error) {
	f, err := os.Open(file)
	if err != nil {
		return record{}, err
	}
	defer f.Close()
	if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return record{}, err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return record{}, err
	}
	var content record
	if err := json.Unmarshal(data, &content); err != nil {
		return record{}, nil // half a record
	}
	return content, nil
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
