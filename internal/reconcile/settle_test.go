package reconcile

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/mock"
	"github.com/tidelock/tidelock/internal/source"
	"github.com/tidelock/tidelock/internal/xds"
)

// noon is the moment at which these tests take place.
func noon() time.Time { return time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC) }

func commitOf(hash string, routes ...desired.Route) commit {
	return commit{rev: desired.Revision{Commit: hash, Ref: "main"}, state: desired.State{Routes: routes}}
}

func id(name string) desired.ID { return desired.ID{Kind: "ConfigMap", Namespace: "shop", Name: name} }

func failure(name string) apply.Failure { return apply.Failure{ID: id(name), Err: errors.New("no")} }

func TestALoopRestsUntilTheFirstThingIsDue(t *testing.T) {
	t.Parallel()
	at := noon()
	for name, tc := range map[string]struct {
		reason string
		now    standing
		rest   time.Duration
		goOn   bool
	}{
		"nothing is outstanding": {reason: "only news starts a pass", now: standing{}},
		"the last pass wrote": {
			reason: "what it looked at has changed", now: standing{again: 1}, goOn: true,
		},
		"the last pass wrote and something failed": {
			reason: "what went in must reach the proxies now; what failed rests by itself",
			now:    standing{again: 1, writing: attempt{digest: "d", again: at.Add(time.Minute)}}, goOn: true,
		},
		"each pass writes": {
			reason: "somebody who undoes each pass must not take the whole machine", now: standing{again: mostAgain + 1}, rest: firstRetry,
		},
		"a write failed": {
			reason: "it is tried again with back-off",
			now:    standing{writing: attempt{digest: "d", again: at.Add(8 * time.Second)}}, rest: 8 * time.Second,
		},
		"a delete failed": {
			reason: "as a write", now: standing{pruning: attempt{digest: "d", again: at.Add(4 * time.Second)}}, rest: 4 * time.Second,
		},
		"trouble": {
			reason: "the pass did not come to its end",
			now:    standing{trouble: errors.New("x"), failures: 3, retry: at.Add(4 * time.Second)}, rest: 4 * time.Second,
		},
		"trouble after a failed write": {
			reason: "the write cannot be tried before the trouble is over, so its time that has come must not spin the loop",
			now: standing{
				trouble: errors.New("x"), failures: 3, retry: at.Add(4 * time.Second),
				writing: attempt{digest: "d", again: at.Add(-time.Hour)},
			}, rest: 4 * time.Second,
		},
		"a wait": {
			reason: "news should come; if it is lost we look up", now: standing{waits: []desired.Wait{{For: "a"}}}, rest: glance,
		},
		"a refusal by the cluster": {
			reason: "a quota may have been raised",
			now:    standing{refused: &refusal{again: at.Add(time.Minute)}}, rest: time.Minute,
		},
		"a refusal by its content": {
			reason: "it will be refused for ever", now: standing{refused: &refusal{}},
		},
		"a refusal whose time came while the repository is away": {
			reason: "there is nothing to look at, so only the repository is looked for",
			now: standing{
				refused: &refusal{again: at.Add(-time.Hour)}, unknown: source.ErrUnreachable, failures: 7, retry: at.Add(time.Minute),
			}, rest: time.Minute,
		},
		"a report failed": {
			reason: "users would wait for ever for a status that is not written", now: standing{untold: 2}, rest: 2 * time.Second,
		},
		"proxies of before are missing": {
			reason: "the list of them changes when they are given up", now: standing{absent: at.Add(3 * time.Second)}, rest: 3 * time.Second,
		},
		"a moment that has passed": {
			reason: "never zero, which would mean for ever",
			now:    standing{trouble: errors.New("x"), failures: 1, retry: at.Add(-time.Second)}, rest: 10 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rest, goOn := tc.now.next(at)
			if rest != tc.rest || goOn != tc.goOn {
				t.Errorf("rests %s, goes on %t; want %s, %t: %s", rest, goOn, tc.rest, tc.goOn, tc.reason)
			}
		})
	}
}

func TestBackOffDoublesUpToAMinute(t *testing.T) {
	t.Parallel()
	var got []time.Duration
	for n := range 9 {
		got = append(got, backOff(n)/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{1, 1, 2, 4, 8, 16, 32, 60, 60}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if backOff(1<<40) != time.Minute {
		t.Error("many failures overflow")
	}
}

func TestOnlyPassesThatWereDueCountAsFailures(t *testing.T) {
	t.Parallel()
	at := noon()
	s := standing{trouble: errors.New("x")}.backingOff(standing{}, at)
	if s.failures != 1 || !s.retry.Equal(at.Add(time.Second)) {
		t.Fatalf("first: %d, %s", s.failures, s.retry)
	}
	if woken := s.backingOff(s, at.Add(time.Second/2)); woken.failures != 1 || woken.retry != s.retry {
		t.Errorf("a pass that news brought about counts: %d", woken.failures)
	}
	second := s.backingOff(s, at.Add(time.Second))
	if second.failures != 2 || !second.retry.Equal(at.Add(3*time.Second)) {
		t.Errorf("second: %d, %s", second.failures, second.retry)
	}
	second.trouble = nil
	if mended := second.backingOff(second, at.Add(time.Hour)); mended.failures != 0 || !mended.retry.IsZero() {
		t.Errorf("mended: %d", mended.failures)
	}
}

func TestChangesThatFailedRestUntilTheirTimeOrOtherContent(t *testing.T) {
	t.Parallel()
	at := noon()
	a := attempt{}.next("d", apply.Result{Created: []desired.ID{id("in")}, Failed: []apply.Failure{failure("a")}}, at)
	a = a.next("d", apply.Result{Failed: []apply.Failure{failure("a")}}, at.Add(time.Second))
	if a.tries != 2 || !a.again.Equal(at.Add(3*time.Second)) || len(a.left.Created) > 0 {
		t.Fatalf("%+v", a)
	}
	digest := func(d string) func() string { return func() string { return d } }
	if !a.rests(digest("d"), at.Add(2*time.Second)) {
		t.Error("news of something else makes the same changes again")
	}
	if a.rests(digest("e"), at.Add(2*time.Second)) {
		t.Error("other changes wait for those that failed")
	}
	if a.rests(digest("d"), at.Add(3*time.Second)) {
		t.Error("they rest for ever")
	}
	if (attempt{}).rests(digest(""), at) {
		t.Error("what did not fail rests")
	}
	if other := a.next("e", a.left, at); other.tries != 1 {
		t.Error("other changes inherit the back-off")
	}
}

func TestAPassSettlesWhereItLeftTheInstance(t *testing.T) {
	t.Parallel()
	at := noon()
	a, b := commitOf("a"), commitOf("b")
	was := standing{
		accepted: a, thought: thought{commit: a, key: key{commit: "a"}}, released: []desired.ID{id("old")},
		waits: []desired.Wait{{For: "w"}}, since: map[desired.Wait]time.Time{{For: "w"}: at.Add(-time.Hour)},
		result: apply.Result{Failed: []apply.Failure{failure("f")}},
		told:   told{sync: nil}, lost: errors.New("lost"),
	}
	acted := func(c commit, res apply.Result) outcome {
		return outcome{acted: true, want: thought{commit: c, key: key{commit: c.rev.Commit}}, result: res}
	}
	for name, tc := range map[string]struct {
		reason string
		out    outcome
		check  func(standing) bool
	}{
		"a pass that did not act": {
			reason: "what stood before stands, with its clocks: no deadline starts anew, and what failed has not gone in",
			out:    outcome{err: errors.New("no API server"), want: thought{commit: b}},
			check: func(s standing) bool {
				return s.accepted.is(a) && len(s.waits) == 1 && s.since[s.waits[0]].Equal(at.Add(-time.Hour)) &&
					len(s.result.Failed) == 1 && s.trouble != nil && s.failures == 1
			},
		},
		"a pass with nothing to do": {
			reason: "its thought is kept, so that the next one costs nothing",
			out:    acted(a, apply.Result{}),
			check:  func(s standing) bool { return s.thought.key == key{commit: "a"} && s.again == 0 && s.done == nil },
		},
		"a pass that wrote": {
			reason: "its plan is carried out: the next pass thinks afresh and comes at once",
			out:    acted(a, apply.Result{Changed: []desired.ID{id("x")}}),
			check: func(s standing) bool {
				return s.thought.key == key{} && s.again == 1 && s.done["ConfigMap"].Changed == 1
			},
		},
		"a pass whose write failed": {
			reason: "the view may know more by then, so the plan is made anew; nothing makes it come at once",
			out:    acted(a, apply.Result{Failed: []apply.Failure{failure("f")}}),
			check:  func(s standing) bool { return s.thought.key == key{} && s.again == 0 },
		},
		"a pass that changed a mock": {
			reason: "its address goes to the proxies with the next pass",
			out: outcome{acted: true, want: thought{commit: a}, mocks: map[desired.Key]mock.LocalMock{
				{Namespace: "shop", Name: "m"}: {Replicas: 1},
			}},
			check: func(s standing) bool { return s.again == 1 },
		},
		"another commit": {
			reason: "what the one before left behind is history, and the record of it is no longer missed",
			out:    acted(b, apply.Result{}),
			check:  func(s standing) bool { return s.accepted.is(b) && s.released == nil && s.lost == nil },
		},
		"the same commit releases more": {
			reason: "what it left behind stays to be seen after later writes",
			out:    acted(a, apply.Result{Released: []desired.ID{id("more")}}),
			check:  func(s standing) bool { return len(s.released) == 2 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if s := settle(was, tc.out, at); !tc.check(s) {
				t.Errorf("%s: %+v", tc.reason, s)
			}
		})
	}
}

func TestWaitsKeepTheMomentAtWhichTheyBegan(t *testing.T) {
	t.Parallel()
	at := noon()
	old, fresh := desired.Wait{For: "route a /", Until: "endpoints of shop/green/80"}, desired.Wait{For: "route b /"}
	got := since(map[desired.Wait]time.Time{old: at.Add(-4 * time.Minute), {For: "over"}: at}, []desired.Wait{old, fresh}, at)
	want := map[desired.Wait]time.Time{old: at.Add(-4 * time.Minute), fresh: at}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a busy repository pushes the deadline out, or what is over is remembered (-want +got):\n%s", diff)
	}
}

func TestWhatIsLiveFollowsTheProxies(t *testing.T) {
	t.Parallel()
	before, after := []desired.Route{{Rule: 1}}, []desired.Route{{Rule: 2}}
	was := standing{
		live: map[string][]desired.Route{"edge": before, "away": before}, full: map[string]string{"edge": "a", "away": "a"},
	}
	for name, tc := range map[string]struct {
		reason   string
		progress xds.Progress
		held     []desired.Wait
		reverted map[string][]desired.Route
		live     []desired.Route
		full     string
	}{
		"settled": {
			reason: "every proxy has all of it", progress: xds.Progress{Settled: true}, live: after, full: "b",
		},
		"under way": {
			reason: "a proxy may have it already, and not all do", live: after, full: "a",
		},
		"settled with a switch held back": {
			reason: "the routes are a mixture, which no commit stands for", progress: xds.Progress{Settled: true},
			held: []desired.Wait{{For: "route"}}, live: after, full: "a",
		},
		"refused and gone back": {
			reason: "what was refused was never live, although it was published by an earlier pass",
			progress: xds.Progress{
				Reverted: true, Rejections: []xds.Rejection{{Node: "edge-1"}},
			}, reverted: map[string][]desired.Route{"edge": before}, live: before, full: "a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := outcome{
				want:      thought{snapshots: []xds.Snapshot{{Group: "edge", Commit: "b", InForce: after, Held: tc.held}}},
				published: map[string]xds.Progress{"edge": tc.progress}, reverted: tc.reverted,
			}
			live, full := inForce(was, out)
			if !isSame(live["edge"], tc.live) || full["edge"] != tc.full {
				t.Errorf("%s: live %v, full %s", tc.reason, live["edge"], full["edge"])
			}
			if !isSame(live["away"], before) || full["away"] != "a" {
				t.Error("a group that nothing was published to is forgotten")
			}
		})
	}
}
