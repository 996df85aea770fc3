package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
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
		l.log.WarnContext(ctx, "cluster out of reach", l.errorAttr(err))
		if err := pause(ctx, nil, backOff(try)); err != nil {
			return standing{}, err
		}
		before, err = l.open(ctx)
	}
	now := standing{before: before, live: map[string][]desired.Route{}, full: map[string]string{}}
	now.accepted = l.recall(ctx, before.Commit)
	for group, hash := range before.LiveCommit {
		c := now.accepted
		if hash != before.Commit {
			c = l.recall(ctx, hash)
		}
		if c.known() {
			now.live[group], now.full[group] = c.state.Routes, hash
		}
	}
	nodes := map[string][]string{}
	for _, p := range before.Proxies {
		nodes[p.Group] = append(nodes[p.Group], p.Node)
	}
	for group, names := range nodes {
		l.Proxies.Expect(group, names, l.now().Add(proxyPatience))
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

// recall renders a commit of before. Where it cannot be had the instance starts from the newest commit: what that one
// declares is known, so nothing is deleted that should stay.
func (l *Loop) recall(ctx context.Context, hash string) commit {
	if hash == "" {
		return commit{}
	}
	rev, tree, err := l.Source.Commit(ctx, hash)
	if err == nil {
		var c commit
		if c, err = l.load(ctx, rev, tree, standing{}); err == nil {
			return c
		}
	}
	l.log.WarnContext(ctx, "the commit of before cannot be had", slog.String("commit", hash), l.errorAttr(err))
	return commit{}
}
