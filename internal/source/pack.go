package source

import (
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // the checksum that git demands at the end of a pack
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// compact packs what the refs and inUse need into one pack and removes the rest, once packs have piled up. Of history
// nothing stays. A crash in between leaves packs too many. The lock is held.
func (st *store) compact(ctx context.Context, inUse []plumbing.Hash) error {
	dir := filepath.Join(st.dir, "objects", "pack")
	before, err := filepath.Glob(filepath.Join(dir, "pack-*"))
	if err != nil || len(before) < 2*maxPacks {
		return err
	}
	refs, err := st.refs(ourRefs)
	if err != nil {
		return err
	}
	var commits []*object.Commit
	var shallow []plumbing.Hash
	for _, h := range slices.AppendSeq(slices.Clone(inUse), maps.Values(refs)) {
		c, err := st.peel(h)
		if err != nil {
			return err
		}
		commits = append(commits, c)
		shallow = append(shallow, c.Hash)
	}
	if err := st.addShallow(shallow); err != nil {
		return err
	}
	if err := st.copyFrom(ctx, st.objects, commits, plumbing.ZeroHash, nil); err != nil {
		return err
	}
	after, err := filepath.Glob(filepath.Join(dir, "pack-*"))
	if err != nil || len(after) == len(before) { // the new pack is one of the old ones
		return err
	}
	var errs []error
	for _, f := range before {
		errs = append(errs, os.Remove(f))
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	errs = append(errs, st.sto.SetShallow(shallow))
	st.reopen()
	return errors.Join(errs...)
}

// copyFrom writes the commits of o with their trees as one pack. What the tree base has stays out, and what have says is
// here. The lock is held.
func (st *store) copyFrom(
	ctx context.Context, o *objects, commits []*object.Commit, base plumbing.Hash, have func(plumbing.Hash) bool,
) error {
	seen := map[plumbing.Hash]bool{}
	var hashes []plumbing.Hash
	visit := func(h plumbing.Hash) error {
		if !seen[h] && (have == nil || !have(h)) {
			hashes = append(hashes, h)
		}
		seen[h] = true
		return nil
	}
	for _, c := range commits {
		if err := errors.Join(visit(c.Hash), o.walk(ctx, c.TreeHash, base, visit)); err != nil {
			return err
		}
		base = c.TreeHash
	}
	if len(hashes) == 0 {
		return nil
	}
	return st.addObjects(ctx, hashes, func(h plumbing.Hash) (plumbing.EncodedObject, error) {
		return o.get(plumbing.AnyObject, h)
	})
}

// addObjects writes objects as one pack.
func (st *store) addObjects(
	ctx context.Context, hashes []plumbing.Hash, get func(plumbing.Hash) (plumbing.EncodedObject, error),
) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := writePack(ctx, w, hashes, get)
		done <- errors.Join(err, w.CloseWithError(err))
	}()
	err := st.addPack(r)
	_ = r.Close() // ends the writer where addPack stopped early
	if werr := <-done; werr != nil && !errors.Is(werr, io.ErrClosedPipe) {
		err = errors.Join(werr, err)
	}
	return err
}

// writePack writes a pack without deltas (gitformat-pack(5)), one object at a time.
func writePack(
	ctx context.Context, w io.Writer, hashes []plumbing.Hash, get func(plumbing.Hash) (plumbing.EncodedObject, error),
) error {
	if len(hashes) > math.MaxUint32 {
		return errors.New("too many objects for one pack")
	}
	sum := sha1.New() //nolint:gosec // as above
	w = io.MultiWriter(w, sum)
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(hashes))) //nolint:gosec // checked
	if _, err := w.Write(head); err != nil {
		return fmt.Errorf("write a pack: %w", err)
	}
	z := zlib.NewWriter(w)
	for _, h := range hashes {
		obj, err := get(h)
		if err != nil {
			return err
		}
		if err := errors.Join(ctx.Err(), writeObject(w, z, obj)); err != nil {
			return fmt.Errorf("write git object %s: %w", h, err)
		}
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

func writeObject(w io.Writer, z *zlib.Writer, obj plumbing.EncodedObject) (err error) {
	// The first byte holds the type and four bits of the size, each next one seven more.
	size := uint64(obj.Size()) //nolint:gosec // sizes are not negative
	b := byte(obj.Type())<<4 | byte(size&0x0f)
	header := []byte{}
	for size >>= 4; size > 0; size >>= 7 {
		header = append(header, b|0x80)
		b = byte(size & 0x7f)
	}
	if _, err := w.Write(append(header, b)); err != nil {
		return err
	}
	r, err := obj.Reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	z.Reset(w)
	if _, err := io.Copy(z, r); err != nil {
		return err
	}
	return z.Close()
}
