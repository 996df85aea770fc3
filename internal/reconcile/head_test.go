package reconcile

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/source"
)

func configMap(name, v string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: NAMESPACE}\ndata: {v: %q}\n", name, v)
}

func TestNewestIsWhatTheInstanceShouldBeAt(t *testing.T) {
	t.Parallel()
	good, bad := map[string]string{"a.yaml": "# nothing yet"}, map[string]string{"a.yaml": "a: ["}
	l, repo := quiet(t)
	accepted := commit{rev: repo.push(good)}
	badRev := repo.push(bad)
	newer := repo.push(map[string]string{"a.yaml": "# nothing more"})
	refused := &refusal{rev: badRev, err: errors.New("no")}
	for name, tc := range map[string]struct {
		reason string
		head   map[string]string
		down   error
		was    standing
		want   head
	}{
		"a new commit": {
			reason: "it is followed", head: map[string]string{"a.yaml": "# nothing more"},
			want: head{commit: commit{rev: newer}, fresh: true},
		},
		"the accepted commit again after a refused one": {
			reason: "the refused one is history", head: good, was: standing{accepted: accepted, refused: refused},
			want: head{commit: accepted},
		},
		"a commit that was refused for its content": {
			reason: "it is not rendered again", head: bad, was: standing{accepted: accepted, refused: refused},
			want: head{commit: accepted, refused: refused},
		},
		"a wrong commit": {
			reason: "the accepted one stays", head: bad, was: standing{accepted: accepted},
			want: head{commit: accepted, refused: &refusal{rev: badRev}},
		},
		"no answer": {
			reason: "what was refused stays refused", head: good, down: source.ErrUnreachable,
			was: standing{accepted: accepted, refused: refused}, want: head{commit: accepted, refused: refused, unknown: source.ErrUnreachable},
		},
		"an unchecked commit": {
			reason: "it is not rendered again", head: map[string]string{"a.yaml": "# nothing more"},
			was:  standing{accepted: accepted, checking: thought{commit: commit{rev: newer, groups: []string{"mark"}}}},
			want: head{commit: commit{rev: newer, groups: []string{"mark"}}, fresh: true},
		},
	} {
		// Not in parallel: they share the repository.
		repo.push(tc.head)
		repo.fail(tc.down)
		got := l.newest(t.Context(), tc.was)
		repo.fail(nil)
		if !got.commit.is(tc.want.commit) || got.fresh != tc.want.fresh || !errors.Is(got.unknown, tc.want.unknown) ||
			(got.refused == nil) != (tc.want.refused == nil) || got.refused != nil && got.refused.rev != tc.want.refused.rev ||
			tc.want.commit.groups != nil && got.commit.groups == nil {
			t.Errorf("%s: %s: %+v", name, tc.reason, got)
		}
	}
}

func TestUsersHoldTheInstance(t *testing.T) {
	t.Parallel()
	l, repo := quiet(t)
	accepted := commit{rev: repo.push(map[string]string{"a.yaml": "one"})}
	other := repo.push(map[string]string{"a.yaml": "two"})
	head3 := repo.push(map[string]string{"a.yaml": "three"})
	unknown := errors.New("unknown")
	at := l.now()
	for name, tc := range map[string]struct {
		reason string
		spec   v1alpha1.SyncSpec
		was    standing
		want   string
		err    error
		asks   bool
	}{
		"nobody does":              {reason: "", was: standing{accepted: accepted}, want: head3.Commit},
		"suspended":                {reason: "", spec: v1alpha1.SyncSpec{Suspend: true}, was: standing{accepted: accepted}, want: accepted.rev.Commit},
		"suspended from the start": {reason: "nothing may be taken", spec: v1alpha1.SyncSpec{Suspend: true}, err: errSuspended},
		"suspended, and the commit is lost": {
			reason: "the newest is not taken for it", spec: v1alpha1.SyncSpec{Suspend: true}, was: standing{lost: unknown}, err: unknown,
		},
		"pinned to what is live": {
			reason: "it is not looked for in each pass", spec: v1alpha1.SyncSpec{Pin: accepted.rev.Commit},
			was: standing{accepted: accepted}, want: accepted.rev.Commit,
		},
		"pinned to another": {
			reason: "", spec: v1alpha1.SyncSpec{Pin: other.Commit}, was: standing{accepted: accepted}, want: other.Commit, asks: true,
		},
		"pinned and suspended": {
			reason: "what is named goes before", spec: v1alpha1.SyncSpec{Pin: other.Commit, Suspend: true},
			was: standing{accepted: accepted}, want: other.Commit, asks: true,
		},
		"pinned to nothing": {
			reason: "", spec: v1alpha1.SyncSpec{Pin: "none"}, was: standing{accepted: accepted}, err: source.ErrUnknownCommit, asks: true,
		},
		"pinned to nothing, again": {
			reason: "each piece of news would ask the remote",
			spec:   v1alpha1.SyncSpec{Pin: "none"},
			was:    standing{accepted: accepted, spec: v1alpha1.SyncSpec{Pin: "none"}, unknown: unknown, retry: at.Add(time.Hour)},
			err:    unknown,
		},
		"pinned to something else than before": {
			reason: "it is looked for at once", spec: v1alpha1.SyncSpec{Pin: other.Commit}, want: other.Commit, asks: true,
			was: standing{accepted: accepted, spec: v1alpha1.SyncSpec{Pin: "none"}, unknown: unknown, retry: at.Add(time.Hour)},
		},
	} {
		// Not in parallel: they share the repository.
		before := repo.asks(tc.spec.Pin)
		rev, _, err := l.revision(t.Context(), head{spec: tc.spec}, tc.was)
		if rev.Commit != tc.want || !errors.Is(err, tc.err) || (repo.asks(tc.spec.Pin) > before) != tc.asks {
			t.Errorf("%s: %s: %q, %v, asked %t", name, tc.reason, rev.Commit, err, repo.asks(tc.spec.Pin) > before)
		}
	}
}

func TestOnlyAVerdictAboutANewCommitRejectsIt(t *testing.T) {
	t.Parallel()
	at := noon()
	c := commitOf("new")
	problems := desired.Problems{{Text: "no"}}
	before := &refusal{rev: c.rev, err: problems, again: at.Add(-time.Second)}
	for name, tc := range map[string]struct {
		reason    string
		fresh     bool
		waits     []desired.Wait
		err       error
		was       standing
		want      bool
		refused   bool
		unchecked bool
	}{
		"fine":               {reason: "it is accepted", fresh: true},
		"accepted before":    {reason: "its trouble is trouble", err: problems},
		"refused":            {reason: "", fresh: true, err: fmt.Errorf("x: %w", problems), want: true, refused: true},
		"held by the brakes": {reason: "", fresh: true, err: fmt.Errorf("x: %w", apply.ErrHeld), want: true, refused: true},
		"no answer": {
			reason: "a time-out says nothing of the commit; the accepted one must be kept meanwhile",
			fresh:  true, waits: []desired.Wait{{For: "x", Until: "y"}}, want: true, unchecked: true,
		},
		"a kind cannot be listed": {
			reason: "nor does that", fresh: true, err: errors.New("list gizmos: forbidden"), want: true, unchecked: true,
		},
		"no answer about one that was refused": {
			reason: "its status must not swing between refused and unchecked with each look",
			fresh:  true, waits: []desired.Wait{{For: "x"}}, was: standing{refused: before}, want: true, refused: true, unchecked: true,
		},
	} {
		h := head{fresh: tc.fresh}
		got := h.reject(thought{commit: c, waits: tc.waits}, tc.err, tc.was, at)
		if got != tc.want || (h.refused != nil) != tc.refused || (h.unchecked != nil) != tc.unchecked {
			t.Errorf("%s: %s: %t, refused %v, unchecked %v", name, tc.reason, got, h.refused, h.unchecked)
		}
		if tc.unchecked && !h.checking.commit.is(c) {
			t.Errorf("%s: what was found out is lost", name)
		}
		if r := h.refused; tc.refused && !tc.unchecked && (!r.holds(c.rev, at.Add(recheckAfter-1)) || r.holds(c.rev, at.Add(recheckAfter))) {
			t.Errorf("%s: it is not looked at again after %s", name, recheckAfter)
		}
	}
	if h := (&refusal{rev: c.rev}); !h.holds(c.rev, at.AddDate(1, 0, 0)) || h.holds(desired.Revision{Commit: "mended"}, at) {
		t.Error("wrong content is refused until there is other content")
	}
}

func TestCommitsThatARestartMayAskForAreKept(t *testing.T) {
	t.Parallel()
	l, repo := quiet(t)
	var revs []desired.Revision
	for _, v := range []string{"1", "2", "3", "4"} {
		revs = append(revs, repo.push(map[string]string{"a.yaml": v}))
	}
	was := standing{
		accepted: commit{rev: revs[1]},
		full:     map[string]string{"edge": revs[0].Commit, "": revs[1].Commit, "inner": revs[0].Commit},
	}
	if err := l.keep(t.Context(), commit{rev: revs[3]}, was); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{revs[0].Commit: true, revs[1].Commit: true, revs[3].Commit: true}
	got := map[string]bool{}
	for _, c := range repo.lastKept() {
		got[c] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the one that is live, the one on record until now, and the new one (-want +got):\n%s", diff)
	}
	repo.forget(revs[0].Commit)
	if err := l.keep(t.Context(), commit{rev: revs[3]}, was); err != nil {
		t.Errorf("an old commit that is gone keeps all new ones out: %v", err)
	}
	if diff := cmp.Diff([]string{revs[3].Commit}, repo.lastKept()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
