package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// fetch is what is asked of a remote.
type fetch struct {
	wants []plumbing.Hash
	// tip must be here whole afterwards; a commit, or a tag of one.
	tip plumbing.Hash
	// known tells the server what we have, so that it sends only what is new.
	known bool
	// depth in commits, 0 for all. Never with known: the server would send everything again.
	depth int
}

// fetch brings a pack into the store and checks that f.tip is whole. No ref moves.
func (r *remoteOrigin) fetch(ctx context.Context, s session, adv *packp.AdvRefs, f fetch) (*object.Commit, error) {
	limit, cancel := context.WithTimeout(ctx, transferFactor*r.time)
	defer cancel()
	limit, stall := context.WithCancelCause(limit)
	defer stall(nil)
	unlock, err := r.store.lock(limit)
	if err != nil {
		return nil, err
	}
	defer unlock()
	req, err := r.store.request(adv, f)
	if err != nil {
		return nil, err
	}
	doing := "fetching " + r.what()
	r.progress(doing)
	defer r.progress("")
	res, err := s.pack(limit, req)
	if err != nil {
		return nil, r.timedOut(limit, err)
	}
	// A server that counts and packs says so every few seconds: one that says nothing for this long will not end.
	silent := time.AfterFunc(r.time, func() { stall(errStalled) })
	defer silent.Stop()
	total := 0
	err = r.store.receive(req, res, func(n int) {
		silent.Reset(r.time)
		total += n
		r.progress(fmt.Sprintf("%s: %.1f MB", doing, float64(total)/megabyte))
	})
	if err := errors.Join(err, res.Close()); err != nil {
		return nil, r.timedOut(limit, err)
	}
	return r.store.whole(ctx, f.tip)
}

const megabyte = 1e6

// errStalled says that nothing of a pack arrived for too long.
var errStalled = errors.New("the pack stalled")

func (r *remoteOrigin) timedOut(limit context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(limit), errStalled):
		return fmt.Errorf("%w: nothing arrived for %s", errStalled, r.time)
	case limit.Err() != nil:
		return fmt.Errorf("not complete within %s", transferFactor*r.time)
	}
	return err
}

// heard calls back whenever something arrives, with how many bytes.
type heard struct {
	io.Reader
	back func(n int)
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.back(n)
	return n, err
}

// request says what we want and have. Each commit in the store is whole but may lack its parents, which a server must
// be told ("shallow"): else it takes them for granted, and a branch that is forced back arrives without its objects.
func (st *store) request(adv *packp.AdvRefs, f fetch) (*packp.UploadPackRequest, error) {
	req := packp.NewUploadPackRequestFromCapabilities(adv.Capabilities)
	req.Wants = slices.Clone(f.wants)
	shallow := adv.Capabilities.Supports(capability.Shallow)
	if adv.Capabilities.Supports(capability.NoProgress) {
		_ = req.Capabilities.Set(capability.NoProgress)
	}
	if shallow {
		_ = req.Capabilities.Set(capability.Shallow)
	}
	if shallow && f.depth > 0 {
		req.Depth = packp.DepthCommits(f.depth)
	}
	if !f.known || !shallow {
		return req, nil
	}
	refs, err := st.refs(ourRefs)
	if err != nil {
		return nil, err
	}
	for _, h := range refs {
		if st.has(h) {
			req.Haves = append(req.Haves, h)
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if req.Shallows, err = st.sto.Shallow(); err != nil {
		return nil, fmt.Errorf("read the object store: %w", err)
	}
	return req, nil
}

// receive writes the pack, and which commits came without their parents; arrived is called whenever bytes do. The lock is
// held.
func (st *store) receive(req *packp.UploadPackRequest, res *packp.UploadPackResponse, arrived func(n int)) error {
	var r io.Reader = heard{res, arrived}
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		r = sideband.NewDemuxer(sideband.Sideband64k, r)
	case req.Capabilities.Supports(capability.Sideband):
		r = sideband.NewDemuxer(sideband.Sideband, r)
	}
	if err := st.addShallow(res.Shallows); err != nil {
		return err
	}
	return st.addPack(r)
}

// addShallow notes commits that are here without their parents.
func (st *store) addShallow(commits []plumbing.Hash) error {
	if len(commits) == 0 {
		return nil
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	all, err := st.sto.Shallow()
	if err != nil {
		return fmt.Errorf("read the object store: %w", err)
	}
	for _, h := range commits {
		if !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	if err := st.sto.SetShallow(all); err != nil {
		return fmt.Errorf("write the object store: %w", err)
	}
	return nil
}

// addPack writes one pack from a stream. Only the index in memory is guarded: readers go on while bytes arrive.
func (st *store) addPack(r io.Reader) (err error) {
	st.mu.Lock()
	w, err := st.sto.PackfileWriter()
	st.mu.Unlock()
	if err != nil {
		return fmt.Errorf("write the object store: %w", err)
	}
	_, copyErr := io.Copy(w, r)
	st.mu.Lock()
	defer st.mu.Unlock()
	closeErr := w.Close()
	if errors.Is(closeErr, packfile.ErrEmptyPackfile) {
		closeErr = nil
	}
	if err := errors.Join(copyErr, closeErr); err != nil {
		return fmt.Errorf("receive a pack: %w", err)
	}
	return nil
}

// setTip records a whole commit as the newest, and packs anew where packs have piled up, with what is in use.
func (st *store) setTip(ctx context.Context, h plumbing.Hash, inUse []plumbing.Hash) error {
	unlock, err := st.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := st.setRef(tipRef, h); err != nil {
		return err
	}
	return st.compact(ctx, inUse)
}

// advertised finds the ref in a remote's list: its full name and what it points at.
func advertised(adv *packp.AdvRefs, ref string) (string, plumbing.Hash, error) {
	for _, name := range candidates(ref) {
		if h, ok := adv.References[name]; ok {
			return name, h, nil
		}
		if name == head && adv.Head != nil {
			return headName(adv), *adv.Head, nil
		}
	}
	return "", plumbing.ZeroHash, noSuchRef(ref, maps.Keys(adv.References))
}

// headName returns the branch that HEAD stands for, or HEAD where the server does not say.
func headName(adv *packp.AdvRefs) string {
	for _, ref := range adv.Capabilities.Get(capability.SymRef) {
		if target, ok := strings.CutPrefix(ref, head+":"); ok {
			return target
		}
	}
	return head
}

// tipsOf returns what branches and tags point at.
func tipsOf(adv *packp.AdvRefs) iter.Seq[plumbing.Hash] {
	return func(yield func(plumbing.Hash) bool) {
		for name, h := range adv.References {
			if (strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/")) && !yield(h) {
				return
			}
		}
	}
}

// storeName is the folder of a repository and ref below the data directory.
func storeName(repository, ref string) string {
	const digits = 32
	sum := sha256.Sum256([]byte(repository + "\x00" + ref))
	return hex.EncodeToString(sum[:])[:digits] + ".git"
}
