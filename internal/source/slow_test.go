package source_test

import (
	"context"
	"testing"
	"time"

	"github.com/tidelock/tidelock/internal/source"
)

// A daemon that starts beside a slow remote must have the commit that it accepted before, at once.
func TestAKeptCommitIsHadWhileTheRemoteHangs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	remote := serveHTTP(t, f)
	cfg := source.Config{Repository: remote.repo(), Ref: "main", DataDir: t.TempDir(), Interval: 10 * time.Millisecond}
	before := open(t, cfg)
	wantHead(t, before, first, nil)
	if err := before.Keep(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := f.push("a.yaml", configMap("a", "2"))
	hang, asked := make(chan struct{}), make(chan struct{}, 100)
	remote.set(func() { remote.hang, remote.hung = hang, asked })

	s := open(t, cfg)
	running(t, s)
	<-asked // the look is under way
	if rev, _, err := s.Commit(t.Context(), first); err != nil || rev.Commit != first {
		t.Errorf("the kept commit: %s, %v", rev, err)
	}
	if err := s.Keep(t.Context(), first); err != nil {
		t.Errorf("keep it again: %v", err)
	}
	<-asked // and is made again
	remote.set(func() { remote.hang = nil })
	close(hang)
	eventually(t, s, "what was pushed meanwhile", atCommit(t, s, second))
	wantHead(t, s, second, nil)
}

func TestAPackThatStallsIsGivenUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.push("a.yaml", configMap("a", "1"))
	remote := serveHTTP(t, f)
	s := open(t, source.Config{Repository: remote.repo(), Ref: "main", Interval: always, Timeout: time.Second})
	wantHead(t, s, first, nil)
	second := f.push("a.yaml", configMap("a", "2"))
	healed, heal := context.WithCancel(t.Context())
	defer heal()
	remote.set(func() { remote.stall = healed.Done() })
	_, _, err := s.Head(t.Context())
	wantErr(t, err, source.ErrUnreachable, remote.repo(), "stalled")
	remote.set(func() { remote.stall = nil })
	heal()
	wantHead(t, s, second, nil)
}
