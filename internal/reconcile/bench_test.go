package reconcile

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// A pass with nothing to do must cost the same, and next to nothing, however much there is: it is made at every ACK, at
// every ready pod, at every look of a user.
func BenchmarkIdlePass(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newProduct(b)
			var text strings.Builder
			for i := range n {
				text.WriteString(configMap(fmt.Sprintf("object-%d", i), "1") + "---\n")
			}
			for i := range n / 10 {
				text.WriteString(splitTo(fmt.Sprintf("split-%d", i), "", "stable"))
			}
			p.service("stable", "192.0.2.1")
			p.offer(map[string]string{"all.yaml": text.String()})
			ended := make(chan error, 1)
			p.drive = func(ctx context.Context, l *Loop) error {
				ended <- idle(ctx, b, l)
				return nil
			}
			p.start()
			if err := <-ended; err != nil {
				b.Fatal(err)
			}
		})
	}
}

// idle measures passes over a commit that is in.
func idle(ctx context.Context, b *testing.B, l *Loop) error {
	b.Helper()
	now, err := l.restore(ctx)
	if err != nil {
		return err
	}
	for calm := 0; calm < 3; {
		if now = l.once(ctx, now); now.settled() && !now.more {
			calm++
			continue
		}
		if calm = 0; now.verdict() != nil {
			return now.verdict()
		}
		if d, goOn := now.next(l.now()); !goOn {
			if err := pause(ctx, nil, min(d, firstRetry)); err != nil {
				return err
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		now = l.once(ctx, now)
	}
	if !now.settled() {
		return fmt.Errorf("not idle: %v", now.waits)
	}
	return nil
}
