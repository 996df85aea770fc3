package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/source"
)

// proxyPatience is how long the proxies of an earlier life of the daemon are waited for before anything is deleted.
const proxyPatience = time.Minute

// restore finds out where an earlier life of the daemon left the instance: its inventory, the commit that was accepted,
// and the routes that proxies may still serve. It tries until the API server answers; its error is one that will not mend
// itself, or ctx's end.
func (l *Loop) restore(ctx context.Context) (standing, error) {
	before, err := l.open(ctx)
	for try := 1; err != nil; try++ {
		if errors.Is(err, apply.ErrOtherRepository) {
			return standing{}, err
		}
		l.logTrouble(ctx, "cluster out of reach", err)
		if err := pause(ctx, nil, backOff(try)); err != nil {
			return standing{}, err
		}
		before, err = l.open(ctx)
	}
	now := l.recall(ctx, standing{before: before, drift: before.Drift, shown: waitsOf(before)})
	nodes := map[string][]string{}
	for _, p := range before.Proxies {
		nodes[p.Group] = append(nodes[p.Group], p.Node)
	}
	if len(nodes) > 0 {
		now.absent = l.now().Add(proxyPatience)
	}
	for _, group := range slices.Sorted(maps.Keys(nodes)) {
		if l.OneShot {
			now.unserved = append(now.unserved, nodes[group]...)
			continue
		}
		l.Proxies.Expect(group, nodes[group], now.absent)
	}
	return now, nil
}

// open installs our kinds, reads the inventory and what was reported last.
func (l *Loop) open(ctx context.Context) (v1alpha1.SyncStatus, error) {
	if l.Definitions != nil {
		err := l.Cluster.Install(ctx, l.Definitions, l.Version)
		if err != nil && !errors.Is(err, apply.ErrForeignDefinition) {
			return v1alpha1.SyncStatus{}, err
		}
		if err != nil {
			l.log.WarnContext(ctx, "definitions left alone", l.errorAttr(err))
		}
	}
	if err := l.Cluster.Open(ctx); err != nil {
		return v1alpha1.SyncStatus{}, err
	}
	return l.Cluster.Recall(ctx)
}

// recall gets the commits on record: the accepted one, and those that proxies serve. One that cannot be had is lost: then
// the instance starts from the newest commit that it accepts, and until there is one nothing is written or deleted.
func (l *Loop) recall(ctx context.Context, now standing) standing {
	now.live, now.full, now.lost = map[string][]desired.Route{}, map[string]string{}, nil
	known := map[string]commit{}
	get := func(hash string) error {
		if _, ok := known[hash]; ok || hash == "" {
			return nil
		}
		c, err := l.reload(ctx, hash, now.accepted)
		if err != nil {
			l.log.WarnContext(ctx, "the commit of before cannot be had", slog.String("commit", hash), l.errorAttr(err))
			return fmt.Errorf("commit %s, accepted before: %w", desired.Revision{Commit: hash}.Short(), err)
		}
		known[hash] = c
		return nil
	}
	now.lost = get(now.before.Commit)
	now.accepted = known[now.before.Commit]
	for _, group := range slices.Sorted(maps.Keys(now.before.LiveCommit)) {
		hash := now.before.LiveCommit[group]
		if get(hash) == nil && known[hash].known() {
			now.live[group], now.full[group] = known[hash].state.Routes, hash
		}
	}
	if now.accepted.known() {
		now.done = tallyOf(now.before)
		// The store may be new: what is on record must be had after the next restart, too.
		if err := l.keep(ctx, now.accepted, now); err != nil {
			l.log.WarnContext(ctx, "the accepted commit is not kept", l.errorAttr(err))
		}
	}
	return now
}

func (l *Loop) reload(ctx context.Context, hash string, accepted commit) (commit, error) {
	rev, tree, err := l.Source.Commit(ctx, hash)
	if err != nil {
		return commit{}, err
	}
	return l.load(ctx, rev, tree, accepted)
}

// remember gets a commit that was lost to a repository out of reach, once that answers.
func (l *Loop) remember(ctx context.Context, now standing) standing {
	if now.lost == nil || errors.Is(now.lost, source.ErrUnknownCommit) || isVerdict(now.lost) {
		return now
	}
	if _, _, err := l.Source.Head(ctx); err != nil {
		return now
	}
	return l.recall(ctx, now)
}
