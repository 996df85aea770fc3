package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
)

// statusesAtOnce is how many resources one pass tells of themselves.
const statusesAtOnce = 200

// report tells where a pass left the instance: the Sync, the status of each resource of ours, and one line in the log where
// there is news. A pass without news reports nothing, and one that changed something leaves it to the next, which comes at
// once. What could not be told is told later.
func (l *Loop) report(ctx context.Context, was, now standing) standing {
	if ctx.Err() != nil {
		return now
	}
	defer l.watch.enter(stepReport)()
	now.waitsLogged = l.logPass(ctx, was, now)
	l.events(ctx, was, now)
	now.more = false
	if now.again == 1 {
		return now
	}
	status := l.syncStatus(now)
	next, news := told{sync: &status, objects: now.told.objects, from: l.fromOf(now)}, []apply.ObjectStatus(nil)
	// Before endpoints are listed nothing is known of routes.
	sighted := len(now.thought.snapshots) > 0
	if sighted && (next.from.key == (key{}) || next.from != now.told.from) {
		fired := l.fired()
		if next.from.key != (key{}) && next.from.but(now.told.from.runs) == now.told.from && len(fired) <= statusesAtOnce {
			news = l.toldOfRuns(now, fired)
		} else {
			next.objects = l.statuses(now)
			news = newStatuses(now.told.objects, next.objects)
		}
	}
	if len(news) > statusesAtOnce {
		// The rest comes with the passes that follow at once: endpoints must not wait for thousands of statuses.
		news = news[:statusesAtOnce]
		next.objects, next.from = withThese(now.told.objects, next.objects, news), toldFrom{}
	}
	if len(news) == 0 && now.told.sync != nil && reflect.DeepEqual(status, *now.told.sync) {
		now.told, now.untold = next, 0
		return now
	}
	if err := l.Cluster.Report(ctx, status, news); err != nil {
		if ctx.Err() == nil {
			l.logTrouble(ctx, "status not written", err)
		}
		now.told, now.untold = told{}, now.untold+1
		return now
	}
	now.told, now.untold, now.more = next, 0, len(news) == statusesAtOnce
	return now
}

// withThese are the old statuses with some of the new ones.
func withThese(old, all map[desired.ID]toldOf, news []apply.ObjectStatus) map[desired.ID]toldOf {
	out := maps.Clone(old)
	if out == nil {
		out = make(map[desired.ID]toldOf, len(news))
	}
	for _, s := range news {
		out[s.ID] = all[s.ID]
	}
	return out
}

// fromOf is all that the statuses of resources of ours are made from.
func (l *Loop) fromOf(now standing) toldFrom {
	from := toldFrom{key: now.thought.key, until: now.accepted.until, runs: l.runs()}
	if refused := now.rejections(); len(refused) > 0 {
		from.refusals = fmt.Sprint(refused)
		for _, group := range slices.Sorted(maps.Keys(now.published)) {
			p := now.published[group]
			from.refusals += fmt.Sprint(group, p.Reverted, p.Settled, len(p.Waits) > 0)
		}
	}
	for _, f := range now.result.Failed {
		from.failures += f.String() + ": " + f.Err.Error() + "\n"
	}
	return from
}

// events tells what kubectl describe shows of the instance.
func (l *Loop) events(ctx context.Context, was, now standing) {
	var errs []error
	for _, h := range eventsOf(was, now, l.now()) {
		if h.about == (apply.Regarding{}) {
			h.about = l.Cluster.Sync()
		}
		errs = append(errs, l.Cluster.Event(ctx, h.about, h.reason, l.hide(h.text)))
	}
	if err := errors.Join(errs...); err != nil {
		l.log.DebugContext(ctx, "event not written", l.errorAttr(err))
	}
}

func newlyRefused(was, now standing) bool {
	return now.refused != nil && (was.refused == nil || was.refused.rev.Commit != now.refused.rev.Commit)
}

// logPass writes what is news, and reports whether the log's last word is that something is waited for.
func (l *Loop) logPass(ctx context.Context, was, now standing) bool {
	r := now.result
	if newlyRefused(was, now) {
		l.log.ErrorContext(ctx, "rejected", append(l.revisionAttrs(now.refused.rev), l.errorAttr(now.refused.err))...)
	}
	if now.unknown != nil && (was.unknown == nil || was.unknown.Error() != now.unknown.Error()) {
		l.log.WarnContext(ctx, "no newer commit", l.errorAttr(now.unknown))
	}
	if now.unchecked != nil && (was.unchecked == nil || was.unchecked.Error() != now.unchecked.Error()) {
		l.log.InfoContext(ctx, "commit not checked yet", l.errorAttr(now.unchecked))
	}
	if now.trouble != nil {
		l.logTrouble(ctx, "pass not finished", now.trouble)
	}
	for _, f := range newFailures(was.result.Failed, r.Failed) {
		l.logTrouble(ctx, "object failed", f.Err, slog.String("object", f.String()))
	}
	if !news(was, now) {
		return was.waitsLogged
	}
	attrs := append(l.revisionAttrs(now.accepted.rev),
		slog.Int("created", len(r.Created)), slog.Int("changed", len(r.Changed)), slog.Int("pruned", len(r.Pruned)),
		slog.Int("failed", len(r.Failed)), slog.Int("waiting", len(now.waits)), slog.String("what", l.hide(what(now))))
	l.log.InfoContext(ctx, "reconciled", append(attrs, l.watch.attrs()...)...)
	return len(now.waits) > 0
}

// what names what a pass touched, and what is waited for, as far as a line goes.
func what(now standing) string {
	const most = 3
	r := now.result
	touched := slices.Concat(r.Created, r.Changed, r.Pruned, r.Released)
	texts := make([]string, 0, most+1)
	for _, id := range touched[:min(len(touched), most)] {
		texts = append(texts, id.String())
	}
	if len(touched) > most {
		texts = append(texts, fmt.Sprintf("and %d more", len(touched)-most))
	}
	if len(now.waits) > 0 {
		texts = append(texts, now.waits[0].String())
	}
	return strings.Join(texts, ", ")
}

// news says that a pass wrote something, took a commit, or came to the end of waits that the log speaks of.
func news(was, now standing) bool {
	r := now.result
	return len(r.Created)+len(r.Changed)+len(r.Pruned)+len(r.Released) > 0 ||
		was.accepted.rev.Commit != now.accepted.rev.Commit || was.waitsLogged && len(now.waits) == 0
}

// newFailures are those that were not there before, by what they say.
func newFailures(was, now []apply.Failure) []apply.Failure {
	known := make(map[string]bool, len(was))
	for _, f := range was {
		known[f.String()+f.Err.Error()] = true
	}
	var out []apply.Failure
	for _, f := range now {
		if !known[f.String()+f.Err.Error()] {
			out = append(out, f)
		}
	}
	return out
}

// logTrouble logs an error. Where the API server refused the account, that is no outage: it says which rule is missing.
func (l *Loop) logTrouble(ctx context.Context, message string, err error, attrs ...any) {
	attrs = append(attrs, l.errorAttr(err))
	if rule := apply.MissingRight(err); rule != "" {
		l.log.WarnContext(ctx, "not allowed", append(attrs, slog.String("missing_rule", rule))...)
		return
	}
	l.log.WarnContext(ctx, message, attrs...) //nolint:sloglint // a constant of the caller
}

func (l *Loop) revisionAttrs(rev desired.Revision) []any {
	return []any{slog.String("commit", rev.Short()), slog.String("subject", l.hide(rev.Subject))}
}

func (l *Loop) errorAttr(err error) slog.Attr { return slog.String("error", l.hide(err.Error())) }
