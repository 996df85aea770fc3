package reconcile

import (
	"context"
)

// once takes the instance one pass along the line. Above the line it thinks: nothing outside is touched, and a commit that
// fails anywhere leaves the accepted one in force. Below it acts. No step blocks on the world: each returns what it did
// and what it waits for, and whatever is waited for starts the next pass from the top.
func (l *Loop) once(ctx context.Context, was standing) standing {
	var out outcome
	out.newest = l.newest(ctx, was)                                    // source.Head, render.Render
	out.look = l.look(ctx, out.newest.commit, was)                     // endpoints, certificates and objects, as they are watched
	out.want, out.err = l.think(ctx, out.newest.commit, out.look, was) // State.At, xds.Build, apply.NewPlan, Check, Preflight
	if out.newest.reject(out.want, out.err, was, l.now()) {            // refused whole: go on from the accepted commit
		out.want, out.err = l.think(ctx, was.accepted, out.look, was)
	}
	// ------------------------------------------------------- nothing outside was touched up to here

	if out.err == nil {
		out.acted, out.err = l.accept(ctx, out, was) // recorded before the first write
	}
	if out.acted {
		out = l.execute(ctx, out, was) // apply.Execute: creates and updates, stage by stage
		out = l.answer(ctx, out, was)  // mocks of this process take their documents
		out = l.publish(out, was)      // xds.Publish: new snapshots to the proxies, in phases
		l.schedule(out)                // schedule.Set: the table of schedules is replaced
		out = l.prune(ctx, out, was)   // apply.Prune: deletes last
	}
	now := settle(was, out, l.now())
	return l.report(ctx, was, now) // Sync, statuses, one log line
}
