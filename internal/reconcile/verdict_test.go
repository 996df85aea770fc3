package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientrest "k8s.io/client-go/rest"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/source"
	"github.com/tidelock/tidelock/internal/xds"
)

func TestConditionsSayWhereTheInstanceStands(t *testing.T) {
	t.Parallel()
	at := noon()
	a := commitOf("aaaaaaaaaa")
	route := desired.Wait{For: "route shop.example.com /", Until: "endpoints of shop/green/80"}
	earlier := desired.Wait{For: "ConfigMap shop/a", Until: "its deletion to end"}
	refused := &refusal{rev: desired.Revision{Commit: "bbbbbbbbbb", Ref: "main"}, err: desired.Problems{{
		Origin: desired.Origin{Path: "a.yaml", Line: 3}, Text: "no",
	}, {Text: "also no"}}}
	const ready, reconciling, stalled = "Ready", "Reconciling", "Stalled"
	for name, tc := range map[string]struct {
		reason  string
		now     standing
		is      string
		word    string
		message string
	}{
		"all is in":        {"", standing{accepted: a}, ready, "Live", "main@aaaaaaa is live"},
		"nothing accepted": {"there is nothing to be ready", standing{}, reconciling, "Live", ""},
		"refused": {
			"somebody has to mend it, and kubectl wait must not take the last commit for this one",
			standing{accepted: a, refused: refused},
			stalled, "Rejected",
			"main@bbbbbbb is refused, main@aaaaaaa stays live: a.yaml:3: no",
		},
		"refused as the first": {
			"nothing is live", standing{refused: refused}, stalled, "Rejected", "main@bbbbbbb is refused: a.yaml:3: no",
		},
		"refused, and the commit of before is lost": {
			"the user must know why nothing is corrected either",
			standing{refused: refused, lost: errors.New("commit ccccccc, accepted before: unknown commit")},
			stalled, "Rejected",
			"main@bbbbbbb is refused: a.yaml:3: no; nothing is written or deleted until a commit is accepted: " +
				"commit ccccccc, accepted before: unknown commit",
		},
		"refused while the repository is away": {
			"the refusal is what somebody can mend",
			standing{accepted: a, refused: refused, unknown: source.ErrUnreachable},
			stalled, "Rejected", "main@bbbbbbb is refused, main@aaaaaaa stays live: a.yaml:3: no",
		},
		"unreachable": {
			"it may come back by itself",
			standing{accepted: a, unknown: fmt.Errorf("fetch: %w", source.ErrUnreachable)},
			reconciling, "NoNewCommit", "fetch: unreachable repository",
		},
		"unknown ref": {
			"somebody has to make it",
			standing{accepted: a, unknown: fmt.Errorf("find nope: %w", source.ErrUnknownRef)},
			stalled, "NoNewCommit", "find nope: unknown ref",
		},
		"unknown pin": {
			"somebody has to change it",
			standing{accepted: a, unknown: fmt.Errorf("spec.pin: %w", source.ErrUnknownCommit)},
			stalled, "NoNewCommit", "spec.pin: unknown commit",
		},
		"not checked": {
			"the API server has not answered",
			standing{accepted: a, unchecked: errors.New("main@b is not checked yet: timeout")},
			reconciling, "Checking", "main@b is not checked yet: timeout",
		},
		"trouble": {"", standing{accepted: a, trouble: errors.New("no API server")}, reconciling, "Trouble", "no API server"},
		"failed": {
			"it is tried again",
			standing{accepted: a, result: apply.Result{Failed: []apply.Failure{failure("x")}}},
			reconciling, "Failed", "1 objects failed; ConfigMap shop/x: no",
		},
		"refused by a proxy": {
			"it will not be sent again", standing{accepted: a, published: map[string]xds.Progress{"edge": {
				Rejections: []xds.Rejection{{Node: "edge-1", Message: "bad regex"}},
			}}}, stalled, "ProxyRejected", "proxy edge-1 refused main@aaaaaaa: bad regex",
		},
		"waiting": {
			"",
			standing{accepted: a, waits: []desired.Wait{route}, since: map[desired.Wait]time.Time{route: at}},
			reconciling, "Waiting", route.String(),
		},
		"overdue": {
			"what is overdue is named, not what began to wait just now",
			standing{accepted: a, waits: []desired.Wait{earlier, route}, since: map[desired.Wait]time.Time{
				earlier: at, route: at.Add(-switchDeadline),
			}},
			stalled, "Overdue", route.String(),
		},
		"wrote": {
			"the next pass may find more to do",
			standing{accepted: a, again: 1},
			reconciling, "Progressing",
			"looking again after the last writes",
		},
		"pinned": {
			"what was asked for is in",
			standing{accepted: a, spec: v1alpha1.SyncSpec{Pin: "aaaaaaaaaa"}},
			ready, "Pinned",
			"main@aaaaaaa is live, held there by spec.pin",
		},
		"suspended": {
			"what was asked for is in",
			standing{accepted: a, spec: v1alpha1.SyncSpec{Suspend: true}},
			ready, "Suspended",
			"main@aaaaaaa is live, and no newer commit is looked for: spec.suspend",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range tc.now.conditions(at) {
				if yes := c.Status == metav1.ConditionTrue; yes != (c.Type == tc.is) {
					t.Errorf("%s is %s: %s", c.Type, c.Status, tc.reason)
				}
				if tc.message != "" && (c.Reason != tc.word || c.Message != tc.message) {
					t.Errorf("%s: %s; want %s: %s", c.Reason, c.Message, tc.word, tc.message)
				}
			}
		})
	}
}

func TestOneShotEndsWhereItCannotSucceed(t *testing.T) {
	t.Parallel()
	failed := apply.Result{Failed: []apply.Failure{failure("x")}}
	for name, tc := range map[string]struct {
		reason string
		now    standing
		want   string
	}{
		"under way":   {"it goes on", standing{unchecked: errors.New("endpoints are not listed")}, ""},
		"refused":     {"", standing{refused: &refusal{err: errors.New("bad")}}, "bad"},
		"no commit":   {"it would be the old one that is applied", standing{accepted: commitOf("a"), unknown: errors.New("away")}, "away"},
		"failed once": {"it is tried again", standing{result: failed, writing: attempt{tries: 1}}, ""},
		"failed often": {
			"the user is told which, and not that time is up",
			standing{result: failed, writing: attempt{tries: giveUpAfter}},
			"ConfigMap shop/x: no",
		},
	} {
		got := ""
		if err := tc.now.verdict(); err != nil {
			got = err.Error()
		}
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q: %s", name, got, tc.want, tc.reason)
		}
	}
}

func TestProxiesOfBeforeAreShownUntilTheyAreGivenUp(t *testing.T) {
	t.Parallel()
	at := noon()
	now := standing{absent: at.Add(time.Minute), before: v1alpha1.SyncStatus{Proxies: []v1alpha1.ProxyStatus{
		{Node: "edge-1", Group: "edge", State: "Current"}, {Node: "edge-0", Group: "edge", State: "Rejected", Message: "old"},
	}}}
	back := []xds.Proxy{{Node: "edge-1", Group: "edge", State: xds.Current}}
	want := []v1alpha1.ProxyStatus{
		{Node: "edge-0", Group: "edge", State: "Updating", Message: "not back yet since the daemon started"},
		{Node: "edge-1", Group: "edge", State: "Current"},
	}
	if diff := cmp.Diff(want, proxies(back, now, at)); diff != "" {
		t.Errorf("a second restart would not wait for it (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:], proxies(back, now, at.Add(time.Minute))); diff != "" {
		t.Errorf("it is shown for ever (-want +got):\n%s", diff)
	}
}

// quiet is a loop whose parts make no request.
func quiet(t *testing.T) (*Loop, *repository) {
	t.Helper()
	cluster, err := apply.New(apply.Config{REST: &clientrest.Config{Host: "http://192.0.2.1"}, Owner: "shop", Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	repo := newRepository()
	return New(Config{Source: repo, Cluster: cluster, Proxies: xds.NewServer(xds.Config{}), Repository: "https://git.example.test/shop"}), repo
}

func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	l, _ := quiet(t)
	const secret = "correct horse battery"
	l.veil.learn([]string{"Y29ycmVjdCBob3JzZSBiYXR0ZXJ5"})
	said := errors.New("the server says: " + secret)
	s := standing{
		accepted: commitOf("a"), trouble: said, refused: &refusal{err: fmt.Errorf("line\n%w", said)}, lost: said,
		waits:     []desired.Wait{{For: "x", Until: secret}},
		before:    v1alpha1.SyncStatus{Proxies: []v1alpha1.ProxyStatus{{Node: "n", Message: secret}}},
		absent:    l.now().Add(time.Hour),
		result:    apply.Result{Failed: []apply.Failure{{ID: id("x"), Err: said}}},
		published: map[string]xds.Progress{"edge": {Rejections: []xds.Rejection{{Node: "n", Message: secret}}}},
	}
	for _, hide := range []func(){func() {}, func() { s.refused = nil }, func() { s.trouble = nil }, func() { s.result.Failed = nil }, func() { s.published = nil }} {
		hide()
		if text := fmt.Sprintf("%+v", l.syncStatus(s)); strings.Contains(text, secret) || strings.Contains(text, "Y29ycmVj") {
			t.Errorf("shown: %s", text)
		}
	}
	if strings.Contains(l.errorAttr(said).String(), secret) {
		t.Error("logged")
	}
}

func TestTheVeilForgetsSecretsOfLongAgo(t *testing.T) {
	t.Parallel()
	var v veil
	for i := range 10 * veiled {
		v.learn([]string{fmt.Sprintf("password-%d", i)})
		v.learn([]string{fmt.Sprintf("password-%d", i)})
		v.learn(nil)
	}
	last := fmt.Sprintf("password-%d", 10*veiled-1)
	if len(v.recent) != veiled || strings.Contains(v.hidden.String(last), last) {
		t.Errorf("%d commits are remembered, and %s is shown as %s", len(v.recent), last, v.hidden.String(last))
	}
}

func TestStatusTextsAreBounded(t *testing.T) {
	t.Parallel()
	if got := bounded(strings.Repeat("é", statusText)); len(got) > statusText+len("…") || strings.Contains(got, "\uFFFD") {
		t.Errorf("%d bytes", len(got))
	}
	many := make([]desired.Wait, 3*statusLines)
	if got := lines(many); len(got) != statusLines+1 || got[statusLines] != "and 40 more" {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
	if got := split(strings.Repeat("a\n", 30) + "b"); len(got) != statusLines+1 || got[statusLines] != "and 11 more" {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}
