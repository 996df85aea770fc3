package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"testing/fstest"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/source"
)

// repository is a Source in memory: what was pushed can be had until it is lost.
type repository struct {
	changed chan struct{}

	mu    sync.Mutex
	head  desired.Revision
	trees map[string]fs.FS
	revs  map[string]desired.Revision
	kept  [][]string
	asked map[string]int // by commit
	down  error          // of all methods
	slow  bool           // Head does not answer
}

func newRepository() *repository {
	return &repository{
		changed: make(chan struct{}, 1), trees: map[string]fs.FS{}, revs: map[string]desired.Revision{}, asked: map[string]int{},
	}
}

// push makes files the newest commit; equal content is the same commit, as with a folder.
func (r *repository) push(files map[string]string) desired.Revision {
	tree, sum := fstest.MapFS{}, sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		tree[name] = &fstest.MapFile{Data: []byte(files[name]), Mode: 0o644}
		_, _ = fmt.Fprintf(sum, "%q %q\n", name, files[name])
	}
	rev := desired.Revision{
		Commit: hex.EncodeToString(sum.Sum(nil)), Ref: "main", Repository: "https://git.example.test/shop", Subject: "a change",
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.head, r.trees[rev.Commit], r.revs[rev.Commit] = rev, tree, rev
	r.touch()
	return rev
}

// touch says that there is news, whether there is or not.
func (r *repository) touch() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// forget lets a commit be lost, as a forced push and a collection of garbage do.
func (r *repository) forget(commit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.trees, commit)
}

// fail makes the repository answer with err; nil mends it.
func (r *repository) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = err
	r.touch()
}

func (r *repository) asks(commit string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[commit]
}

// Head returns what was pushed last.
func (r *repository) Head(ctx context.Context) (desired.Revision, fs.FS, error) {
	if r.isSlow() {
		<-ctx.Done()
		return desired.Revision{}, nil, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down != nil {
		return desired.Revision{}, nil, r.down
	}
	if r.head.Commit == "" {
		return desired.Revision{}, nil, fmt.Errorf("find main: %w", source.ErrEmptyRepository)
	}
	return r.head, r.trees[r.head.Commit], nil
}

// hang lets Head not answer; false mends it.
func (r *repository) hang(slow bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow = slow
	r.touch()
}

func (r *repository) isSlow() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.slow
}

// Commit returns what was pushed once.
func (r *repository) Commit(_ context.Context, hash string) (desired.Revision, fs.FS, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[hash]++
	if r.down != nil {
		return desired.Revision{}, nil, r.down
	}
	tree, ok := r.trees[hash]
	if !ok {
		return desired.Revision{}, nil, fmt.Errorf("look for commit %s: %w", hash, source.ErrUnknownCommit)
	}
	return r.revs[hash], tree, nil
}

// Keep notes what is to be kept.
func (r *repository) Keep(_ context.Context, hashes ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range hashes {
		if _, ok := r.trees[h]; !ok {
			return fmt.Errorf("keep %s: %w", h, source.ErrUnknownCommit)
		}
	}
	r.kept = append(r.kept, slices.Clone(hashes))
	return r.down
}

func (r *repository) lastKept() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) == 0 {
		return nil
	}
	return r.kept[len(r.kept)-1]
}
