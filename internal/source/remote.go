package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

// origin is where revisions come from. It is used by one goroutine at a time.
type origin interface {
	// newest returns the newest state; the same pointer where nothing changed.
	newest(ctx context.Context) (*state, error)
	// commit returns an earlier state.
	commit(ctx context.Context, id string) (*state, error)
	// keep keeps exactly these states for the instance.
	keep(ctx context.Context, states []*state) error
}

// remoteOrigin mirrors one ref of a remote into a store.
type remoteOrigin struct {
	loc    location
	ref    string
	name   string
	auth   Auth
	hide   redactor
	time   time.Duration
	dir    string
	log    *slog.Logger
	client transport.Transport
	// progress is told what a transfer has come to, and "" at its end.
	progress func(doing string)

	store *store // opened at the first use
	last  *state
	// recent are the newest commits that were returned: someone may be reading their trees still.
	recent []plumbing.Hash
	// quiet is until when the server wants to be left alone, and said what it said.
	quiet time.Time
	said  error
	// searched is the list of refs that a search for a commit found nothing in, by commit.
	searched map[string]string
}

// newest asks the remote for its refs, and fetches where ours has moved: one request, or two.
func (r *remoteOrigin) newest(ctx context.Context) (*state, error) {
	if isCommit(r.ref) { // which never moves
		if r.last != nil {
			return r.last, nil
		}
		st, err := r.commit(ctx, r.ref)
		if errors.Is(err, ErrUnknownCommit) {
			return nil, r.fail(ctx, ErrUnknownRef, "look for commit "+r.ref,
				errors.New("no branch or tag of "+r.loc.shown+" leads to it"))
		}
		r.last = st
		return st, err
	}
	if err := r.open(ctx); err != nil {
		return r.last, err
	}
	if time.Now().Before(r.quiet) {
		return r.recall(), r.said
	}
	st, err := r.poll(ctx)
	if err != nil {
		r.said = err
		return r.recall(), err
	}
	r.last = st
	return st, nil
}

func (r *remoteOrigin) poll(ctx context.Context) (*state, error) {
	s, adv, err := r.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	name, tip, err := advertised(adv, r.ref)
	if err != nil {
		return nil, r.fail(ctx, ErrUnknownRef, "find "+r.what(), err)
	}
	if r.last != nil && r.last.tip == tip && r.last.full == name {
		return r.last, nil
	}
	c, err := r.obtain(ctx, s, adv, tip)
	if err != nil {
		return nil, err
	}
	r.recent = append(r.recent, c.Hash)
	r.recent = r.recent[max(0, len(r.recent)-maxRecent):]
	if err := r.store.setTip(ctx, c.Hash, r.recent); err != nil {
		return nil, err
	}
	st := stateOf(r.store.objects, c, tip, r.shown(name), r.loc.shown)
	st.full = name
	warnSubmodules(ctx, r.log, st)
	return st, nil
}

// recall returns what was known before the remote could not be asked: after a restart, the tip in the store.
func (r *remoteOrigin) recall() *state {
	if r.last != nil {
		return r.last
	}
	c := r.store.tip()
	if c == nil {
		return nil
	}
	r.last = stateOf(r.store.objects, c, plumbing.ZeroHash, r.shown(head), r.loc.shown)
	return r.last
}

// open opens the store; each URL and ref has its own.
func (r *remoteOrigin) open(ctx context.Context) (err error) {
	if r.store == nil {
		r.store, err = openStore(ctx, filepath.Join(r.dir, storeName(r.loc.shown, r.ref)))
	}
	return err
}

// dial starts a session and asks for the refs: the one request that a poll costs.
func (r *remoteOrigin) dial(ctx context.Context) (_ session, _ *packp.AdvRefs, err error) {
	limit, cancel := context.WithTimeout(ctx, r.time)
	defer cancel()
	var s session
	if r.loc.url.Scheme == "ssh" {
		s, err = openSSH(limit, r.loc, r.auth)
	} else {
		s, err = openHTTP(r.client, r.loc, r.auth)
	}
	if err != nil {
		return nil, nil, r.fail(ctx, ErrUnreachable, "ask "+r.loc.shown, r.advice(limit, err))
	}
	adv, err := s.refs(limit)
	if err == nil {
		return s, adv, nil
	}
	_ = s.Close()
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return nil, nil, r.fail(ctx, ErrEmptyRepository, "ask "+r.loc.shown, errors.New("it has no commit yet: push one"))
	}
	return nil, nil, r.fail(ctx, ErrUnreachable, "ask "+r.loc.shown, r.advice(limit, err))
}

// obtain returns the commit that tip is, or is a tag of, with its whole tree in the store.
func (r *remoteOrigin) obtain(
	ctx context.Context, s session, adv *packp.AdvRefs, tip plumbing.Hash,
) (*object.Commit, error) {
	c, err := r.store.whole(ctx, tip)
	if err == nil {
		return c, nil
	}
	what := "fetch " + r.what()
	start := time.Now()
	ask := fetch{wants: []plumbing.Hash{tip}, tip: tip, known: true}
	if r.store.tip() == nil {
		ask.known, ask.depth = false, 1
	}
	c, err = r.fetch(ctx, s, adv, ask)
	if err != nil && ctx.Err() == nil && ask.known {
		// A server may take for granted that we have what lies below a commit that we have alone: ask again as if we had
		// nothing. An ssh session has been used up.
		r.log.WarnContext(ctx, "fetching from scratch", slog.String("repository", r.loc.shown),
			slog.String("reason", r.hide.text(err.Error())))
		fresh, adv, dialErr := r.dial(ctx)
		if dialErr != nil {
			return nil, dialErr
		}
		defer func() { _ = fresh.Close() }()
		ask.known, ask.depth = false, 1
		c, err = r.fetch(ctx, fresh, adv, ask)
	}
	if err != nil {
		return nil, r.fail(ctx, ErrUnreachable, what, err)
	}
	r.log.DebugContext(ctx, "fetched", slog.String("repository", r.loc.shown), slog.String("commit", c.Hash.String()),
		slog.Duration("took", time.Since(start)))
	return c, nil
}

// commit looks in the store, then asks the remote for just that commit, then for all its branches and tags.
func (r *remoteOrigin) commit(ctx context.Context, id string) (*state, error) {
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	h := plumbing.NewHash(id)
	c, err := r.store.whole(ctx, h)
	if err != nil {
		c, err = r.search(ctx, h)
	}
	if err != nil {
		return nil, err
	}
	return stateOf(r.store.objects, c, h, r.shown(id), r.loc.shown), nil
}

func (r *remoteOrigin) search(ctx context.Context, h plumbing.Hash) (*object.Commit, error) {
	s, adv, err := r.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	tips := slices.SortedFunc(tipsOf(adv), func(a, b plumbing.Hash) int { return strings.Compare(a.String(), b.String()) })
	tips = slices.Compact(tips)
	listed := fmt.Sprint(tips)
	none := r.fail(ctx, ErrUnknownCommit, "look for commit "+h.String(),
		errors.New("no branch or tag of "+r.loc.shown+" leads to it"))
	if r.searched[h.String()] == listed {
		return nil, none
	}
	if slices.Contains(tips, h) || adv.Capabilities.Supports(capability.AllowReachableSHA1InWant) ||
		adv.Capabilities.Supports(capability.AllowTipSHA1InWant) {
		c, err := r.fetch(ctx, s, adv, fetch{wants: []plumbing.Hash{h}, tip: h, depth: 1})
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		_ = s.Close()
		if s, adv, err = r.dial(ctx); err != nil {
			return nil, err
		}
	}
	c, err := r.fetch(ctx, s, adv, fetch{wants: tips, tip: h})
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, plumbing.ErrObjectNotFound):
		r.searched[h.String()] = listed
		return nil, none
	}
	return nil, r.fail(ctx, ErrUnreachable, "fetch the history of "+r.loc.shown, err)
}

func (r *remoteOrigin) keep(ctx context.Context, states []*state) error {
	commits := map[string]plumbing.Hash{}
	for _, st := range states {
		commits[st.rev.Commit] = plumbing.NewHash(st.rev.Commit)
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	unlock, err := r.store.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return r.store.keep(r.name, commits)
}
