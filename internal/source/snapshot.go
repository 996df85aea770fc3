package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

const (
	// workingTree is the Ref of a snapshot.
	workingTree = "working-tree"
	// maxHeld and maxHeldAll are up to where a snapshot holds one file, and all of them, in memory, in bytes. What is beyond
	// is read from the folder again, and refused if it has changed.
	maxHeld    = 4 << 20
	maxHeldAll = 256 << 20
	// settle bounds how long a folder that changes while it is read is read again, every settlePoll.
	settle     = 3 * time.Second
	settlePoll = 20 * time.Millisecond
	// racy is how old a change must be for a later one to show in the time stamps for sure.
	racy = 100 * time.Millisecond
)

// errMoving says that a folder changed while it was read.
var errMoving = errors.New("the folder changed while it was read")

// snapshot is the content of a folder at one moment.
type snapshot struct {
	dir    string
	digest string
	items  []item
	dirs   map[string][]node
	files  map[string]*file
}

// file is the content of one file.
type file struct {
	stamp stamp
	hash  string
	// data is nil for a file that is too large to hold.
	data []byte
	// read is when.
	read time.Time
}

// stamp changes when a file does.
type stamp struct {
	dev, ino      uint64
	size          int64
	mode          fs.FileMode
	mtime, change int64
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), mode: info.Mode(), mtime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.dev, s.ino, s.change = st.Dev, st.Ino, st.Ctim.Nano()
	}
	if info.IsDir() { // what is in it has stamps of its own
		s.size, s.mtime, s.change = 0, 0, 0
	}
	return s
}

// Snapshot returns a folder as it is now, whether its files are committed or not: what a person who is editing wants to see.
// Entries named .git are left out; pipes, sockets and devices too, and of a working tree what a commit would not hold. Commit is "sha256:" and a digest of the content. Give
// the root of the working tree: a link out of dir leads out of the tree.
func Snapshot(ctx context.Context, dir string) (desired.Revision, fs.FS, error) {
	loc, err := local(dir)
	if err != nil {
		return desired.Revision{}, nil, err
	}
	snap, err := takeSnapshot(ctx, loc.path, nil, 0, true)
	if err != nil {
		return desired.Revision{}, nil, redactor{}.fail(ctx, ErrUnreachable, "read "+loc.shown, err)
	}
	st := snap.state(loc.shown)
	return st.rev, st.tree, nil
}

func (s *snapshot) state(repository string) *state {
	return &state{
		rev:  desired.Revision{Commit: s.digest, Ref: workingTree, Repository: repository},
		tree: &tree{content: s, root: node{name: ".", mode: fs.ModeDir | 0o755, key: ".", hash: s.digest}},
	}
}

// takeSnapshot reads dir until nothing has changed from the beginning of a reading to its end, nor for the time still
// before, so that a half-written state is not taken for one. A folder that never rests is taken as it is in the end. Files
// that are as they were in before are not read again.
func takeSnapshot(
	ctx context.Context, dir string, before *snapshot, still time.Duration, worktree bool,
) (*snapshot, error) {
	limit, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("open the folder: %w", err)
	}
	var last *snapshot // a reading during which nothing changed
	for {
		s, err := readFolder(ctx, dir, before, worktree)
		delay := settlePoll
		switch {
		case err == nil && time.Since(s.changed()) >= still:
			return s, nil
		case err == nil:
			last, delay = s, max(delay, still-time.Since(s.changed()))
		case !errors.Is(err, errMoving):
			return nil, err
		}
		if s != nil {
			before = s
		}
		pause(limit, delay)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("read the folder: %w", ctx.Err())
		case limit.Err() != nil && last != nil:
			return last, nil
		case limit.Err() != nil:
			return nil, fmt.Errorf("%w, for %s", errMoving, settle)
		}
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// changed returns when something in the folder changed last.
func (s *snapshot) changed() time.Time {
	var last int64
	for _, it := range s.items {
		last = max(last, it.stamp.change)
	}
	return time.Unix(0, last)
}

// readFolder reads dir once. With errMoving, what could be read is returned.
func readFolder(ctx context.Context, dir string, before *snapshot, worktree bool) (_ *snapshot, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, moving(fmt.Errorf("open the folder: %w", err)) // a folder may be swapped as a whole
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	s := &snapshot{dir: dir, dirs: map[string][]node{}, files: map[string]*file{}}
	if s.items, err = survey(ctx, dir, worktree); err != nil {
		return nil, moving(err)
	}
	var held int64
	for i, it := range s.items {
		if !it.stamp.mode.IsRegular() {
			continue
		}
		f := before.unchanged(it)
		if f == nil {
			if f, err = readFile(ctx, root, it, held+it.stamp.size <= maxHeldAll); err != nil {
				return s, moving(err)
			}
		}
		held += int64(len(f.data))
		s.files[it.path], s.items[i].hash = f, f.hash
	}
	again, err := survey(ctx, dir, worktree)
	if err != nil {
		return s, moving(err)
	}
	if !sameItems(s.items, again) {
		return s, errMoving
	}
	s.index()
	s.digest = digest(s.items)
	return s, nil
}

// moving turns what a file that vanished, or became something else, leads to into errMoving.
func moving(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return errMoving
	}
	return err
}

// unchanged returns a file that was read before and is still the same, or nil.
func (s *snapshot) unchanged(it item) *file {
	if s == nil {
		return nil
	}
	f := s.files[it.path]
	if f == nil || f.stamp != it.stamp || f.read.Sub(time.Unix(0, max(f.stamp.mtime, f.stamp.change))) < racy {
		return nil
	}
	return f
}

func readFile(ctx context.Context, root *os.Root, it item, hold bool) (_ *file, err error) {
	// Not blocking, for the case that it has become a pipe meanwhile.
	r, err := root.OpenFile(it.path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("read a file: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if info, err := r.Stat(); err != nil || stampOf(info) != it.stamp {
		return nil, errors.Join(errMoving, err)
	}
	f := &file{stamp: it.stamp, read: time.Now()}
	sum := sha256.New()
	w := io.Writer(sum)
	var buf bytes.Buffer
	if hold = hold && it.stamp.size <= maxHeld; hold {
		w = io.MultiWriter(sum, &buf)
	}
	n, err := io.Copy(w, io.LimitReader(r, it.stamp.size+1))
	if err == nil && n != it.stamp.size {
		err = errMoving
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", it.path, errors.Join(ctx.Err(), err))
	}
	f.hash = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	if hold {
		f.data = append([]byte{}, buf.Bytes()...)
	}
	return f, nil
}

// list implements content: key is a path.
func (s *snapshot) list(dir node) ([]node, error) { return s.dirs[dir.key], nil }

// size implements content.
func (s *snapshot) size(n node) (int64, error) {
	if n.mode&fs.ModeSymlink != 0 {
		return int64(len(n.hash)), nil
	}
	return s.files[n.key].stamp.size, nil
}

// open implements content.
func (s *snapshot) open(n node) (io.ReadCloser, error) {
	if n.mode&fs.ModeSymlink != 0 {
		return io.NopCloser(bytes.NewReader([]byte(n.hash))), nil
	}
	f := s.files[n.key]
	if f.data != nil {
		return io.NopCloser(bytes.NewReader(f.data)), nil
	}
	return s.reopen(n.key, f)
}

// reopen opens a large file again, if it is the one that was read.
func (s *snapshot) reopen(path string, f *file) (io.ReadCloser, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	r, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if info, err := r.Stat(); err != nil || stampOf(info) != f.stamp {
		return nil, errors.Join(errors.New("the file has changed since the snapshot was taken"), err, r.Close())
	}
	return r, nil
}
