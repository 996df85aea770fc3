package schedule

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

// punctual notes how late each Job is let go.
type punctual struct {
	*cluster

	mu   sync.Mutex
	late []time.Duration
	all  chan struct{}
	want int
}

func (p *punctual) Resume(ctx context.Context, job Job) (Job, error) {
	late := time.Since(job.Instant)
	p.mu.Lock()
	if p.late = append(p.late, late); len(p.late) == p.want {
		close(p.all)
	}
	p.mu.Unlock()
	return p.cluster.Resume(ctx, job)
}

// Save does without the books that the fake keeps.
func (p *punctual) Save(_ context.Context, page Page) (string, error) {
	p.cluster.mu.Lock()
	defer p.cluster.mu.Unlock()
	page.Version = p.version()
	p.pages[page.Number] = page
	return page.Version, nil
}

// BenchmarkFiring measures, by the real clock, how late a Job is let go where 10,000 schedules are waited for and 1,000 of
// them come: each 5 ms after the one before, or 100 at once. The API server answers at once: what is measured is ours. How
// late the machine lets a bare timer be at the same time stands beside it.
func BenchmarkFiring(b *testing.B) {
	const schedules, firing = 10_000, 1_000
	for name, atOnce := range map[string]int{"each-alone": 1, "hundred-at-once": 100} {
		b.Run(name, func(b *testing.B) {
			var late, bare []time.Duration
			for b.Loop() {
				c := newCluster()
				c.lasts = 0
				p := &punctual{cluster: c, all: make(chan struct{}), want: firing}
				begin := time.Now().Add(3 * time.Second) // by then the table is in, and the ledger written
				list := make([]desired.Schedule, 0, schedules)
				for i := range schedules {
					s := at("at-"+time.Duration(i).String(), "0 0 29 2 *")
					if n := i / (schedules / firing); i%(schedules/firing) == 0 {
						s.Schedule = begin.Add(time.Duration(n/atOnce*atOnce) * 5 * time.Millisecond).UTC().Format(time.RFC3339Nano)
					}
					list = append(list, s)
				}
				d := startWith(b.Context(), Config{Jobs: p, Sight: p, Ledger: p, Events: p}, list...)
				for n := range firing {
					between := begin.Add(time.Duration(n)*5*time.Millisecond + 2*time.Millisecond)
					<-time.After(time.Until(between))
					bare = append(bare, time.Since(between))
				}
				select {
				case <-p.all:
				case <-time.After(time.Minute):
					b.Error("not all fired")
				}
				d.end()
				late = append(late, p.late...)
			}
			b.ReportMetric(percentile(late, 50), "p50-ms")
			b.ReportMetric(percentile(late, 99), "p99-ms")
			b.ReportMetric(percentile(bare, 99), "timer-p99-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// percentile is in milliseconds.
func percentile(list []time.Duration, share int) float64 {
	slices.Sort(list)
	return float64(list[len(list)*share/100].Microseconds()) / 1000
}
